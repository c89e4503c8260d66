//! `mptcp`: the kernel's Multipath TCP (RFC 8684), with its scheduler and path manager.
//!
//! The client connects to the server's address on the first path. The server announces its other addresses, and the
//! client's path manager opens a subflow to each, over the path that this address belongs to. The options are TCP's and
//! apply to each subflow.

mod info;
mod stack;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use netwarp_core::sink::Sink;
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Job, Resume, Transport, TransportKind};

pub(super) use self::stack::MptcpStack;
use super::Report;
use super::byte_stream::{ByteStream, ReadyStream};
use super::error::{Context as _, Result};
use super::kernel::Protocol;
use super::socket::Socket;
use super::tcp::{self, TcpStream};

/// MPTCP with a job's options.
#[derive(Debug, Clone)]
pub(super) struct Mptcp {
    options: Transport,
    paths: usize,
}

impl Mptcp {
    /// Takes the options from the job.
    pub(super) fn new(job: &Job) -> Self {
        Self { options: job.only().transport.clone(), paths: job.paths.len() }
    }
}

impl Protocol for Mptcp {
    type Stream = MptcpStream;

    const NAME: &'static str = "mptcp";

    /// `mptcp_setsockopt` refuses SO_ATTACH_FILTER, so strangers are turned away after accepting.
    const TAKES_FILTERS: bool = false;

    fn socket(&self, peer: SocketAddr) -> Result<Socket> {
        tcp::socket(peer, socket2::Protocol::MPTCP, &self.options)
            .context("creating an MPTCP socket (the kernel needs CONFIG_MPTCP and net.mptcp.enabled = 1)")
    }

    /// Binds to any address: subflows arrive at the addresses of other paths, where the kernel looks for a listening
    /// socket.
    fn bind(&self, socket: &Socket, address: SocketAddr) -> Result<()> {
        let address = match self.paths {
            1 => address,
            _ => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port()),
        };
        socket.bind(&address.into()).context("binding a socket")
    }

    fn can_migrate(socket: &Socket) -> bool {
        info::is_fully_established(socket)
    }

    fn establish(&self, socket: Arc<Socket>) -> Result<Vec<MptcpStream>> {
        let options = self.options.clone();
        Ok(vec![MptcpStream { stream: TcpStream::new(socket.clone(), options.clone()), socket, options }])
    }
}

/// An MPTCP connection. Its bytes move by the same calls as TCP's.
#[derive(Debug)]
pub(super) struct MptcpStream {
    stream: TcpStream,
    socket: Arc<Socket>,
    options: Transport,
}

impl ReadyStream for MptcpStream {
    fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.try_receive(buffer)
    }

    fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.try_send(bytes)
    }
}

impl ByteStream for MptcpStream {
    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.stream.send(message)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.stream.receive(buffer)
    }

    fn send_content(&mut self, content: &mut Reader) -> Result<()> {
        self.stream.send_content(content)
    }

    fn receive_content(&mut self, sink: &mut Sink) -> Result<()> {
        self.stream.receive_content(sink)
    }

    fn report(&self) -> Result<Report> {
        if info::has_fallen_back(&self.socket) {
            return tcp::report(TransportKind::Tcp, &self.socket, &self.options);
        }
        let subflows = info::subflows(&self.socket)?;
        subflows.iter().try_for_each(|subflow| subflow.check_options(&self.options.tcp))?;
        let settings = tcp::settings(TransportKind::Mptcp, &self.socket, &self.options, &subflows[0])?;
        Ok(Report { settings, stats: info::stats(&subflows), resumed: Resume::None })
    }
}
