//! `mptcp`: the kernel's Multipath TCP (RFC 8684), with its scheduler and path manager.
//!
//! The client connects to the server's address on the first path. The server announces its other addresses, and the
//! client's path manager opens a subflow to each, over the path that this address belongs to. The options are TCP's and
//! apply to each subflow.

mod info;
mod stack;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use netwarp_core::addresses::unspecified;
use netwarp_wire::job::{Job, Resume, Transport, TransportKind};

pub(super) use self::stack::MptcpStack;
use super::Report;
use super::error::{Context as _, Result};
use super::kernel::Protocol;
use super::socket::Socket;
use super::tcp::{self, TcpStream};

/// How long a sending call waits before it checks whether the connection still exists. When the last subflow has ended,
/// the kernel closes the connection after a minute (`net.mptcp.close_timeout`), but wakes no sender that waits for room
/// (`mptcp_sendmsg` in `net/mptcp/protocol.c`).
const SENDS_FOR: Duration = Duration::from_secs(60);

/// The MPTCP protocol with a job's options.
#[derive(Debug, Clone)]
pub(super) struct Mptcp {
    options: Transport,
    paths: usize,
}

impl Mptcp {
    /// Creates the protocol with the job's options.
    pub(super) fn new(job: &Job) -> Self {
        Self { options: job.only().transport.clone(), paths: job.paths.len() }
    }
}

impl Protocol for Mptcp {
    type Stream = TcpStream;

    const NAME: &'static str = "mptcp";

    /// `mptcp_setsockopt` refuses SO_ATTACH_FILTER, so connections from other hosts than the peer are closed after
    /// accepting them.
    const TAKES_FILTERS: bool = false;

    /// The peer's DATA_FIN may arrive together with data that the receiver has already. Then the kernel never
    /// acknowledges it (`get_mapping_status` in `net/mptcp/subflow.c` records it, but only code that moves data looks
    /// at it again, and repetitions are ignored): the receiver has everything, but the connection is never closed.
    const CLOSES_WITHIN: Option<Duration> = Some(tcp::PATIENCE);

    fn socket(&self, peer: SocketAddr) -> Result<Socket> {
        tcp::socket(peer, socket2::Protocol::MPTCP, &self.options)
            .context("creating an MPTCP socket (the kernel needs CONFIG_MPTCP and net.mptcp.enabled = 1)")
    }

    /// Binds to all addresses: subflows arrive at the addresses of other paths, where the kernel looks for a listening
    /// socket.
    fn bind(&self, socket: &Socket, address: SocketAddr) -> Result<()> {
        let address = match self.paths {
            1 => address,
            _ => SocketAddr::new(unspecified(address.ip()), address.port()),
        };
        socket.bind(&address.into()).context("binding a socket")
    }

    fn can_migrate(socket: &Socket) -> bool {
        info::is_fully_established(socket)
    }

    fn establish(&self, socket: Arc<Socket>) -> Result<Vec<TcpStream>> {
        socket.set_write_timeout(Some(SENDS_FOR)).context("setting SO_SNDTIMEO")?;
        Ok(vec![TcpStream { socket, options: self.options.clone(), report }])
    }
}

/// Returns the connection's settings and counters: MPTCP's, or TCP's if the connection has fallen back to it.
fn report(socket: &Socket, options: &Transport) -> Result<Report> {
    if info::has_fallen_back(socket) {
        return tcp::report(TransportKind::Tcp, socket, options);
    }
    let subflows = info::subflows(socket)?;
    subflows.iter().try_for_each(|subflow| subflow.check_options(&options.tcp))?;
    let settings = tcp::settings(TransportKind::Mptcp, socket, options, &subflows[0])?;
    Ok(Report { settings, stats: info::stats(&subflows), resumed: Resume::None })
}
