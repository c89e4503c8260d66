//! QUIC as a transport of the endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use netwarp_wire::job::{Job, Reconnect, Resume, Transport};
use netwarp_wire::problems::Problems;

use crate::error::Result;
use crate::stack::{StateSource, trusted};
use crate::{Dialer, Listener, Place, Stack};

/// `quic`: QUIC v1 (quinn) over the kernel's UDP.
pub(crate) struct QuicStack;

impl Stack for QuicStack {
    fn is_encrypted(&self) -> bool {
        true
    }

    fn state_source(&self) -> Option<StateSource> {
        Some(StateSource::Gauges)
    }

    fn most_streams(&self, _options: &Transport) -> u32 {
        u32::MAX
    }

    fn resumes(&self) -> &'static [Resume] {
        &[Resume::OneRtt, Resume::ZeroRtt]
    }

    fn reconnects(&self) -> &'static [Reconnect] {
        &[Reconnect::New, Reconnect::Migrate]
    }

    /// Reports an initial window of one packet as a problem: quinn sends a packet only if the window has room for more
    /// than that packet.
    fn check(&self, options: &Transport, problems: &mut Problems) {
        problems.require(options.initial_window_packets != 1, "transport.initial_window_packets", || {
            "is 1, but a QUIC window has at least 2 packets (RFC 9002, section 7.2)".to_owned()
        });
    }

    fn dialer(&self, job: &Job, server: IpAddr, certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>> {
        Ok(Arc::new(super::Dialer::new(job, server, trusted(certificate)?)?))
    }

    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>> {
        Ok(Box::new(super::Listener::bind(job, place)?))
    }
}
