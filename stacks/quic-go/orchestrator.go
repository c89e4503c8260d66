package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Orders come from standard input, messages go to descriptor 3 (docs/role-protocol.md).
const (
	orderFD   = 0
	messageFD = 3
)

// order is a line from the orchestrator.
type order struct {
	Order       string `json:"order"`
	EpochNS     int64  `json:"epoch_ns"`
	Certificate string `json:"certificate"`
}

// orchestrator is the pipes to and from the process that started this role.
type orchestrator struct {
	orders   *bufio.Scanner
	messages *os.File
	writing  sync.Mutex
	epochNS  int64
}

func openOrchestrator() (*orchestrator, error) {
	// A read that blocks would occupy Go's only processor, which nothing interrupts while the clock is held.
	if err := unix.SetNonblock(orderFD, true); err != nil {
		return nil, fmt.Errorf("open the orders: %w", err)
	}
	orders := os.NewFile(orderFD, "orders")
	return &orchestrator{orders: bufio.NewScanner(orders), messages: os.NewFile(messageFD, "messages")}, nil
}

// next returns the next order; nil if there will be none.
func (o *orchestrator) next() (*order, error) {
	if !o.orders.Scan() {
		return nil, o.orders.Err()
	}
	var read order
	if err := json.Unmarshal(o.orders.Bytes(), &read); err != nil {
		return nil, fmt.Errorf("understand the order %q: %w", o.orders.Text(), err)
	}
	return &read, nil
}

// begin waits for the order to begin.
func (o *orchestrator) begin() (*order, error) {
	first, err := o.next()
	if err != nil {
		return nil, err
	}
	if first == nil || first.Order != "begin" {
		return nil, fmt.Errorf("the first order is to begin, not %v", first)
	}
	o.epochNS = first.EpochNS
	return first, nil
}

// say sends a message. If that fails, the orchestrator is gone, and no one can be told.
func (o *orchestrator) say(message map[string]any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	_, _ = o.messages.Write(append(line, '\n'))
}

// write sends a record.
func (o *orchestrator) write(record any) {
	o.say(map[string]any{"message": "write", "line": record})
}

// fail reports why this role could not do its work.
func (o *orchestrator) fail(side string, err error) {
	failure := map[string]string{"stage": side, "message": err.Error()}
	o.say(map[string]any{"message": "failed", "failure": failure})
}

// nowNS returns the time since the run's epoch on CLOCK_MONOTONIC.
func (o *orchestrator) nowNS() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano() - o.epochNS
}
