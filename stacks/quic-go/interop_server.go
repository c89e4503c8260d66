package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// interopServe serves the runner's files until the program is killed.
func interopServe(address *net.UDPAddr, config *tls.Config, testCase string) error {
	own, err := tls.LoadX509KeyPair(chainFile, keyFile)
	if err != nil {
		return fmt.Errorf("load the certificate: %w", err)
	}
	config.Certificates = []tls.Certificate{own}
	socket, err := net.ListenUDP("udp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	transport := &quic.Transport{
		Conn: socket, VerifySourceAddress: func(net.Addr) bool { return testCase == "retry" },
	}
	if testCase == "http3" {
		listener, err := transport.ListenEarly(http3.ConfigureTLSConfig(config), interopConfig(testCase))
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		server := &http3.Server{Handler: http.FileServer(http.Dir(served))}
		return server.ServeListener(listener)
	}
	listener, err := transport.ListenEarly(config, interopConfig(testCase))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		go answerAll(connection)
	}
}

// answerAll answers the requests of a connection until the client has closed it.
func answerAll(connection *quic.Conn) {
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go answer(stream)
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
