//! Resumption of TLS 1.3 sessions (RFC 8446, 2.2), for TLS and for QUIC: stores the session tickets of each end, and
//! detects resumed handshakes, in which no certificate is verified.
//!
//! Every connection leaves one ticket, and every ticket serves one connection, oldest first. The server stores the
//! sessions, as rustls requires for early data, and forgets a ticket that was used. So a replayed first flight is
//! answered with a full handshake, and its early data is dropped.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rustls::NamedGroup;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// The largest number of tickets kept: more than the connections of one transfer leave for the next.
const SESSIONS: usize = 1024;

thread_local! {
    static RESUMES: Cell<bool> = const { Cell::new(false) };
    static VERIFIES: Cell<bool> = const { Cell::new(false) };
}

/// The outcome of a handshake step, for stacks that do not report whether the handshake was resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Whether a server found the session that belongs to a client's ticket.
    pub(crate) resumes: bool,
    /// Whether a client verified a certificate, which a resumed handshake does not have.
    pub(crate) verifies: bool,
}

/// Runs a step of a handshake on this thread. Returns its result, and whether the step used the session store or the
/// certificate verifier of this module.
pub(crate) fn watching<T>(step: impl FnOnce() -> T) -> (T, Step) {
    RESUMES.set(false);
    VERIFIES.set(false);
    let result = step();
    (result, Step { resumes: RESUMES.get(), verifies: VERIFIES.get() })
}

/// A client's session tickets from one server.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    tickets: Mutex<VecDeque<Tls13ClientSessionValue>>,
}

impl ClientSessionStore for Tickets {
    /// Does nothing: all connections offer the same groups, and the server takes the first.
    fn set_kx_hint(&self, _server: ServerName<'static>, _group: NamedGroup) {}

    fn kx_hint(&self, _server: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    /// Does nothing: only TLS 1.3 is used.
    fn set_tls12_session(&self, _server: ServerName<'static>, _session: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _server: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.tickets.lock().expect("no holder panics").push_back(ticket);
    }

    fn take_tls13_ticket(&self, _server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.tickets.lock().expect("no holder panics").pop_front()
    }
}

/// A server's stored sessions.
#[derive(Debug)]
pub(crate) struct Sessions(Arc<ServerSessionMemoryCache>);

impl Default for Sessions {
    fn default() -> Self {
        Self(ServerSessionMemoryCache::new(SESSIONS))
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, session: Vec<u8>) -> bool {
        self.0.put(key, session)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.0.take(key);
        RESUMES.set(RESUMES.get() || session.is_some());
        session
    }

    fn can_cache(&self) -> bool {
        self.0.can_cache()
    }
}

/// Verifies certificates with another verifier, and records that it did.
#[derive(Debug)]
pub(crate) struct Verifier(pub Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        VERIFIES.set(true);
        self.0.verify_server_cert(certificate, intermediates, server, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
