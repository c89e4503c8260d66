package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// job is what this role reads of job.json (docs/run-format.md).
type job struct {
	Run   string `json:"run"`
	Seed  uint64 `json:"seed"`
	Paths []struct {
		MTUBytes int  `json:"mtu_bytes"`
		IPv6     bool `json:"ipv6"`
	} `json:"paths"`
	Workloads []exchange `json:"workloads"`
	Timeline  struct {
		Events  []json.RawMessage `json:"events"`
		Redraws []json.RawMessage `json:"redraws"`
		Traces  []json.RawMessage `json:"traces"`
	} `json:"timeline"`
	Limits struct {
		VirtualNS int64 `json:"virtual_ns"`
	} `json:"limits"`
	// The workloads, of which a role has exactly one.
	exchange `json:"-"`
}

// exchange is a workload and its transport.
type exchange struct {
	Name      *string `json:"name"`
	Transport struct {
		Congestion  string `json:"congestion"`
		BufferBytes uint64 `json:"buffer_bytes"`
		Resume      string `json:"resume"`
	} `json:"transport"`
	Workload bulk `json:"workload"`
}

// bulk is a content that is transferred whole or in chunks, once or several times.
type bulk struct {
	Kind      string  `json:"kind"`
	Direction string  `json:"direction"`
	Content   content `json:"content"`
	Verify    bool    `json:"verify"`
	Chunks    uint64  `json:"chunks"`
	Transfers uint64  `json:"transfers"`
}

// The sizes of the headers of IP and UDP.
const (
	headersBytes     = 28
	headersBytesIPv6 = 48
)

// UDP payloads that quic-go sends: the first, the largest that it finds by discovery, the smallest (internal/protocol).
const (
	firstPayloadBytes = 1280
	mostPayloadBytes  = 1452
	leastPayloadBytes = 1200
)

func readJob(file string) (*job, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the job: %w", err)
	}
	var read job
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("understand the job %s: %w", file, err)
	}
	if len(read.Workloads) != 1 {
		return nil, fmt.Errorf("a role carries out one workload, and the job has %d", len(read.Workloads))
	}
	read.exchange = read.Workloads[0]
	if read.Workload.Kind != "bulk" {
		return nil, fmt.Errorf("this role has the workload bulk, not %q", read.Workload.Kind)
	}
	if read.Transport.Congestion != "reno" {
		return nil, fmt.Errorf("quic-go has Reno and no option, not %q", read.Transport.Congestion)
	}
	if len(read.Paths) == 0 {
		return nil, fmt.Errorf("the job has no path")
	}
	return &read, nil
}

// payloadBytes returns the UDP payload of a full packet, which is at most this size.
func (j *job) payloadBytes(most int) uint64 {
	headers := headersBytes
	if j.Paths[0].IPv6 {
		headers = headersBytesIPv6
	}
	return uint64(max(leastPayloadBytes, min(most, j.Paths[0].MTUBytes-headers)))
}

// isRecordedOverTime returns whether what arrives is recorded over time: where workloads share a run, or something happens
// to the path.
func (j *job) isRecordedOverTime() bool {
	return j.Name != nil || len(j.Timeline.Events)+len(j.Timeline.Redraws)+len(j.Timeline.Traces) > 0
}

// network returns the kind of UDP socket that reaches addresses of the job's version of IP.
func (j *job) network() string {
	if j.Paths[0].IPv6 {
		return "udp6"
	}
	return "udp4"
}

// part returns where a chunk lies in the content: chunks are equal, and the last also takes the remainder.
func (b *bulk) part(chunk uint64) (offset, length uint64) {
	each := b.Content.SizeBytes / b.Chunks
	offset = chunk * each
	if chunk+1 == b.Chunks {
		return offset, b.Content.SizeBytes - offset
	}
	return offset, each
}
