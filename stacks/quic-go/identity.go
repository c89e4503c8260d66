package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"math/big"
	"time"
)

// What all stacks call the server and the application protocol, so that any two of them can be the ends of a run.
const (
	serverName = "netwarp.test"
	protocol   = "netwarp"
)

// keyBytes is the length of a private key on the curve P-256, the one that every stack knows.
const keyBytes = 32

// identity makes a certificate from the run's seed, so that it is the same whenever the run is repeated.
func identity(seed uint64) (tls.Certificate, error) {
	var key [keyBytes]byte
	for word := range uint64(keyBytes / wordBytes) {
		binary.LittleEndian.PutUint64(key[word*wordBytes:], splitmix64(seed, word))
	}
	// Without its first bit the number is below the curve's order.
	key[0] &= 0x7f
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), key[:])
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
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
