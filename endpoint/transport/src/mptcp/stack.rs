//! Multipath TCP as a transport of the endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use netwarp_wire::job::{Job, Reconnect};

use super::Mptcp;
use crate::error::Result;
use crate::{Dialer, Listener, Place, Stack, kernel};

/// `mptcp`: the kernel's Multipath TCP.
pub(crate) struct MptcpStack;

impl Stack for MptcpStack {
    fn uses_tcp(&self) -> bool {
        true
    }

    fn has_subflows(&self) -> bool {
        true
    }

    fn reconnects(&self) -> &'static [Reconnect] {
        &[Reconnect::Migrate]
    }

    fn dialer(&self, job: &Job, _server: IpAddr, _certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>> {
        Ok(Arc::new(kernel::Dialer::new(Mptcp::new(job), job)))
    }

    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>> {
        Ok(Box::new(kernel::Listener::bind(Mptcp::new(job), place)?))
    }
}
