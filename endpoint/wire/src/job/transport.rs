//! The transport of a job: the protocol, its implementation, and its options.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// The transport and its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Transport {
    /// The transport protocol.
    pub kind: TransportKind,
    /// The implementation; null for netwarp's own.
    pub stack: Option<Stack>,
    /// Whether the kernel or a simulator implements the transport. The endpoint carries out only the kernel's.
    pub model: Model,
    /// Congestion control, by its name in the stack.
    pub congestion: String,
    /// Size of socket buffers and flow-control windows, on each side and in each direction.
    pub buffer_bytes: u64,
    /// Maximum amount of unacknowledged content that a sender of SCTP or QUIC holds: SCTP's send buffer, QUIC's send
    /// window. TCP's send buffer grows by itself, up to `buffer_bytes`.
    pub send_buffer_bytes: u64,
    /// Initial congestion window, in full-size packets.
    pub initial_window_packets: u32,
    /// Limit of a packet's payload, if smaller than the MTU allows. TCP: the MSS option (RFC 9293, 3.7.1), payload and
    /// TCP options together; with timestamps the payload is 12 bytes less. SCTP: the largest piece of a message in one
    /// DATA chunk (RFC 6458, 8.1.16), of which several may share a packet.
    pub mss_bytes: Option<u32>,
    /// Send small writes at once (Nagle's algorithm off; for SCTP, no waiting to bundle).
    pub nodelay: bool,
    /// Whether both hosts offer Explicit Congestion Notification (RFC 3168; RFC 9000, 13.4); null leaves it to each
    /// stack, on a path on which nothing marks packets.
    pub ecn: Option<bool>,
    /// Whether and how later connections of the run resume sessions of earlier ones.
    pub resume: Resume,
    /// What happens to connections if the client moves to another path.
    pub reconnect: Reconnect,
    /// Options of `tcp`, `tls` and `mptcp`.
    pub tcp: TcpOptions,
    /// Options of `sctp`.
    pub sctp: SctpOptions,
    /// Options of `quic`.
    pub quic: QuicOptions,
    /// The client's end, if its implementation differs from that at the server's end, to which `stack` and `congestion`
    /// then apply.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub client: Option<ClientEnd>,
}

/// The protocol of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// The kernel's TCP.
    Tcp,
    /// TLS 1.3 (rustls) over the kernel's TCP.
    Tls,
    /// The kernel's SCTP.
    Sctp,
    /// QUIC v1 (quinn) over the kernel's UDP.
    Quic,
    /// The kernel's UDP: only messages, without retransmissions.
    Udp,
    /// The kernel's Multipath TCP (RFC 8684): one subflow on each path.
    Mptcp,
}

/// Another implementation of the transport: a program that is started instead of netwarp's own server and client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Stack {
    /// Name of the implementation, such as `quic-go`.
    pub name: String,
    /// Version of the implementation.
    pub version: String,
    /// Absolute path of the program.
    pub program: String,
    /// The interface of the program: how it is started, and how it gets its task.
    pub contract: Contract,
}

/// The interface between netwarp and a stack's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contract {
    /// The role protocol (`docs/role-protocol.md`).
    Roles,
    /// The environment variables with which the QUIC interop runner starts the endpoints that it tests. They do not
    /// include the transport's options.
    Interop,
}

/// The implementation of transport and path: the kernel's, or a model of the simulator ns-3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// The kernel's transport and path.
    Kernel,
    /// ns-3's models, configured like Linux: CUBIC, SACK, an initial window of ten full-size segments, a smallest
    /// time-out of 200 ms. Client, router and server are joined by point-to-point links; the router's queue is the
    /// path's.
    Ns3,
    /// ns-3's models with their defaults: segments of 536 bytes, buffers of 128 KiB. Client and server share a CSMA
    /// link of the path's rate and delay, which carries one packet at a time for both directions; its queues are ns-3's
    /// own, whatever the path's is.
    Ns3default,
}

/// How connections resume sessions: only those of an earlier transfer, never one of the same transfer. Early data can
/// be replayed: whoever has a copy of a client's first flight can send it to the server again (RFC 8446, section 8), so
/// it is only for requests that may be answered twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resume {
    /// No resumption: every handshake is a full one.
    #[serde(rename = "none")]
    None,
    /// TLS 1.3 session tickets (RFC 8446, 2.2), in TLS and in QUIC.
    #[serde(rename = "1rtt")]
    OneRtt,
    /// Tickets with early data (RFC 8446, 2.3); for TCP, Fast Open (RFC 7413).
    #[serde(rename = "0rtt")]
    ZeroRtt,
}

/// What happens to open connections when the client's address changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reconnect {
    /// Connections are given up: the client opens new ones, and unfinished content continues at the byte reached.
    New,
    /// Connections continue over the new address: QUIC's migration (RFC 9000, section 9), SCTP's dynamic address
    /// reconfiguration (RFC 5061), MPTCP's subflows (RFC 8684, 3.2).
    Migrate,
}

/// Settings of the kernel's TCP in which TCPs of different years differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct TcpOptions {
    /// Whether selective acknowledgements are used (RFC 2018), including duplicate ones (RFC 2883).
    pub sack: bool,
    /// Whether segments carry timestamps (RFC 7323).
    pub timestamps: bool,
    /// Whether the window scale option is used (RFC 7323).
    pub window_scaling: bool,
    /// The algorithm by which losses are detected.
    pub recovery: Recovery,
    /// Whether both hosts offer accurate ECN (RFC 9768) instead of RFC 3168's.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub accurate_ecn: bool,
    /// Minimum by which a retransmission time-out exceeds the smoothed round-trip time; null for the kernel's default.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub tcp_rto_min_ns: Option<u64>,
    /// Maximum number of packets that TCP passes to a device as one large segment, which the host then splits
    /// (`gso_max_segs` of its devices); null for the kernel's default.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub tso_packets: Option<u32>,
    /// Whether CUBIC may end slow start when round-trip times increase (`tcp_cubic.hystart`, a parameter of the whole
    /// kernel); null for the kernel's default, true.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub hystart: Option<bool>,
    /// Whether packetization layer path MTU discovery (RFC 4821) begins when a black hole is suspected.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub mtu_probing: bool,
}

/// How TCP detects losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// RACK and tail loss probes (RFC 8985), early retransmit, F-RTO: the kernel's default.
    Rack,
    /// Three duplicate acknowledgements and time-outs (RFC 5681).
    Classic,
}

/// Options of the kernel's SCTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct SctpOptions {
    /// Number of streams of an association, in each direction.
    pub streams: u16,
    /// Largest message that the sender passes to SCTP, in bytes.
    pub max_message_bytes: u32,
    /// Whether messages are delivered unordered (RFC 9260, 6.6).
    pub unordered: bool,
    /// Time after which a message of a flow is no longer sent (PR-SCTP, timed reliability; RFC 3758, 4.1); null for no
    /// limit.
    pub message_lifetime_ns: Option<u64>,
    /// Maximum number of retransmissions of a message of a flow (PR-SCTP, limited retransmissions; RFC 7496, 4.1); null
    /// for no limit.
    pub max_retransmissions: Option<u32>,
    /// The first retransmission time-out, RTO.Initial (RFC 9260, 16).
    pub rto_initial_ns: u64,
    /// The shortest retransmission time-out, RTO.Min.
    pub rto_min_ns: u64,
    /// The longest retransmission time-out, RTO.Max.
    pub rto_max_ns: u64,
    /// Whether both ends bind an address of every path, and fail over between the paths.
    pub multihomed: bool,
}

/// Options of QUIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct QuicOptions {
    /// Whether each message of a flow is sent as a datagram (RFC 9221), which is not retransmitted.
    pub datagrams: bool,
    /// Whether the events of each connection are logged to a file in the folder `qlog` of the run's directory, as qlog
    /// (draft-ietf-quic-qlog-main-schema).
    pub qlog: bool,
}

/// The client's end of a connection between two implementations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct ClientEnd {
    /// The client's implementation, with the same interface as the server's.
    pub stack: Stack,
    /// The client's congestion control by its name in that stack.
    pub congestion: String,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
