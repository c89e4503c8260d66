package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/quic-go/quic-go"
)

// hq is the ALPN of the interop runner's HTTP/0.9 over QUIC: the request is a line, and the answer is the file.
const hq = "hq-interop"

// unsupported is the exit status by which an endpoint says that it does not support a test case.
const unsupported = 127

// testCases are the runner's test cases that this program supports.
var testCases = map[string]bool{"handshake": true, "transfer": true}

// The runner's directories.
const (
	served     = "/www"
	downloaded = "/downloads"
	chainFile  = "/certs/cert.pem"
	keyFile    = "/certs/priv.key"
)

// maxRequestBytes bounds a request's line.
const maxRequestBytes = 4096

// interop does what the QUIC interop runner asks for in environment variables, and returns the exit status.
func interop() int {
	if !testCases[os.Getenv("TESTCASE")] {
		fmt.Fprintf(os.Stderr, "the test case %q is not supported\n", os.Getenv("TESTCASE"))
		return unsupported
	}
	if err := interopSide(os.Getenv("ROLE")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func interopSide(side string) error {
	secrets, err := keyLog()
	if err != nil {
		return err
	}
	switch side {
	case "server":
		return interopServe(&net.UDPAddr{Port: 443}, secrets)
	case "client":
		return interopFetch(strings.Fields(os.Getenv("REQUESTS")), secrets)
	}
	return fmt.Errorf("ROLE is server or client, not %q", side)
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

func interopServe(address *net.UDPAddr, secrets io.Writer) error {
	own, err := tls.LoadX509KeyPair(chainFile, keyFile)
	if err != nil {
		return fmt.Errorf("load the certificate: %w", err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{own}, NextProtos: []string{hq}, MinVersion: tls.VersionTLS13, KeyLogWriter: secrets,
	}
	listener, err := quic.ListenAddr(address.String(), config, nil)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		go func() {
			for {
				stream, err := connection.AcceptStream(context.Background())
				if err != nil {
					return // The client has closed the connection.
				}
				go answer(stream)
			}
		}()
	}
}

// answer sends the file that a request asks for. If there is none, it ends the stream with an error.
func answer(stream *quic.Stream) {
	line, err := bufio.NewReader(io.LimitReader(stream, maxRequestBytes)).ReadString('\n')
	if err != nil {
		stream.CancelWrite(1)
		return
	}
	name := strings.TrimSpace(strings.TrimPrefix(line, "GET "))
	file, err := os.Open(filepath.Join(served, filepath.Clean("/"+name)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stream.CancelWrite(1)
		return
	}
	defer file.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{stream}, struct{ io.Reader }{file}, make([]byte, blockBytes)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	_ = stream.Close()
}

// interopFetch downloads all files at once over one connection.
func interopFetch(requests []string, secrets io.Writer) error {
	if len(requests) == 0 {
		return errors.New("REQUESTS names no file")
	}
	first, err := url.Parse(requests[0])
	if err != nil {
		return fmt.Errorf("understand a request: %w", err)
	}
	config := &tls.Config{
		// The runner does not tell clients which authority has signed its certificates.
		InsecureSkipVerify: true, NextProtos: []string{hq}, MinVersion: tls.VersionTLS13, KeyLogWriter: secrets,
	}
	connection, err := quic.DialAddr(context.Background(), first.Host, config, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", first.Host, err)
	}
	failures := make(chan error)
	for _, request := range requests {
		go func() { failures <- download(connection, request) }()
	}
	for range requests {
		err = errors.Join(err, <-failures)
	}
	return errors.Join(err, connection.CloseWithError(0, ""))
}

func download(connection *quic.Conn, request string) error {
	asked, err := url.Parse(request)
	if err != nil {
		return fmt.Errorf("understand a request: %w", err)
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	if _, err := fmt.Fprintf(stream, "GET %s\r\n", asked.Path); err != nil {
		return fmt.Errorf("ask for %s: %w", asked.Path, err)
	}
	if err := stream.Close(); err != nil {
		return fmt.Errorf("ask for %s: %w", asked.Path, err)
	}
	file, err := os.Create(filepath.Join(downloaded, filepath.Base(asked.Path)))
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{file}, struct{ io.Reader }{stream}, make([]byte, blockBytes)); err != nil {
		return fmt.Errorf("download %s: %w", asked.Path, errors.Join(err, file.Close()))
	}
	return file.Close()
}
