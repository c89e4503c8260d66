//! TLS over TCP as a transport of the endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use netwarp_wire::job::{Job, Resume};

use super::{Client, Server};
use crate::error::Result;
use crate::identity::Identity;
use crate::stack::trusted;
use crate::{Dialer, Listener, Place, Stack, kernel};

/// `tls`: TLS 1.3 (rustls) over the kernel's TCP.
pub(crate) struct TlsStack;

impl Stack for TlsStack {
    fn uses_tcp(&self) -> bool {
        true
    }

    fn is_encrypted(&self) -> bool {
        true
    }

    fn resumes(&self) -> &'static [Resume] {
        &[Resume::OneRtt, Resume::ZeroRtt]
    }

    fn dialer(&self, job: &Job, _server: IpAddr, certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>> {
        Ok(Arc::new(kernel::Dialer::new(Client::new(job, trusted(certificate)?)?, job)))
    }

    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>> {
        Ok(Box::new(kernel::Listener::bind(Server::new(job, Identity::of_process(job)?)?, place)?))
    }
}
