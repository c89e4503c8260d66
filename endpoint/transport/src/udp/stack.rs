//! UDP as a transport of the endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use netwarp_wire::job::{Job, Transport};
use netwarp_wire::problems::Problems;

use crate::error::Result;
use crate::{Dialer, Listener, Place, Stack};

/// `udp`: the kernel's UDP.
pub(crate) struct UdpStack;

impl Stack for UdpStack {
    fn has_message_packets(&self) -> bool {
        true
    }

    fn check(&self, options: &Transport, problems: &mut Problems) {
        problems.require(options.mss_bytes.is_none(), "transport.mss_bytes", || {
            "is given, but UDP sends each message as it is".to_owned()
        });
    }

    fn dialer(&self, job: &Job, _server: IpAddr, _certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>> {
        Ok(Arc::new(super::Dialer::new(job)))
    }

    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>> {
        Ok(Box::new(super::Listener::bind(job, place)?))
    }
}
