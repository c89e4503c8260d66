//! The workload `flow` of a job, and its records: messages sent when they are due.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Direction;

/// Messages of one size, each sent when it is due, whether or not earlier ones have arrived.
///
/// Over `udp` a message is a datagram, and over `quic` if datagrams are used; over `sctp` it is a separate SCTP message
/// if messages are unordered or partially reliable (PR-SCTP). Otherwise messages are sent in order on one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Flow {
    /// Seed of the arrivals, if these are random.
    pub seed: u64,
    /// The direction of the messages.
    pub direction: Direction,
    /// Size of each message. Its first bytes are its number, when it was due and when it was sent.
    pub message_bytes: u16,
    /// The process that determines when messages are due.
    pub arrivals: Arrivals,
    /// Maximum number of messages to send; null if only `duration_ns` limits them.
    pub messages: Option<u64>,
    /// Messages that are due later than this after the first one are not sent; null if only `messages` limits them.
    pub duration_ns: Option<u64>,
    /// Whether the receiver writes a table to the run directory with a line for each message.
    pub packet_table: bool,
}

/// When the messages of a flow are due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Arrivals {
    /// Arrivals with a constant time between messages.
    Constant {
        /// Time from one message to the next.
        interval_ns: u64,
    },
    /// A Poisson process: the times between messages are exponentially distributed.
    Poisson {
        /// The mean time from one message to the next, in nanoseconds.
        interval_ns: u64,
    },
    /// Bursts: constant arrivals in on-periods, none in off-periods, both of exponentially distributed length.
    Onoff {
        /// Time from one message to the next in an on-period.
        interval_ns: u64,
        /// Mean length of an on-period.
        on_ns: u64,
        /// Mean length of an off-period.
        off_ns: u64,
    },
    /// Arrivals at explicit times.
    Trace {
        /// Times after the flow's start at which messages are due, in order.
        at_ns: Vec<u64>,
    },
}

/// Requests of one size, each sent when it is due and answered by a response of one size.
///
/// Over `udp` each is a datagram. Other transports carry them in order on one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Rr {
    /// Seed of the arrivals, if these are random.
    pub seed: u64,
    /// Size of each request. Its first bytes are its number, when it was due and when it was sent.
    pub request_bytes: u16,
    /// Size of each response. Its first bytes are its request's number and times.
    pub response_bytes: u16,
    /// The process that determines when requests are due.
    pub arrivals: Arrivals,
    /// Maximum number of requests to send; null if only `duration_ns` limits them.
    pub messages: Option<u64>,
    /// Requests that are due later than this after the first one are not sent; null if only `messages` limits them.
    pub duration_ns: Option<u64>,
}
