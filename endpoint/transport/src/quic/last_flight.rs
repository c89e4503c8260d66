//! Keeps room in the congestion window for the last flight of a client's handshake.
//!
//! Early data may fill the window before the handshake is complete. The server acknowledges none of it before it has
//! the client's Finished, and quinn-proto 0.11 lets the Finished wait for room in the window like any other packet, so
//! both ends would wait forever. RFC 9002 does not let it wait: a client keeps a PTO until the server has acknowledged
//! a packet of its handshake (section 6.2.2.1), and probes are not blocked by the window (section 7). quinn sets no PTO
//! for data that it has not sent yet. So here the window has room for the flight at once, for one packet; quinn handles
//! the rest.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

/// Whether the flight waits to be sent. The client's TLS session sets this, and the congestion control reads it.
#[derive(Debug, Default)]
pub(crate) struct LastFlight(AtomicBool);

impl LastFlight {
    /// Notes that the TLS session has written the flight.
    pub(crate) fn written(&self) {
        self.0.store(true, Relaxed);
    }
}

/// Makes congestion controls that have room for a connection's last flight.
pub(crate) struct WithRoom {
    /// Makes the congestion controls that do the work.
    pub inner: Arc<dyn ControllerFactory + Send + Sync>,
    /// The last flight of the connection.
    pub last_flight: Arc<LastFlight>,
}

impl ControllerFactory for WithRoom {
    fn build(self: Arc<Self>, now: Instant, datagram_bytes: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, datagram_bytes);
        let last_flight = self.last_flight.clone();
        Box::new(Room { inner, last_flight, datagram_bytes, in_flight_bytes: 0 })
    }
}

struct Room {
    inner: Box<dyn Controller>,
    last_flight: Arc<LastFlight>,
    datagram_bytes: u16,
    in_flight_bytes: u64,
}

impl Controller for Room {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.last_flight.0.store(false, Relaxed);
        self.in_flight_bytes += bytes;
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_acked: Option<u64>) {
        self.in_flight_bytes = in_flight;
        self.inner.on_end_acks(now, in_flight, app_limited, largest_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, datagram_bytes: u16) {
        self.datagram_bytes = datagram_bytes;
        self.inner.on_mtu_update(datagram_bytes);
    }

    /// quinn sends a packet only if the window has room for more than that packet.
    fn window(&self) -> u64 {
        let window = self.inner.window();
        if !self.last_flight.0.load(Relaxed) {
            return window;
        }
        window.max(self.in_flight_bytes + u64::from(self.datagram_bytes) + 1)
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let (inner, last_flight) = (self.inner.clone_box(), self.last_flight.clone());
        let Self { datagram_bytes, in_flight_bytes, .. } = *self;
        Box::new(Self { inner, last_flight, datagram_bytes, in_flight_bytes })
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
        let factory = WithRoom { inner: Arc::new(NewRenoConfig::default()), last_flight: last_flight.clone() };
        let mut controller = Arc::new(factory).build(now, 1200);
        let window = controller.window();
        controller.on_sent(now, window, 9);
        assert_eq!(controller.window(), window);
        last_flight.written();
        assert_eq!(controller.window(), window + 1201);
        controller.on_sent(now, 1200, 10);
        assert_eq!(controller.window(), window, "it has been sent");
    }
}
