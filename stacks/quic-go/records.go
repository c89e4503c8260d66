package main

import (
	"github.com/quic-go/quic-go"
)

// initialWindowPackets is internal/congestion/cubic_sender.go's initialCongestionWindow.
const initialWindowPackets = 32

// connectionRecord describes one side of a connection (docs/run-format.md).
type connectionRecord struct {
	Record      string   `json:"record"`
	Side        string   `json:"side"`
	Connection  uint64   `json:"connection"`
	Transfer    uint64   `json:"transfer"`
	Abandoned   bool     `json:"abandoned"`
	Resumed     string   `json:"resumed"`
	StartNS     int64    `json:"start_ns"`
	ConnectedNS int64    `json:"connected_ns"`
	Settings    settings `json:"settings"`
	Stats       stats    `json:"stats"`
}

type settings struct {
	Transport          string `json:"transport"`
	Congestion         string `json:"congestion"`
	InitialWindowBytes uint64 `json:"initial_window_bytes"`
	MSSBytes           uint64 `json:"mss_bytes"`
	SendBufferBytes    uint64 `json:"send_buffer_bytes"`
	ReceiveBufferBytes uint64 `json:"receive_buffer_bytes"`
	Paced              bool   `json:"paced"`
}

type stats struct {
	RetransmittedPackets   *uint64 `json:"retransmitted_packets"`
	SmoothedRTTNS          *int64  `json:"smoothed_rtt_ns"`
	MinRTTNS               *int64  `json:"min_rtt_ns"`
	CongestionWindowBytes  *uint64 `json:"congestion_window_bytes"`
	BusyNS                 *uint64 `json:"busy_ns"`
	ReceiveWindowLimitedNS *uint64 `json:"receive_window_limited_ns"`
	SendBufferLimitedNS    *uint64 `json:"send_buffer_limited_ns"`
}

// transferRecord describes the transfer of a chunk at one end (docs/run-format.md).
type transferRecord struct {
	Record         string  `json:"record"`
	Side           string  `json:"side"`
	Connection     uint64  `json:"connection"`
	Stream         uint64  `json:"stream"`
	Transfer       uint64  `json:"transfer"`
	Chunk          uint64  `json:"chunk"`
	Direction      string  `json:"direction"`
	Bytes          uint64  `json:"bytes"`
	ResumedAtBytes uint64  `json:"resumed_at_bytes"`
	FirstByteNS    int64   `json:"first_byte_ns"`
	LastByteNS     int64   `json:"last_byte_ns"`
	SHA256         *string `json:"sha256"`
	LongestGapNS   *int64  `json:"longest_gap_ns"`
	LongestGapAtNS *int64  `json:"longest_gap_at_ns"`
}

// dialled is a connection, and when it was begun and established.
type dialled struct {
	conn                 *quic.Conn
	startNS, connectedNS int64
}

func (d *dialled) record(side string, transfer uint64, asked *job) connectionRecord {
	counted := d.conn.ConnectionStats()
	smoothed, least := int64(counted.SmoothedRTT), int64(counted.MinRTT)
	buffer, first := asked.Transport.BufferBytes, asked.payloadBytes(firstPayloadBytes)
	return connectionRecord{
		Record: "connection", Side: side, Connection: transfer, Transfer: transfer,
		Resumed: resumed(d.conn.ConnectionState()), StartNS: d.startNS, ConnectedNS: d.connectedNS,
		Settings: settings{
			Transport: "quic", Congestion: "reno", Paced: true,
			InitialWindowBytes: initialWindowPackets * first, MSSBytes: asked.payloadBytes(mostPayloadBytes),
			SendBufferBytes: buffer, ReceiveBufferBytes: buffer,
		},
		Stats: stats{
			RetransmittedPackets: &counted.PacketsLost, SmoothedRTTNS: &smoothed, MinRTTNS: &least,
			CongestionWindowBytes: &counted.CongestionWindow,
		},
	}
}

func resumed(state quic.ConnectionState) string {
	switch {
	case state.Used0RTT:
		return "0rtt"
	case state.TLS.DidResume:
		return "1rtt"
	default:
		return "none"
	}
}
