//! A snapshot of one end of a connection, in the same form for every stack.

/// The state of one end of a connection at one time, and which connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionSample {
    /// The port of this end.
    pub port: u16,
    /// The port of the other end.
    pub peer_port: u16,
    /// A number that distinguishes QUIC connections between the same two ports.
    pub number: u64,
    /// The state of the connection.
    pub state: ConnectionState,
}

/// The state of a connection at the end that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionState {
    /// The congestion window, in bytes.
    pub cwnd_bytes: u64,
    /// The slow start threshold, in bytes; 0 while it is infinite or not set.
    pub ssthresh_bytes: u64,
    /// The smoothed round-trip time, in nanoseconds; 0 before the first measurement.
    pub rtt_ns: u64,
    /// The bytes sent and neither acknowledged nor declared lost.
    pub unacked_bytes: u64,
    /// The bytes acknowledged since the connection was set up; `None` where the stack does not count them.
    pub acked_bytes: Option<u64>,
    /// The packets retransmitted or declared lost since the connection was set up.
    pub retrans_packets: u64,
    /// The pacing rate, in bit/s; 0 where the stack does not pace.
    pub pacing_rate_bit_s: u64,
    /// The stack's latest estimate of the rate at which the path delivers its payload, in bit/s; 0 before the first
    /// estimate, and where the stack does not report one.
    pub delivery_rate_bit_s: u64,
    /// What has limited the connection's sending rate.
    pub limits: Limits,
    /// Whether the application limits the sender: all that it has written has been sent, although congestion control
    /// would allow more.
    pub has_sent_all: bool,
    /// How the sender recovers from losses; all zero where the stack does not report it.
    pub repair: Repair,
}

/// The state of a sender's loss recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repair {
    /// Whether the sender is recovering from a loss now.
    pub is_recovering: bool,
    /// How long in total the sender has been in recovery from retransmission time-outs since the connection was set up,
    /// in nanoseconds.
    pub timeout_ns: u64,
    /// How many recoveries from retransmission time-outs have begun since the connection was set up.
    pub timeout_recoveries: u64,
}

/// What has limited the sending rate of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// Durations since the connection was set up, in nanoseconds, as the stack counts them: with data to send; of that,
    /// limited by the peer's receive window; and limited by the send buffer.
    Counted([u64; 3]),
    /// What the sender is doing at the time of the sample.
    Now(Activity),
}

/// What a sender is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// The sender has neither data to send nor unacknowledged data.
    Idle,
    /// The sender sends, limited only by congestion control and pacing.
    Busy,
    /// The sender has more data to send than the peer's receive window allows.
    PeerFull,
    /// The application has more data to send than the send buffer has room for, and all data in the buffer has been
    /// sent.
    BufferFull,
}
