//! Wraps quinn's congestion controls to add two things: room for the last flight of a client's handshake, and
//! publishing a connection's state ([`netwarp_core::connection_gauges`]).
//!
//! Early data may fill the window before the handshake is complete. The server acknowledges none of it before it has
//! the client's Finished, and quinn-proto 0.11 lets the Finished wait for room in the window like any other packet, so
//! both ends would wait forever. RFC 9002 does not let it wait: a client keeps a PTO until the server has acknowledged
//! a packet of its handshake (section 6.2.2.1), and probes are not blocked by the window (section 7). quinn sets no PTO
//! for data that it has not sent yet. So here the window always has room for the first packet of the flight; quinn
//! handles the rest.
//!
//! The state is published here because quinn reports data as sent, acknowledged or lost only to congestion control
//! while the connection is open.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netwarp_core::connection_gauges::ConnectionGauges;
use netwarp_wire::job::Transport;
use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

/// quinn's assumed round-trip time before the first measurement (`TransportConfig::initial_rtt`; RFC 9002, 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Returns shared memory for the state of a new connection between these ports; `None` if connections of this end are
/// not sampled.
pub(super) fn gauges(options: &Transport, port: u16, peer_port: u16) -> Option<Arc<ConnectionGauges>> {
    let gauges = ConnectionGauges::of(port, peer_port)?;
    gauges.send_window_bytes.store(options.send_buffer_bytes, Relaxed);
    Some(gauges)
}

/// Whether the last flight of the client's handshake waits to be sent. The client's TLS session sets this, and the
/// congestion control reads it.
#[derive(Debug, Default)]
pub(super) struct LastFlight(AtomicBool);

impl LastFlight {
    /// Records that the TLS session has written the flight.
    pub(super) fn written(&self) {
        self.0.store(true, Relaxed);
    }
}

/// The extensions of one connection's congestion control.
#[derive(Clone, Default)]
pub(super) struct Additions {
    /// Whether the last flight waits; set for a client that may send early data.
    pub last_flight: Option<Arc<LastFlight>>,
    /// Shared memory for the connection's state, if it is sampled.
    pub gauges: Option<Arc<ConnectionGauges>>,
}

impl Additions {
    /// Wraps the factory `inner`, so that the congestion controls that it makes have these extensions.
    pub(super) fn extend(
        self,
        inner: Arc<dyn ControllerFactory + Send + Sync>,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        if self.last_flight.is_none() && self.gauges.is_none() {
            inner
        } else {
            Arc::new(Factory { inner, added: self })
        }
    }
}

/// A factory of congestion controls with extensions.
struct Factory {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    added: Additions,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, datagram_bytes: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, datagram_bytes);
        let extended = Extended { inner, added: self.added.clone(), datagram_bytes, in_flight_bytes: 0 };
        extended.show_window();
        Box::new(extended)
    }
}

struct Extended {
    inner: Box<dyn Controller>,
    added: Additions,
    datagram_bytes: u16,
    in_flight_bytes: u64,
}

impl Extended {
    fn show_window(&self) {
        let Some(gauges) = &self.added.gauges else { return };
        gauges.cwnd_bytes.store(self.window(), Relaxed);
        // The threshold is the largest possible number until it is set.
        let ssthresh_bytes = self.inner.metrics().ssthresh.filter(|ssthresh_bytes| *ssthresh_bytes < u64::MAX / 2);
        gauges.ssthresh_bytes.store(ssthresh_bytes.unwrap_or(0), Relaxed);
    }
}

impl Controller for Extended {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        if let Some(last_flight) = &self.added.last_flight {
            last_flight.0.store(false, Relaxed);
        }
        if let Some(gauges) = &self.added.gauges {
            gauges.unacked_bytes.fetch_add(bytes, Relaxed);
        }
        self.in_flight_bytes += bytes;
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        if let Some(gauges) = &self.added.gauges {
            gauges.acked_bytes.fetch_add(bytes, Relaxed);
            if rtt.get() != INITIAL_RTT {
                gauges.rtt_ns.store(rtt.get().as_nanos() as u64, Relaxed);
            }
        }
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_acked: Option<u64>) {
        self.in_flight_bytes = in_flight;
        self.inner.on_end_acks(now, in_flight, app_limited, largest_acked);
        if let Some(gauges) = &self.added.gauges {
            gauges.unacked_bytes.store(in_flight, Relaxed);
            gauges.has_sent_all.store(app_limited.into(), Relaxed);
        }
        self.show_window();
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        if let Some(gauges) = &self.added.gauges {
            // quinn reports lost bytes; packets that carry content are full.
            gauges.lost_packets.fetch_add(lost_bytes.div_ceil(self.datagram_bytes.into()), Relaxed);
        }
        self.show_window();
    }

    fn on_mtu_update(&mut self, datagram_bytes: u16) {
        self.datagram_bytes = datagram_bytes;
        self.inner.on_mtu_update(datagram_bytes);
    }

    /// Returns the congestion window: at least enough for the waiting flight's first packet. quinn sends a packet only
    /// if the window has room for more than that packet.
    fn window(&self) -> u64 {
        let is_waiting = self.added.last_flight.as_ref().is_some_and(|last_flight| last_flight.0.load(Relaxed));
        let least = if is_waiting { self.in_flight_bytes + u64::from(self.datagram_bytes) + 1 } else { 0 };
        self.inner.window().max(least)
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), added: self.added.clone(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

#[cfg(test)]
mod tests {
    use quinn::congestion::NewRenoConfig;

    use super::*;

    #[test]
    fn one_packet_finds_room_in_a_full_window() {
        let now = Instant::now();
        let last_flight = Arc::new(LastFlight::default());
        let added = Additions { last_flight: Some(last_flight.clone()), gauges: None };
        let mut controller = added.extend(Arc::new(NewRenoConfig::default())).build(now, 1200);
        let window = controller.window();
        controller.on_sent(now, window, 9);
        assert_eq!(controller.window(), window);
        last_flight.written();
        assert_eq!(controller.window(), window + 1201);
        controller.on_sent(now, 1200, 10);
        assert_eq!(controller.window(), window, "it has been sent");
    }
}
