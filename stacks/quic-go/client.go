package main

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"

	"github.com/quic-go/quic-go"
)

// drive makes all transfers, one after another, each over a connection of its own.
func (r *role) drive(server *net.UDPAddr) error {
	first, err := r.begin()
	if err != nil {
		return err
	}
	certificate, err := hex.DecodeString(first.Certificate)
	if err != nil {
		return fmt.Errorf("read the server's certificate: %w", err)
	}
	config, err := clientTLS(certificate, r.job.Transport.Resume != "none")
	if err != nil {
		return err
	}
	for transfer := range r.job.Workload.Transfers {
		if err := r.transfer(server, config, transfer); err != nil {
			return fmt.Errorf("transfer %d: %w", transfer, err)
		}
	}
	return nil
}

func (r *role) transfer(server *net.UDPAddr, config *tls.Config, transfer uint64) error {
	socket, err := net.ListenUDP(r.job.network(), nil)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	endpoint := &quic.Transport{Conn: socket}
	defer func() { _ = endpoint.Close(); _ = socket.Close() }()
	connection, err := r.dial(endpoint, server, config)
	if err != nil {
		return err
	}
	records := make(chan *transferRecord)
	failures := make(chan error)
	for chunk := range r.job.Workload.Chunks {
		// Streams are opened in order, so that chunk i is on stream i.
		stream, err := connection.conn.OpenStreamSync(context.Background())
		if err != nil {
			return fmt.Errorf("open a stream: %w", err)
		}
		go func() {
			record, err := r.ask(stream, transfer, chunk)
			if err != nil {
				failures <- err
				return
			}
			records <- record
		}()
	}
	for range r.job.Workload.Chunks {
		select {
		case record := <-records:
			r.write(record)
		case err := <-failures:
			return err
		}
	}
	r.write(connection.record(r.side, transfer, r.job))
	return connection.conn.CloseWithError(0, "")
}

func (r *role) dial(endpoint *quic.Transport, server *net.UDPAddr, config *tls.Config) (*dialled, error) {
	made := &dialled{startNS: r.nowNS()}
	dial := endpoint.Dial
	if r.job.Transport.Resume == "0rtt" {
		dial = endpoint.DialEarly
	}
	var err error
	if made.conn, err = dial(context.Background(), server, config, r.config()); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", server, err)
	}
	made.connectedNS = r.nowNS()
	return made, nil
}

func (r *role) ask(stream *quic.Stream, transfer, chunk uint64) (*transferRecord, error) {
	if _, err := stream.Write(encodeRequest(transfer, chunk)); err != nil {
		return nil, fmt.Errorf("ask for chunk %d: %w", chunk, err)
	}
	record, err := r.move(stream, transfer, chunk)
	if err != nil {
		return nil, fmt.Errorf("chunk %d: %w", chunk, err)
	}
	// The server closes its side when it has the confirmation, which must not be lost with the connection.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return nil, fmt.Errorf("wait for the end of chunk %d: %w", chunk, err)
	}
	// A server that has all it waits for may have asked this side to stop sending: then there is nothing left to close.
	_ = stream.Close()
	return record, nil
}
