package main

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"math/big"
	"time"
)

const (
	serverName = "server"
	protocol   = "netwarp"
)

// identity makes a certificate from the run's seed, so that it is the same whenever the run is repeated.
func identity(seed uint64) (tls.Certificate, error) {
	var key [ed25519.SeedSize]byte
	for word := range uint64(ed25519.SeedSize / wordBytes) {
		binary.LittleEndian.PutUint64(key[word*wordBytes:], splitmix64(seed, word))
	}
	private := ed25519.NewKeyFromSeed(key[:])
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{serverName},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	encoded, err := x509.CreateCertificate(nil, &template, &template, private.Public(), private)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: private}, nil
}

func serverTLS(own tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13}
}

// clientTLS returns a configuration that trusts one certificate, and keeps tickets if later connections shall use them.
func clientTLS(certificate []byte, resumes bool) (*tls.Config, error) {
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, fmt.Errorf("read the server's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	config := &tls.Config{
		RootCAs: roots, ServerName: serverName, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}
	if resumes {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	return config, nil
}
