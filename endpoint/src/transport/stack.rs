//! What the endpoint asks of the implementation of a transport: what it can do, what it refuses, and both its ends.

use std::net::IpAddr;
use std::sync::Arc;

use super::error::{Context as _, Result};
use super::{Dialer, Listener, Place};
use crate::job::{Job, Reconnect, Resume, Transport};
use crate::problems::Problems;

/// One transport's implementation. Each is a folder, and has a line in [`TransportKind::stack`].
///
/// [`TransportKind::stack`]: crate::job::TransportKind::stack
pub(crate) trait Stack: Sync {
    /// Whether its connections are TCP's, or made of TCP's: with TCP's options, header and segment size.
    fn uses_tcp(&self) -> bool {
        false
    }

    /// Whether a connection is made of subflows that the kernel's path manager opens and closes.
    fn has_subflows(&self) -> bool {
        false
    }

    /// Whether it sends data with the SYN (RFC 7413) when asked to resume.
    fn has_fast_open(&self) -> bool {
        false
    }

    /// Whether a connection tells its peer of new addresses by messages of the kernel's (RFC 5061).
    fn reconfigures_addresses(&self) -> bool {
        false
    }

    /// Whether each message is a packet of its own, which its receiver sees as the router does.
    fn has_message_packets(&self) -> bool {
        false
    }

    /// The sysctl that bounds the memory of all its sockets together, where those of TCP and UDP do not.
    fn memory_sysctl(&self) -> Option<&'static str> {
        None
    }

    /// The most streams a connection has at once. Of transports with one, a workload opens several connections.
    fn most_streams(&self, _options: &Transport) -> u32 {
        1
    }

    /// The ways in which a later connection can use an earlier one, besides none.
    fn resumes(&self) -> &'static [Resume] {
        &[]
    }

    /// What can become of its connections at a handover.
    fn reconnects(&self) -> &'static [Reconnect] {
        &[Reconnect::New]
    }

    /// Notes the options that the stack would change in silence, or refuse when the run is half built.
    fn check(&self, options: &Transport, problems: &mut Problems);

    /// The client's end, with the job's options.
    ///
    /// # Arguments
    /// * `server` - the server's address.
    /// * `certificate` - DER of the one server certificate to trust, where the transport has any; see [`trusted`].
    ///
    /// # Errors
    /// Options the transport does not have.
    fn dialer(&self, job: &Job, server: IpAddr, certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>>;

    /// The server's end, listening.
    ///
    /// # Errors
    /// Options the transport does not have; an address that cannot be bound.
    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>>;
}

/// The certificate, which clients of encrypted transports need.
///
/// # Errors
/// None was given.
pub(super) fn trusted(certificate: Option<&[u8]>) -> Result<&[u8]> {
    certificate.context("the server's certificate is missing from the order to begin")
}
