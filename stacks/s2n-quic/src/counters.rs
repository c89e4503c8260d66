//! Counts the events that s2n-quic reports about its connections.

use std::time::Duration;

use netwarp_role::{ConnectionRecord, Job, Side, Stats, nanoseconds, now_ns};
use s2n_quic::Connection;
use s2n_quic::provider::event::events::{PacketLost, RecoveryMetrics};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber};

/// A subscriber to s2n-quic's events, for all connections of an endpoint.
pub(crate) struct Counting;

/// The counts of one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters {
    /// When s2n-quic began the connection, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) begun_ns: u64,
    lost_packets: u64,
    last: Option<Metrics>,
}

#[derive(Debug, Clone, Copy)]
struct Metrics {
    smoothed_rtt: Duration,
    min_rtt: Duration,
    congestion_window_bytes: u32,
}

impl Subscriber for Counting {
    type ConnectionContext = Counters;

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) -> Counters {
        Counters { begun_ns: now_ns(), lost_packets: 0, last: None }
    }

    fn on_packet_lost(&mut self, counted: &mut Counters, _: &ConnectionMeta, lost: &PacketLost) {
        counted.lost_packets += u64::from(!lost.is_mtu_probe);
    }

    fn on_recovery_metrics(&mut self, counted: &mut Counters, _: &ConnectionMeta, metrics: &RecoveryMetrics) {
        counted.last = Some(Metrics {
            smoothed_rtt: metrics.smoothed_rtt,
            min_rtt: metrics.min_rtt,
            congestion_window_bytes: metrics.congestion_window,
        });
    }
}

impl Counters {
    /// Returns the counts of a connection; `None` if s2n-quic no longer has them.
    pub(crate) fn of(connection: &Connection) -> Option<Self> {
        connection.query_event_context(|counted: &Self| *counted).ok()
    }

    /// Returns the record of the connection.
    pub(crate) fn record(&self, job: &Job, side: Side, transfer: u32, times_ns: (u64, u64)) -> ConnectionRecord {
        let last = self.last;
        let stats = Stats {
            retransmitted_packets: Some(self.lost_packets),
            smoothed_rtt_ns: last.map(|last| nanoseconds(last.smoothed_rtt)),
            min_rtt_ns: last.map(|last| nanoseconds(last.min_rtt)),
            congestion_window_bytes: last.map(|last| last.congestion_window_bytes.into()),
            ..Stats::default()
        };
        job.connection_record(side, transfer, times_ns, stats)
    }
}
