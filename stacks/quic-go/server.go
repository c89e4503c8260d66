package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/quic-go/quic-go"
)

// serve answers clients until it is ordered to finish.
func (r *role) serve(address *net.UDPAddr) error {
	if _, err := r.begin(); err != nil {
		return err
	}
	own, err := identity(r.job.Seed)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP(r.job.network(), address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", address, err)
	}
	listener, err := (&quic.Transport{Conn: socket}).ListenEarly(serverTLS(own), r.config())
	if err != nil {
		return fmt.Errorf("listen at %s: %w", address, err)
	}
	r.say(map[string]any{"message": "ready", "certificate": hex.EncodeToString(own.Certificate[0])})
	failures := make(chan error, 1)
	var served sync.WaitGroup
	// A client that is done needs no more answers, even if its last packet was lost.
	serving, finish := context.WithCancel(context.Background())
	defer finish()
	go r.acceptAll(serving, listener, &served, failures)
	finished := make(chan error, 1)
	go func() {
		last, err := r.next()
		if err == nil && last != nil && last.Order != "finish" {
			err = fmt.Errorf("a server is only ordered to finish, not to %s", last.Order)
		}
		finished <- err
	}()
	select {
	case err = <-failures:
		return err
	case err = <-finished:
	}
	finish()
	served.Wait()
	return err
}

func (r *role) acceptAll(serving context.Context, listener *quic.EarlyListener, served *sync.WaitGroup, failures chan<- error) {
	for {
		conn, err := listener.Accept(serving)
		if serving.Err() != nil {
			return
		}
		if err != nil {
			failures <- fmt.Errorf("accept a connection: %w", err)
			return
		}
		served.Add(1)
		accepted := &dialled{conn: conn, startNS: r.nowNS()}
		go func() {
			defer served.Done()
			if err := r.serveOne(serving, accepted); err != nil {
				failures <- err
			}
		}()
	}
}

// serveOne answers one connection's requests until its client closes it.
func (r *role) serveOne(serving context.Context, accepted *dialled) error {
	select {
	case <-accepted.conn.HandshakeComplete():
		accepted.connectedNS = r.nowNS()
	case <-serving.Done():
		return nil
	case <-accepted.conn.Context().Done():
		return fmt.Errorf("the handshake: %w", context.Cause(accepted.conn.Context()))
	}
	var transfer uint64
	var streams sync.WaitGroup
	var failure error
	var once sync.Once
	for {
		stream, err := accepted.conn.AcceptStream(serving)
		if err != nil {
			var closed *quic.ApplicationError
			if serving.Err() == nil && (!errors.As(err, &closed) || closed.ErrorCode != 0) {
				once.Do(func() { failure = fmt.Errorf("wait for a request: %w", err) })
			}
			break
		}
		streams.Add(1)
		go func() {
			defer streams.Done()
			of, err := r.answer(stream)
			if err != nil {
				once.Do(func() { failure = err })
			}
			transfer = of
		}()
	}
	streams.Wait()
	if failure == nil {
		r.write(accepted.record(r.side, transfer, r.job))
	}
	return failure
}

func (r *role) answer(stream *quic.Stream) (uint64, error) {
	transfer, chunk, err := decodeRequest(stream)
	if err != nil {
		return 0, err
	}
	record, err := r.move(stream, transfer, chunk)
	if err != nil {
		return 0, fmt.Errorf("transfer %d, chunk %d: %w", transfer, chunk, err)
	}
	r.write(record)
	return transfer, stream.Close()
}
