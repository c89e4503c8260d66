//! An association's requested options, its actual ones, and its counters.

use netwarp_core::clock;
use netwarp_wire::job::SctpOptions;
use netwarp_wire::record::Stats;

use super::api::{AssociationStats, AssociationStatus, PeerAddress, RtoInfo, SCTP_RTOINFO, SCTP_STATUS, SOL_SCTP};
use crate::error::{Context as _, Result, ensure};
use crate::socket::Socket;

const NANOSECONDS_PER_MILLISECOND: u64 = 1_000_000;

/// Returns the job's bounds of the retransmission time-out in the kernel's unit, milliseconds.
///
/// # Errors
/// A bound does not fit into 32 bits.
pub(super) fn rto_bounds(options: &SctpOptions) -> Result<RtoInfo> {
    let ms = |nanoseconds: u64| u32::try_from(nanoseconds / NANOSECONDS_PER_MILLISECOND).context("an RTO bound");
    Ok(RtoInfo {
        association: 0,
        initial_ms: ms(options.rto_initial_ns)?,
        max_ms: ms(options.rto_max_ns)?,
        min_ms: ms(options.rto_min_ns)?,
    })
}

/// Checks that the association has the options that were requested: the peer may allow fewer streams, and the kernel
/// keeps times in ticks.
///
/// # Errors
/// An option differs; as `getsockopt(2)`.
pub(super) fn check_association(socket: &Socket, status: &AssociationStatus, wanted: &SctpOptions) -> Result<()> {
    let effective = status.outbound_streams.min(status.inbound_streams);
    ensure!(effective == wanted.streams, "the association has {effective} streams instead of {}", wanted.streams);
    let kept = RtoInfo { association: 0, ..socket.get(SOL_SCTP, SCTP_RTOINFO, RtoInfo::default(), "SCTP_RTOINFO")? };
    let requested = rto_bounds(wanted)?;
    ensure!(
        kept == requested,
        "the kernel keeps the RTO bounds (initial, max, min) as {kept:?} instead of {requested:?}: it counts in ticks of \
         {} ms, so choose whole ones",
        clock::tick_ns() / NANOSECONDS_PER_MILLISECOND
    );
    Ok(())
}

/// Returns the state of the association and of the address to which data is sent.
pub(super) fn status(socket: &Socket) -> Result<AssociationStatus> {
    socket.get(SOL_SCTP, SCTP_STATUS, AssociationStatus::default(), "SCTP_STATUS")
}

/// Returns the association's counters in the form of a run's record.
pub(super) fn stats(counters: &AssociationStats, peer: &PeerAddress, tick_ns: u64) -> Stats {
    Stats {
        retransmitted_packets: Some(counters.retransmitted_chunks),
        smoothed_rtt_ns: (peer.smoothed_rtt_ticks > 0).then(|| u64::from(peer.smoothed_rtt_ticks) * tick_ns),
        congestion_window_bytes: Some(peer.congestion_window_bytes.into()),
        ..Stats::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of a tick in a guest, whose HZ is 100.
    const TICK_NS: u64 = 10_000_000;

    #[test]
    fn what_was_not_measured_is_none() {
        let unmeasured = stats(&AssociationStats::default(), &PeerAddress::default(), TICK_NS);
        assert_eq!((unmeasured.smoothed_rtt_ns, unmeasured.busy_ns), (None, None));
        let (mut peer, mut counters) = (PeerAddress::default(), AssociationStats::default());
        (peer.smoothed_rtt_ticks, peer.congestion_window_bytes) = (10, 4380);
        counters.retransmitted_chunks = 3;
        let measured = stats(&counters, &peer, TICK_NS);
        assert_eq!(measured.smoothed_rtt_ns, Some(100_000_000));
        assert_eq!((measured.retransmitted_packets, measured.congestion_window_bytes), (Some(3), Some(4380)));
    }
}
