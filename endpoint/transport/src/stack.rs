//! The interface of a transport's implementation: its supported and refused options, and the creation of its client and
//! server.

use std::net::IpAddr;
use std::sync::Arc;

use netwarp_wire::job::{Job, Reconnect, Resume, Transport};
use netwarp_wire::problems::Problems;

use super::error::{Context as _, Result};
use super::{Dialer, Listener, Place, tcp};

/// The source from which the state of connections is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateSource {
    /// The kernel's `sock_diag`, for TCP.
    Tcp,
    /// The kernel's `sock_diag`, for SCTP.
    Sctp,
    /// Memory that a QUIC stack shares ([`netwarp_core::connection_gauges`]).
    Gauges,
}

/// A transport's implementation. Each has a folder, and a line in [`super::stack_of`].
pub trait Stack: Sync {
    /// Returns whether connections are TCP connections or consist of them, with TCP's options, header and segment size.
    fn uses_tcp(&self) -> bool {
        false
    }

    /// Returns whether a connection is made of subflows that the kernel's path manager opens and closes.
    fn has_subflows(&self) -> bool {
        false
    }

    /// Returns whether the transport encrypts data.
    fn is_encrypted(&self) -> bool {
        false
    }

    /// Returns the source from which the state of connections can be read; `None` if it cannot be read.
    fn state_source(&self) -> Option<StateSource> {
        self.uses_tcp().then_some(StateSource::Tcp)
    }

    /// Returns whether a client that resumes sends data with the SYN (TCP Fast Open, RFC 7413).
    fn has_fast_open(&self) -> bool {
        false
    }

    /// Returns whether the kernel tells the peer of a connection's new addresses (RFC 5061).
    fn reconfigures_addresses(&self) -> bool {
        false
    }

    /// Returns whether each message is a separate packet, so that the receiver sees the same packets as the router.
    fn has_message_packets(&self) -> bool {
        false
    }

    /// Returns the sysctl that limits the memory of all sockets of the stack's protocol together; `None` for TCP and
    /// UDP, whose sysctls are known to every guest.
    fn memory_sysctl(&self) -> Option<&'static str> {
        None
    }

    /// Returns the largest number of concurrent streams of a connection. With one, a workload opens several connections
    /// instead.
    fn most_streams(&self, _options: &Transport) -> u32 {
        1
    }

    /// Returns the supported ways in which a connection can resume the session of an earlier one.
    fn resumes(&self) -> &'static [Resume] {
        &[]
    }

    /// Returns the job's choices for connections at a handover that this transport supports.
    fn reconnects(&self) -> &'static [Reconnect] {
        &[Reconnect::New]
    }

    /// Adds to `problems` the options that the stack would silently change, or refuse only during the run.
    fn check(&self, options: &Transport, problems: &mut Problems) {
        if self.uses_tcp() {
            tcp::check(options, problems);
        }
    }

    /// Creates the client, with the job's options.
    ///
    /// # Arguments
    /// * `server` - the server's address.
    /// * `certificate` - the only server certificate to trust, in DER, if the transport uses certificates; see
    ///   [`trusted`].
    ///
    /// # Errors
    /// The transport does not have an option of the job.
    fn dialer(&self, job: &Job, server: IpAddr, certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>>;

    /// Creates the server, which listens.
    ///
    /// # Errors
    /// The transport does not have an option of the job; the address cannot be bound.
    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>>;
}

/// Returns the given certificate, which clients of encrypted transports need.
///
/// # Errors
/// None was given.
pub(super) fn trusted(certificate: Option<&[u8]>) -> Result<&[u8]> {
    certificate.context("the server's certificate is missing from the order to begin")
}
