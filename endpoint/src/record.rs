//! The records: what the endpoint gives back, one JSON object a line.
//!
//! Times are integer nanoseconds since the run's epoch (the path is built, nobody has sent anything), read from one
//! clock for both sides. The Python half of this definition is in `src/netwarp/wire/`; both read the golden files
//! in `tests/golden/`.

use serde::{Deserialize, Serialize};

use crate::job::{Direction, Event, Resume, TransportKind};

/// One line of `records.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "lowercase", deny_unknown_fields)]
pub enum Record {
    /// First: who writes.
    Start {
        /// [`crate::job::FORMAT`].
        format: u32,
        /// The job's name.
        run: String,
        /// Version of this program.
        endpoint: String,
        /// `uname -sr` of the kernel that carried the packets.
        kernel: String,
        /// Whether time is the guest's or the wall's.
        clock: ClockKind,
    },
    /// One side of one connection, written when it is over.
    Connection {
        /// Who speaks.
        side: Side,
        /// 0 for the first.
        connection: u32,
        /// Which of the run's transfers it served, from 0.
        transfer: u32,
        /// Whether it was given up because the client moved to another path.
        abandoned: bool,
        /// What it used of an earlier connection, as the stack says when it is over: what was asked for is not always got.
        resumed: Resume,
        /// Call of `connect` (client): the first, where the client moved before the handshake was over and began it
        /// again. Acceptance (server).
        start_ns: u64,
        /// Ready for application data. With early data that is before the peer has answered: at once (`tcp`, `quic`), or
        /// when TCP is connected (`tls`).
        connected_ns: u64,
        /// What the stack really used.
        settings: Settings,
        /// What the stack counted.
        stats: Stats,
    },
    /// One content moved over one stream, once for each end.
    Transfer {
        /// Who speaks.
        side: Side,
        /// Index of the connection.
        connection: u32,
        /// Index of the stream on it.
        stream: u32,
        /// Which of the run's transfers, from 0.
        transfer: u32,
        /// Which part of the content, from 0.
        chunk: u32,
        /// Which way the content went.
        direction: Direction,
        /// Content bytes sent or received.
        bytes: u64,
        /// Sender: bytes of the chunk before these, which connections that were given up had carried.
        resumed_at_bytes: u64,
        /// Receiver: first content byte at hand. Sender: first byte handed to the transport.
        first_byte_ns: u64,
        /// Receiver: last content byte at hand. Sender: the receiver's confirmation at hand.
        last_byte_ns: u64,
        /// Hex SHA-256 of the content as this end saw it, if asked for.
        sha256: Option<String>,
        /// Receiver, in a run with outages, moves or rate traces: longest time between two arrivals of new content. Of two ticks
        /// (20 ms) or less, TCP's and MPTCP's may go unseen.
        longest_gap_ns: Option<u64>,
        /// When it began: the last arrival before it.
        longest_gap_at_ns: Option<u64>,
    },
    /// A segment of a medium at the player.
    Segment {
        /// Counted in the order of requests, from 0.
        request: u32,
        /// Place in the media, from 0.
        segment: u32,
        /// Index of the quality.
        quality: u32,
        /// Index of the connection that carried its last byte.
        connection: u32,
        /// Index of the stream on it.
        stream: u32,
        /// Size.
        bytes: u64,
        /// The player asked for it. It may have waited for a connection, or for a stream that was still busy with what a seek
        /// had made useless.
        requested_ns: u64,
        /// First byte at hand.
        first_byte_ns: u64,
        /// Last byte at hand.
        last_byte_ns: u64,
        /// Play time ahead when it was asked for.
        buffer_ns: u64,
        /// Hex SHA-256 as it arrived, if asked for.
        sha256: Option<String>,
    },
    /// Something the player did, in order of time.
    Player {
        /// When.
        at_ns: u64,
        /// What.
        action: Action,
    },
    /// The client was told of its address on another path.
    Handover {
        /// When.
        at_ns: u64,
        /// Index of the path.
        path: u32,
        /// Longest time without new content that ended between this and the next handover, or the end, and began before the move
        /// was over: a round trip after this, or after the path before was lost. Counted from the move on: this, or when the
        /// client had lost every other path.
        longest_gap_ns: Option<u64>,
        /// When it began, or the move did.
        longest_gap_at_ns: Option<u64>,
    },
    /// Content received over time, in a run with a timeline or a player.
    Goodput {
        /// From the epoch on, the width of each count.
        step_ns: u64,
        /// Content bytes that came in each step, up to the last that did.
        bytes: Vec<u64>,
    },
    /// What one direction of a path really did, counted on its links before the probes.
    Calibration {
        /// Index of the path.
        path: u32,
        /// Which way.
        direction: Direction,
        /// Counted from the epoch to here.
        interval_ns: u64,
        /// Wire packets the sender's link carried to the router.
        offered_packets: u64,
        /// Their bytes, Ethernet headers included.
        offered_bytes: u64,
        /// Wire packets the receiver's link carried from the router.
        delivered_packets: u64,
        /// Their bytes, Ethernet headers included.
        delivered_bytes: u64,
        /// Packets netem dropped: lost at random, or for a full queue.
        dropped_packets: u64,
        /// Of them, those lost at random; none where the kernel does not tell.
        lost_packets: Option<u64>,
        /// Packets still in netem when counted.
        left_packets: u64,
    },
    /// Idle-path probes after the workload: UDP packets of a few bytes, echoed.
    Probe {
        /// Index of the path.
        path: u32,
        /// Probes sent.
        sent: u32,
        /// Probes that came back.
        received: u32,
        /// Smallest time there and back, if any came back.
        min_rtt_ns: Option<u64>,
        /// Smallest one-way time, server to client.
        min_delay_down_ns: Option<u64>,
        /// Smallest one-way time, client to server.
        min_delay_up_ns: Option<u64>,
    },
    /// Something of the timeline that happened.
    Event {
        /// When it was done.
        at_ns: u64,
        /// What it was.
        event: Event,
    },
    /// CPU time of one side's process; in real time only, for in virtual time it is free.
    Usage {
        /// Who.
        side: Side,
        /// In its own code.
        user_ns: u64,
        /// In the kernel on its behalf.
        system_ns: u64,
    },
    /// Last: how it went. A run without this line did not finish.
    End {
        /// The run's clock.
        virtual_ns: u64,
        /// None when all that was asked happened.
        failure: Option<Failure>,
    },
}

/// What a player does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Action {
    /// It plays: at first, after a stall, after a seek.
    Play {
        /// From the start of this segment.
        segment: u32,
    },
    /// Nothing is left to play.
    Stall {},
    /// The viewer moves the play position.
    Seek {
        /// To the start of this segment.
        segment: u32,
    },
    /// It asks for another quality than before.
    Switch {
        /// Index of the quality.
        quality: u32,
    },
    /// The viewer has seen enough.
    End {},
}

/// Whose time the records tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    /// The guest's: jumps when idle.
    Virtual,
    /// The wall's.
    Real,
}

/// One end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Dials.
    Client,
    /// Listens.
    Server,
}

/// What a stack really used, read back where it can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Which protocol.
    pub transport: TransportKind,
    /// Congestion control by its name in the stack.
    pub congestion: String,
    /// First flight in bytes of payload, as configured.
    pub initial_window_bytes: u64,
    /// Largest payload of one packet in use at the end.
    pub mss_bytes: u32,
    /// Send buffer or send window limit.
    pub send_buffer_bytes: u64,
    /// Receive buffer or flow-control window limit.
    pub receive_buffer_bytes: u64,
    /// Whether the stack spaces its packets out.
    pub paced: bool,
}

/// What a stack counted on one connection; none where it cannot say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// TCP: `tcpi_total_retrans`; SCTP: `sas_rtxchunks`; QUIC: packets declared lost.
    pub retransmitted_packets: Option<u64>,
    /// Smoothed RTT at the end.
    pub smoothed_rtt_ns: Option<u64>,
    /// Smallest RTT the stack saw.
    pub min_rtt_ns: Option<u64>,
    /// Congestion window at the end.
    pub congestion_window_bytes: Option<u64>,
    /// Time with something to send.
    pub busy_ns: Option<u64>,
    /// Of it, held back by the peer's window.
    pub receive_window_limited_ns: Option<u64>,
    /// Of it, held back by the send buffer.
    pub send_buffer_limited_ns: Option<u64>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What was being done: `setup`, `server`, `client`, `limit`, `verify`, `teardown`.
    pub stage: String,
    /// What went wrong, on what.
    pub message: String,
}
