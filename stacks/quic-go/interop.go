package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/quic-go/quic-go"
)

// hq is the ALPN of the interop runner's HTTP/0.9 over QUIC: the request is a line, and the answer is the file.
const hq = "hq-interop"

// unsupported is the exit status by which an endpoint says that it does not support a test case.
const unsupported = 127

// testCases are the runner's test cases that this program supports. quic-go has no compatible version negotiation
// (RFC 9368), which v2 needs.
var testCases = []string{
	"handshake", "transfer", "multiconnect", "chacha20", "retry", "resumption", "zerortt", "http3", "keyupdate", "ecn",
}

// keyUpdateAfter is after how many packets the client changes to the next keys in the test case keyupdate.
const keyUpdateAfter = 100

// The runner's directories.
const (
	served     = "/www"
	downloaded = "/downloads"
	chainFile  = "/certs/cert.pem"
	keyFile    = "/certs/priv.key"
)

// maxRequestBytes bounds a request's line.
const maxRequestBytes = 4096

// Neither Go's TLS nor quic-go lets a program choose these otherwise; quic-go's own endpoint does it like this too.
//
//go:linkname cipherSuites crypto/tls.defaultCipherSuitesTLS13
var cipherSuites []uint16

//go:linkname cipherSuitesWithoutAES crypto/tls.defaultCipherSuitesTLS13NoAES
var cipherSuitesWithoutAES []uint16

//go:linkname firstKeyUpdate github.com/quic-go/quic-go/internal/handshake.FirstKeyUpdateInterval
var firstKeyUpdate uint64

// interop does what the QUIC interop runner asks for in environment variables, and returns the exit status.
func interop() int {
	asked := os.Getenv("TESTCASE")
	if !slices.Contains(testCases, asked) {
		fmt.Fprintf(os.Stderr, "the test case %q is not supported\n", asked)
		return unsupported
	}
	if err := interopSide(os.Getenv("ROLE"), asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func interopSide(side, testCase string) error {
	secrets, err := keyLog()
	if err != nil {
		return err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, KeyLogWriter: secrets, NextProtos: []string{hq}}
	switch side {
	case "server":
		return interopServe(&net.UDPAddr{Port: 443}, config, testCase)
	case "client":
		requests := strings.Fields(os.Getenv("REQUESTS"))
		if len(requests) == 0 {
			return errors.New("REQUESTS names no file")
		}
		return interopFetch(requests, config, testCase)
	}
	return fmt.Errorf("ROLE is server or client, not %q", side)
}

// interopConfig returns the configuration of both sides.
func interopConfig(testCase string) *quic.Config {
	return &quic.Config{Allow0RTT: testCase == "zerortt"}
}

// keyLog returns the file for TLS secrets; nil if the environment names none.
func keyLog() (io.Writer, error) {
	name := os.Getenv("SSLKEYLOGFILE")
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the key log: %w", err)
	}
	return file, nil
}
