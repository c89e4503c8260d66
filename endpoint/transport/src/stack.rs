//! The interface of a transport's implementation: what it supports, what it refuses, and its two ends.

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
    /// The memory that a QUIC stack shares ([`netwarp_core::connection_gauges`]).
    Gauges,
}

/// A transport's implementation. Each has a folder, and a line in [`super::stack_of`].
pub trait Stack: Sync {
    /// Returns whether its connections are TCP connections or made of them: with TCP's options, header and segment
    /// size.
    fn uses_tcp(&self) -> bool {
        false
    }

    /// Returns whether a connection is made of subflows that the kernel's path manager opens and closes.
    fn has_subflows(&self) -> bool {
        false
    }

    /// Returns whether its packets are encrypted.
    fn is_encrypted(&self) -> bool {
        false
    }

    /// Returns where the state of its connections can be read, if it can.
    fn state_source(&self) -> Option<StateSource> {
        self.uses_tcp().then_some(StateSource::Tcp)
    }

    /// Returns whether it sends data with the SYN (RFC 7413) when asked to resume.
    fn has_fast_open(&self) -> bool {
        false
    }

    /// Returns whether the kernel tells the peer of a connection's new addresses (RFC 5061).
    fn reconfigures_addresses(&self) -> bool {
        false
    }

    /// Returns whether each message is a packet of its own, which its receiver sees as the router does.
    fn has_message_packets(&self) -> bool {
        false
    }

    /// Returns the sysctl that bounds the memory of all its sockets together, if it is not TCP's or UDP's.
    fn memory_sysctl(&self) -> Option<&'static str> {
        None
    }

    /// Returns the largest number of concurrent streams of a connection. With one, a workload opens several connections
    /// instead.
    fn most_streams(&self, _options: &Transport) -> u32 {
        1
    }

    /// Returns the ways in which a later connection can use an earlier one, besides none.
    fn resumes(&self) -> &'static [Resume] {
        &[]
    }

    /// Returns what can happen to its connections at a handover.
    fn reconnects(&self) -> &'static [Reconnect] {
        &[Reconnect::New]
    }

    /// Notes the options that the stack would silently change, or refuse when the run is half built.
    fn check(&self, options: &Transport, problems: &mut Problems) {
        if self.uses_tcp() {
            tcp::check(options, problems);
        }
    }

    /// Creates the client's end, with the job's options.
    ///
    /// # Arguments
    /// * `server` - the server's address.
    /// * `certificate` - DER of the only server certificate to trust, if the transport has any; see [`trusted`].
    ///
    /// # Errors
    /// The transport does not have an option.
    fn dialer(&self, job: &Job, server: IpAddr, certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>>;

    /// Creates the server's end, listening.
    ///
    /// # Errors
    /// The transport does not have an option; the address cannot be bound.
    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>>;
}

/// Returns the certificate, which clients of encrypted transports need.
///
/// # Errors
/// None was given.
pub(super) fn trusted(certificate: Option<&[u8]>) -> Result<&[u8]> {
    certificate.context("the server's certificate is missing from the order to begin")
}
