//! A congestion control that also updates a connection's gauges. quinn reports data as sent, acknowledged or lost to
//! nothing else while the connection is open.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use netwarp_core::gauges::ConnectionGauges;
use netwarp_wire::job::Transport;
use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

/// quinn's assumed round-trip time before the first measurement (`TransportConfig::initial_rtt`; RFC 9002, 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Returns the gauges of a new connection, if this end is sampled.
pub(super) fn gauges(options: &Transport, port: u16, peer_port: u16) -> Option<Arc<ConnectionGauges>> {
    let gauges = ConnectionGauges::of(port, peer_port)?;
    gauges.send_window_bytes.store(options.send_buffer_bytes, Relaxed);
    Some(gauges)
}

/// Makes congestion controls that update a connection's gauges.
pub(super) struct WithGauges {
    /// Makes the congestion controls that do the work.
    pub inner: Arc<dyn ControllerFactory + Send + Sync>,
    /// The gauges of the connection.
    pub gauges: Arc<ConnectionGauges>,
}

impl ControllerFactory for WithGauges {
    fn build(self: Arc<Self>, now: Instant, datagram_bytes: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, datagram_bytes);
        let gauged = Gauged { inner, gauges: self.gauges.clone(), datagram_bytes };
        gauged.show_window();
        Box::new(gauged)
    }
}

struct Gauged {
    inner: Box<dyn Controller>,
    gauges: Arc<ConnectionGauges>,
    datagram_bytes: u16,
}

impl Gauged {
    fn show_window(&self) {
        let metrics = self.inner.metrics();
        self.gauges.cwnd_bytes.store(self.inner.window(), Relaxed);
        // The threshold is the largest possible number until it is set.
        let ssthresh_bytes = metrics.ssthresh.filter(|ssthresh_bytes| *ssthresh_bytes < u64::MAX / 2);
        self.gauges.ssthresh_bytes.store(ssthresh_bytes.unwrap_or(0), Relaxed);
    }
}

impl Controller for Gauged {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.gauges.unacked_bytes.fetch_add(bytes, Relaxed);
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.gauges.acked_bytes.fetch_add(bytes, Relaxed);
        if rtt.get() != INITIAL_RTT {
            self.gauges.rtt_ns.store(rtt.get().as_nanos() as u64, Relaxed);
        }
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_acked: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_acked);
        self.gauges.unacked_bytes.store(in_flight, Relaxed);
        self.gauges.has_sent_all.store(app_limited.into(), Relaxed);
        self.show_window();
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        // quinn reports lost bytes; packets that carry content are full.
        self.gauges.lost_packets.fetch_add(lost_bytes.div_ceil(self.datagram_bytes.into()), Relaxed);
        self.show_window();
    }

    fn on_mtu_update(&mut self, datagram_bytes: u16) {
        self.datagram_bytes = datagram_bytes;
        self.inner.on_mtu_update(datagram_bytes);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let (inner, gauges) = (self.inner.clone_box(), self.gauges.clone());
        Box::new(Self { inner, gauges, datagram_bytes: self.datagram_bytes })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
