//! The state of a host's connections at one moment: of TCP and SCTP from the kernel, of QUIC from its gauges.

use std::sync::atomic::Ordering::Relaxed;

use anyhow::Result;
use netwarp_core::gauges::{Gauges, SharedGauges};
use netwarp_path::netlink::sock_diag::{self, Seen, SeenAssociation};
use netwarp_path::network::Network;
use netwarp_path::topology::Namespace;
use netwarp_transport::TcpInfo;
use netwarp_wire::job::{Job, Transport, TransportKind, Workload};

/// quinn's pacing rate, in quarters of a congestion window per round-trip time (its `pacing.rs`, as RFC 9002, section
/// 7.7, suggests).
const PACED_QUARTERS: u64 = 5;

const BITS_PER_BYTE: u64 = 8;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Where the state of a host's connections is read.
pub(super) enum Source {
    /// The kernel's `sock_diag`, for TCP.
    Tcp,
    /// The kernel's `sock_diag`, for SCTP.
    Sctp,
    /// The memory that a QUIC stack shares.
    Gauges(SharedGauges),
}

/// The kind of connections that are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampledKind {
    Tcp,
    Sctp,
    Quic,
}

impl SampledKind {
    fn of(transport: &Transport) -> Option<Self> {
        match transport.kind {
            TransportKind::Tcp | TransportKind::Tls | TransportKind::Mptcp => Some(Self::Tcp),
            TransportKind::Sctp => Some(Self::Sctp),
            TransportKind::Quic => transport.stack.is_none().then_some(Self::Quic),
            TransportKind::Udp => None,
        }
    }
}

/// The state of one end of a connection at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionSample {
    pub port: u16,
    pub peer_port: u16,
    /// Tells apart connections between the same two ports, which QUIC can have.
    pub number: u64,
    pub cwnd_bytes: u64,
    pub ssthresh_bytes: u64,
    pub rtt_ns: u64,
    pub unacked_bytes: u64,
    /// None where the stack does not count it.
    pub acked_bytes: Option<u64>,
    pub retrans_packets: u64,
    pub pacing_rate_bit_s: u64,
    pub limits: Limits,
    pub has_sent_all: bool,
}

/// What has kept a connection from sending more.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limits {
    /// Times in nanoseconds since the connection was set up: with data to send; of that, limited by the peer's receive
    /// window, and by the send buffer.
    Counted([u64; 3]),
    /// The state at the time of the sample.
    Now(Activity),
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It has no data to send, and no unacknowledged data.
    Idle,
    /// It sends, limited by congestion control and pacing alone.
    Busy,
    /// It has more data to send than the peer's receive window allows.
    PeerFull,
    /// The application has more data to send than the send buffer has room for, and everything in the buffer has been
    /// sent.
    BufferFull,
}

impl Source {
    /// Returns the kinds of connections of a job whose state can be read. A foreign QUIC stack does not share its
    /// state, and UDP has no connections. Of programs of the machine, TCP connections are sampled.
    pub(super) fn kinds(job: &Job) -> Vec<SampledKind> {
        if matches!(job.workload, Workload::Command(_)) {
            return vec![SampledKind::Tcp];
        }
        let first = netwarp_workload::of(&job.workload).first_reached_by(job);
        let transports = std::iter::once(&job.transport).chain(first.as_ref().map(|first| &first.transport));
        transports.filter_map(SampledKind::of).collect()
    }

    /// Returns the source for connections of a kind.
    ///
    /// # Errors
    /// The shared memory cannot be created.
    pub(super) fn of(kind: SampledKind) -> Result<Self> {
        Ok(match kind {
            SampledKind::Tcp => Self::Tcp,
            SampledKind::Sctp => Self::Sctp,
            SampledKind::Quic => Self::Gauges(SharedGauges::new()?),
        })
    }

    /// Returns whether this is the source for connections of a kind.
    pub(super) fn is_of(&self, kind: SampledKind) -> bool {
        kind == match self {
            Self::Tcp => SampledKind::Tcp,
            Self::Sctp => SampledKind::Sctp,
            Self::Gauges(_) => SampledKind::Quic,
        }
    }

    /// Reads the state of a host's connections.
    ///
    /// # Errors
    /// A kernel that does not answer.
    pub(super) fn sample(&self, network: &mut Network, host: Namespace) -> Result<Vec<ConnectionSample>> {
        Ok(match self {
            Self::Tcp => {
                network.sample_connections(host, sock_diag::tcp_connections)?.into_iter().map(of_tcp).collect()
            }
            Self::Sctp => {
                network.sample_connections(host, sock_diag::sctp_associations)?.into_iter().map(of_sctp).collect()
            }
            Self::Gauges(shared) => shared.standing().map(of_quic).collect(),
        })
    }
}

fn of_tcp(Seen { port, peer_port, info }: Seen<TcpInfo>) -> ConnectionSample {
    ConnectionSample {
        port,
        peer_port,
        number: 0,
        cwnd_bytes: info.cwnd_bytes(),
        ssthresh_bytes: info.ssthresh_bytes(),
        rtt_ns: info.rtt_ns(),
        unacked_bytes: info.unacked_bytes(),
        acked_bytes: Some(info.acked_bytes()),
        retrans_packets: info.retrans_packets(),
        pacing_rate_bit_s: info.pacing_rate_bit_s(),
        limits: Limits::Counted(info.limits_ns()),
        has_sent_all: info.has_sent_all(),
    }
}

fn of_sctp(Seen { port, peer_port, info: seen }: Seen<SeenAssociation>) -> ConnectionSample {
    let SeenAssociation { info, send_room_bytes } = seen;
    let (has_sent_all, unacked_bytes) = (info.has_sent_all(), info.unacked_bytes());
    let activity = match (has_sent_all, unacked_bytes) {
        (true, 0) => Activity::Idle,
        // A message is accepted whole as long as there is any room.
        (true, _) if send_room_bytes == 0 => Activity::BufferFull,
        (false, _) if info.is_peer_full() => Activity::PeerFull,
        _ => Activity::Busy,
    };
    ConnectionSample {
        port,
        peer_port,
        number: 0,
        cwnd_bytes: info.cwnd_bytes(),
        ssthresh_bytes: info.ssthresh_bytes(),
        rtt_ns: info.rtt_ns(),
        unacked_bytes,
        acked_bytes: None,
        retrans_packets: info.retrans_packets(),
        pacing_rate_bit_s: 0,
        limits: Limits::Now(activity),
        has_sent_all: has_sent_all && activity != Activity::BufferFull && unacked_bytes < info.cwnd_bytes(),
    }
}

fn of_quic(gauges: &Gauges) -> ConnectionSample {
    let (port, peer_port) = gauges.ports();
    let [cwnd_bytes, rtt_ns, unacked_bytes] =
        [&gauges.cwnd_bytes, &gauges.rtt_ns, &gauges.unacked_bytes].map(|gauge| gauge.load(Relaxed));
    let is_waiting = gauges.waiting_writes.load(Relaxed) > 0;
    let has_sent_all = gauges.has_sent_all.load(Relaxed) > 0;
    let activity = match (is_waiting, has_sent_all, unacked_bytes) {
        (false, _, 0) => Activity::Idle,
        // quinn accepts no more data than the peer's window and its own send window have room for. Its own is full when
        // that many bytes are unacknowledged.
        (true, true, _) if unacked_bytes >= gauges.send_window_bytes.load(Relaxed) => Activity::BufferFull,
        (true, true, _) => Activity::PeerFull,
        _ => Activity::Busy,
    };
    ConnectionSample {
        port,
        peer_port,
        number: gauges.number.load(Relaxed),
        cwnd_bytes,
        ssthresh_bytes: gauges.ssthresh_bytes.load(Relaxed),
        rtt_ns,
        unacked_bytes,
        acked_bytes: Some(gauges.acked_bytes.load(Relaxed)),
        retrans_packets: gauges.lost_packets.load(Relaxed),
        pacing_rate_bit_s: paced_bit_s(cwnd_bytes, rtt_ns),
        limits: Limits::Now(activity),
        has_sent_all: has_sent_all && !is_waiting,
    }
}

/// Returns quinn's pacing rate in bit/s; 0 before the first round-trip time is measured.
fn paced_bit_s(cwnd_bytes: u64, rtt_ns: u64) -> u64 {
    let bits = u128::from(cwnd_bytes * BITS_PER_BYTE * PACED_QUARTERS / 4) * u128::from(NANOSECONDS_PER_SECOND);
    bits.checked_div(rtt_ns.into()).map_or(0, |bit_s| u64::try_from(bit_s).unwrap_or(u64::MAX))
}
