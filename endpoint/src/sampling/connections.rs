//! What a host's connections are like at a moment: the kernel's TCP and SCTP, and QUIC by its gauges.

use std::sync::atomic::Ordering::Relaxed;

use anyhow::Result;

use crate::gauges::{Gauges, SharedGauges};
use crate::job::{Job, Transport, TransportKind, Workload};
use crate::netlink::sock_diag::{self, Seen, SeenAssociation};
use crate::network::Network;
use crate::topology::Namespace;
use crate::transport::TcpInfo;
use crate::workload;

/// quinn paces to this many quarters of a window in a round-trip time (its `pacing.rs`, as RFC 9002, section 7.7, suggests).
const PACED_QUARTERS: u64 = 5;

const BITS_PER_BYTE: u64 = 8;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Who is asked for a host's connections.
pub(super) enum Source {
    /// The kernel, for TCP's.
    Tcp,
    /// The kernel, for SCTP's.
    Sctp,
    /// QUIC's stack, by what it shares.
    Gauges(SharedGauges),
}

/// Whose connections are sampled.
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

/// One end of a connection, as it is now.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionSample {
    pub port: u16,
    pub peer_port: u16,
    /// Of connections between the same ports, which QUIC can have: which one.
    pub number: u64,
    pub cwnd_bytes: u64,
    pub ssthresh_bytes: u64,
    pub rtt_ns: u64,
    pub unacked_bytes: u64,
    /// None where nobody counts it.
    pub acked_bytes: Option<u64>,
    pub retrans_packets: u64,
    pub pacing_rate_bit_s: u64,
    pub limits: Limits,
    pub has_sent_all: bool,
}

/// What has kept a connection from sending more.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limits {
    /// For how long since it was set up: time with something to send; of it, kept by the peer's window, and by the send buffer.
    Counted([u64; 3]),
    /// At this moment.
    Now(Activity),
}

/// What a connection is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It has nothing to send, and nothing unacknowledged.
    Idle,
    /// It sends as it sees fit.
    Busy,
    /// It has more to send than its peer's window has room for.
    PeerFull,
    /// There is more to send than its send buffer has room for, and all that is in it has been sent.
    BufferFull,
}

impl Source {
    /// The kinds of transport of which somebody has something to say in a job; somebody else's QUIC tells nobody, and UDP has no
    /// connections. Programs of the machine are asked for TCP's.
    pub(super) fn kinds(job: &Job) -> Vec<SampledKind> {
        if matches!(job.workload, Workload::Command(_)) {
            return vec![SampledKind::Tcp];
        }
        let first = workload::of(&job.workload).first_reached_by(job);
        let transports = std::iter::once(&job.transport).chain(first.as_ref().map(|first| &first.transport));
        transports.filter_map(SampledKind::of).collect()
    }

    /// Whom to ask for those of a kind.
    ///
    /// # Errors
    /// No memory to share.
    pub(super) fn of(kind: SampledKind) -> Result<Self> {
        Ok(match kind {
            SampledKind::Tcp => Self::Tcp,
            SampledKind::Sctp => Self::Sctp,
            SampledKind::Quic => Self::Gauges(SharedGauges::new()?),
        })
    }

    /// Whether it is asked for connections of a kind.
    pub(super) fn is_of(&self, kind: SampledKind) -> bool {
        kind == match self {
            Self::Tcp => SampledKind::Tcp,
            Self::Sctp => SampledKind::Sctp,
            Self::Gauges(_) => SampledKind::Quic,
        }
    }

    /// The connections of a host.
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
        // A message is taken whole as long as there is any room.
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
        // quinn takes no more than the peer's window and its own have room for. Its own is full with what is on its way.
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

/// What quinn paces to; nothing before the first round-trip time.
fn paced_bit_s(cwnd_bytes: u64, rtt_ns: u64) -> u64 {
    let bits = u128::from(cwnd_bytes * BITS_PER_BYTE * PACED_QUARTERS / 4) * u128::from(NANOSECONDS_PER_SECOND);
    bits.checked_div(rtt_ns.into()).map_or(0, |bit_s| u64::try_from(bit_s).unwrap_or(u64::MAX))
}
