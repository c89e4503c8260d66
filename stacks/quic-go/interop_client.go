package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// opener opens streams as soon as the peer allows more.
type opener func(context.Context) (*quic.Stream, error)

// interopFetch downloads the files, over as many connections as the test case has.
func interopFetch(requests []string, config *tls.Config, testCase string) error {
	// The runner does not tell clients which authority has signed its certificates.
	config.InsecureSkipVerify = true
	switch testCase {
	case "chacha20":
		cipherSuites = []uint16{tls.TLS_CHACHA20_POLY1305_SHA256}
		cipherSuitesWithoutAES = cipherSuites
	case "keyupdate":
		firstKeyUpdate = keyUpdateAfter
	case "http3":
		return fetchHTTP3(requests, config)
	case "multiconnect":
		for _, request := range requests {
			if err := fetchOver(config, testCase, []string{request}, false); err != nil {
				return err
			}
		}
		return nil
	case "resumption", "zerortt":
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		if err := fetchOver(config, testCase, requests[:1], false); err != nil {
			return err
		}
		return fetchOver(config, testCase, requests[1:], testCase == "zerortt")
	}
	return fetchOver(config, testCase, requests, false)
}

// fetchOver downloads files at once over one connection. With isEarly it asks for them as early data.
func fetchOver(config *tls.Config, testCase string, requests []string, isEarly bool) error {
	first, err := url.Parse(requests[0])
	if err != nil {
		return fmt.Errorf("understand a request: %w", err)
	}
	dial := quic.DialAddr
	if isEarly {
		dial = quic.DialAddrEarly
	}
	connection, err := dial(context.Background(), first.Host, config, interopConfig(testCase))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", first.Host, err)
	}
	failures := make(chan error)
	for _, request := range requests {
		go func() { failures <- download(connection.OpenStreamSync, request) }()
	}
	for range requests {
		err = errors.Join(err, <-failures)
	}
	return errors.Join(err, connection.CloseWithError(0, ""))
}

func download(open opener, request string) error {
	asked, err := url.Parse(request)
	if err != nil {
		return fmt.Errorf("understand a request: %w", err)
	}
	stream, err := open(context.Background())
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	if _, err := fmt.Fprintf(stream, "GET %s\r\n", asked.Path); err != nil {
		return fmt.Errorf("ask for %s: %w", asked.Path, err)
	}
	if err := stream.Close(); err != nil {
		return fmt.Errorf("ask for %s: %w", asked.Path, err)
	}
	return keep(asked.Path, stream)
}

// fetchHTTP3 downloads the files at once over one connection of HTTP/3.
func fetchHTTP3(requests []string, config *tls.Config) error {
	transport := &http3.Transport{TLSClientConfig: config}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	failures := make(chan error)
	get := func(request string) error {
		answer, err := client.Get(request)
		if err != nil {
			return fmt.Errorf("ask for %s: %w", request, err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("ask for %s: the server answered %s", request, answer.Status)
		}
		return keep(answer.Request.URL.Path, answer.Body)
	}
	for _, request := range requests {
		go func() { failures <- get(request) }()
	}
	var err error
	for range requests {
		err = errors.Join(err, <-failures)
	}
	return err
}

// keep writes what is read to the file of this path's name.
func keep(path string, content io.Reader) error {
	file, err := os.Create(filepath.Join(downloaded, filepath.Base(path)))
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{file}, struct{ io.Reader }{content}, make([]byte, blockBytes)); err != nil {
		return fmt.Errorf("download %s: %w", path, errors.Join(err, file.Close()))
	}
	return file.Close()
}
