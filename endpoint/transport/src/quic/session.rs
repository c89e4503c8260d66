//! Observes the TLS sessions of QUIC handshakes, because quinn reports whether early data was accepted, but not whether
//! a handshake was resumed.

use std::any::Any;
use std::sync::Arc;

use netwarp_wire::job::Resume;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn::{ConnectError, ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

use super::congestion::LastFlight;
use crate::tickets;

/// A TLS configuration whose sessions tell when the last flight of a handshake waits to be sent ([`LastFlight`]).
pub(crate) struct Watched<C> {
    config: Arc<C>,
    last_flight: Arc<LastFlight>,
}

impl<C> Watched<C> {
    /// Creates the configuration of a server. The last flight of its handshake cannot be blocked by the congestion
    /// window, so it is not observed.
    pub(crate) fn server(config: C) -> Self {
        Self { config: Arc::new(config), last_flight: Arc::default() }
    }

    /// Creates the configuration of one connection of a client. `last_flight` is set when the last flight has been
    /// written.
    pub(crate) fn client(config: Arc<C>, last_flight: Arc<LastFlight>) -> Self {
        Self { config, last_flight }
    }
}

impl ClientConfig for Watched<QuicClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self.config.clone().start_session(version, server_name, parameters)?;
        Ok(Box::new(WatchedSession::new(inner, Side::Client, self.last_flight.clone())))
    }
}

impl ServerConfig for Watched<QuicServerConfig> {
    fn initial_keys(&self, version: u32, destination: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.config.initial_keys(version, destination)
    }

    fn retry_tag(&self, version: u32, destination: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.config.retry_tag(version, destination, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        let inner = self.config.clone().start_session(version, parameters);
        Box::new(WatchedSession::new(inner, Side::Server, self.last_flight.clone()))
    }
}

struct WatchedSession {
    inner: Box<dyn Session>,
    side: Side,
    resumes: bool,
    verifies: bool,
    last_flight: Arc<LastFlight>,
}

impl WatchedSession {
    fn new(inner: Box<dyn Session>, side: Side, last_flight: Arc<LastFlight>) -> Self {
        Self { inner, side, resumes: false, verifies: false, last_flight }
    }

    fn resumed(&self) -> Resume {
        let (early, resumed) = match self.side {
            Side::Client => (self.inner.early_data_accepted() == Some(true), !self.verifies),
            // The server has keys for early data only after accepting it.
            Side::Server => (self.inner.early_crypto().is_some(), self.resumes),
        };
        match (resumed, early) {
            (true, true) => Resume::ZeroRtt,
            (true, false) => Resume::OneRtt,
            (false, _) => Resume::None,
        }
    }
}

impl Session for WatchedSession {
    fn initial_keys(&self, destination: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(destination, side)
    }

    /// Returns, once the handshake is complete, a [`Resume`]: whether and how it resumed an earlier session.
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data().map(|_| Box::new(self.resumed()) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let was_handshaking = self.inner.is_handshaking();
        let (read, step) = tickets::watching(|| self.inner.read_handshake(bytes));
        self.resumes |= step.resumes;
        self.verifies |= step.verifies;
        if was_handshaking && !self.inner.is_handshaking() {
            self.last_flight.written();
        }
        read
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(buffer)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, destination: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(destination, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
