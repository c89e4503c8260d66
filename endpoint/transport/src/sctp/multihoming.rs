//! SCTP multihoming with an address on every path (RFC 9260, 6.4): binds sockets to these addresses.
//!
//! The kernel does the rest: the first address of each end is the primary, the others are probed by heartbeats, and
//! data moves to one of them when the primary times out.
//!
//! No data is sent to an unverified address (RFC 9260, 5.4), and the first heartbeat that could verify an address is
//! sent after RTO.Initial, plus or minus up to half of it at random (`sctp_transport_timeout`). So a path that is cut
//! in the first seconds of an association is not failed over after one time-out, but only when the other path is
//! verified.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;

use libc::{c_int, c_void, socklen_t};
use netwarp_core::addresses::Family;
use netwarp_wire::job::Job;

use super::api::{SCTP_BINDX_ADD, SOL_SCTP, packed};
use crate::error::{Context as _, Result, bail};
use crate::socket::Socket;

/// The addresses of both ends of a multihomed job, one for each path; empty for other jobs.
#[derive(Debug, Clone, Default)]
pub(super) struct Addresses {
    client: Vec<IpAddr>,
    server: Vec<IpAddr>,
}

impl Addresses {
    /// Returns the addresses of a job's two ends: one for each path if it is multihomed, otherwise none.
    pub(super) fn of(job: &Job) -> Self {
        if !job.only().transport.sctp.multihomed {
            return Self::default();
        }
        let (family, paths) = (Family::of(job), || (0..=u8::MAX).zip(&job.paths).map(|(path, _)| path));
        Self {
            client: paths().map(|path| family.client(path)).collect(),
            server: paths().map(|path| family.server(path)).collect(),
        }
    }

    /// Binds a server's socket to `address`, the primary, and to all other addresses.
    ///
    /// # Errors
    /// As `bind(2)`; `address` is not that of the first path.
    pub(super) fn bind_server(&self, socket: &Socket, address: SocketAddr) -> Result<()> {
        let Some(&primary) = self.server.first() else {
            return socket.bind(&address.into()).context("binding a socket");
        };
        if address.ip() != primary {
            bail!("a multihomed server listens at {primary}, the address it has on the first path, not at {address}");
        }
        change_addresses(socket, SCTP_BINDX_ADD, &self.server, address.port())
    }

    /// Binds a client's socket to all its addresses, at any port; does nothing if it has only one.
    pub(super) fn bind_client(&self, socket: &Socket) -> Result<()> {
        if self.client.is_empty() { Ok(()) } else { change_addresses(socket, SCTP_BINDX_ADD, &self.client, 0) }
    }
}

/// Adds addresses to a socket or removes them: `option` is [`SCTP_BINDX_ADD`] or
/// [`SCTP_BINDX_REMOVE`](super::api::SCTP_BINDX_REMOVE). The kernel tells the peer of an open association.
pub(super) fn change_addresses(socket: &Socket, option: c_int, addresses: &[IpAddr], port: u16) -> Result<()> {
    let packed: Vec<u8> = addresses.iter().flat_map(|&address| packed(SocketAddr::new(address, port))).collect();
    let (start, length) = (packed.as_ptr().cast::<c_void>(), packed.len() as socklen_t);
    // SAFETY: `packed` is valid for reads of its length and outlives the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), SOL_SCTP, option, start, length) };
    if result < 0 {
        return Err(std::io::Error::last_os_error()).with_context(|| {
            let change =
                if option == SCTP_BINDX_ADD { "binding an SCTP socket to" } else { "taking from an SCTP socket" };
            format!("{change} {addresses:?}, port {port}")
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    fn job(multihomed: bool) -> Job {
        let mut job = golden::job("bulk-sctp-multihomed");
        job.paths = vec![job.paths[0].clone(); 2];
        job.only_mut().transport.sctp.multihomed = multihomed;
        job
    }

    #[test]
    fn each_end_has_an_address_a_path_if_it_is_multihomed() {
        let addresses = Addresses::of(&job(true));
        assert_eq!(addresses.client, [IpAddr::from([10, 0, 1, 1]), IpAddr::from([10, 1, 1, 1])]);
        assert_eq!(addresses.server, [IpAddr::from([10, 0, 2, 1]), IpAddr::from([10, 1, 2, 1])]);
        assert!(Addresses::of(&job(false)).client.is_empty());
    }

    #[test]
    fn a_multihomed_server_elsewhere_is_refused() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let elsewhere = "127.0.0.1:4433".parse().expect("an address");
        let message = Addresses::of(&job(true)).bind_server(&Socket::from(socket), elsewhere).unwrap_err().to_string();
        assert!(message.contains("10.0.2.1"), "{message}");
    }
}
