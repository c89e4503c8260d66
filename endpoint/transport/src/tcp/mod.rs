//! `tcp`: the kernel's TCP.
//!
//! The kernel tunes the size of buffers automatically; the orchestrator sets their limits in each namespace
//! (`tcp_rmem`, `tcp_wmem`), and the initial window as an attribute of the route. Setting `SO_RCVBUF` here would switch
//! auto-tuning off.

pub(super) mod info;
mod stack;

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use libc::c_int;
use netwarp_core::content_sink::Sink;
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Job, Resume, Transport, TransportKind};
use netwarp_wire::record::Settings;
use socket2::{Domain, Type};

use self::info::TcpInfo;
pub(super) use self::stack::{TcpStack, check};
use super::Report;
use super::byte_stream::{ByteStream, ReadyStream};
use super::error::{Context as _, Error, Result};
use super::kernel::Protocol;
use super::socket::Socket;
use super::timestamped_recv;

/// How long Linux's TCP retransmits unacknowledged data (`tcp_retries2`, 15, and a time-out of 200 ms that doubles up
/// to two minutes; Documentation/networking/ip-sysctl.rst).
pub(super) const PATIENCE: Duration = Duration::from_millis(924_600);

/// How many bytes are received and hashed at once.
const RECEIVE_BLOCK_BYTES: u64 = 4 << 20;

/// The TCP protocol with a job's options.
#[derive(Debug)]
pub(super) struct Tcp {
    options: Transport,
    /// Whether a connection has requested the server's Fast Open cookie already.
    has_asked: AtomicBool,
}

impl Tcp {
    /// Creates the protocol with the job's options.
    pub(super) fn new(job: &Job) -> Self {
        Self { options: job.only().transport.clone(), has_asked: AtomicBool::new(false) }
    }
}

impl Protocol for Tcp {
    type Stream = TcpStream;

    const NAME: &'static str = "tcp";

    fn socket(&self, peer: SocketAddr) -> Result<Socket> {
        socket(peer, socket2::Protocol::TCP, &self.options)
    }

    /// Sets up Fast Open (RFC 7413): `connect(2)` returns at once if the kernel has the server's cookie, and the first
    /// bytes are sent with the SYN; without a cookie it connects as usual and requests one. Only one connection of a
    /// transfer requests the cookie, so that only connections of later transfers can use it.
    fn prepare_to_connect(&self, socket: &Socket, may_resume: bool) -> Result<()> {
        if self.options.resume == Resume::ZeroRtt && (may_resume || !self.has_asked.swap(true, Relaxed)) {
            socket.set(libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, &c_int::from(true), "TCP_FASTOPEN_CONNECT")?;
        }
        Ok(())
    }

    fn prepare_to_accept(&self, socket: &Socket) -> Result<()> {
        if self.options.resume == Resume::ZeroRtt {
            socket.set(libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &libc::SOMAXCONN, "TCP_FASTOPEN")?;
        }
        Ok(())
    }

    fn establish(&self, socket: Arc<Socket>) -> Result<Vec<TcpStream>> {
        let report = |socket: &Socket, options: &Transport| report(TransportKind::Tcp, socket, options);
        Ok(vec![TcpStream { socket, options: self.options.clone(), report }])
    }
}

/// Returns a socket of TCP, or of a protocol with TCP's options, with all options that must be set before connecting.
///
/// # Errors
/// The kernel does not have the protocol, or refuses an option.
pub(super) fn socket(peer: SocketAddr, protocol: socket2::Protocol, options: &Transport) -> Result<Socket> {
    let socket = socket2::Socket::new(Domain::for_address(peer), Type::STREAM, Some(protocol));
    let socket = Socket::from(socket.context("creating a TCP socket")?);
    socket.set_congestion(&options.congestion)?;
    if let Some(mss_bytes) = options.mss_bytes {
        socket.set(libc::IPPROTO_TCP, libc::TCP_MAXSEG, &(mss_bytes as c_int), "TCP_MAXSEG")?;
    }
    socket.set_tcp_nodelay(options.nodelay).context("setting TCP_NODELAY")?;
    Ok(socket)
}

/// A connection of TCP, or of a protocol with the same socket calls (MPTCP).
pub(super) struct TcpStream {
    pub socket: Arc<Socket>,
    pub options: Transport,
    /// Reads the connection's settings and counters from the kernel.
    pub report: fn(&Socket, &Transport) -> Result<Report>,
}

impl ReadyStream for TcpStream {
    fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.try_receive(buffer)
    }

    fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.try_send(bytes)
    }
}

impl ByteStream for TcpStream {
    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.socket.send_all(message)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.socket.receive_exact(buffer)
    }

    fn send_content(&mut self, content: &mut Reader) -> Result<()> {
        self.socket.send_content(content)
    }

    /// Receives with `MSG_WAITALL`, and not with `SO_RCVLOWAT`, which would hold back window updates and so slow TCP
    /// itself down.
    fn receive_content(&mut self, sink: &mut Sink) -> Result<()> {
        if sink.watches_arrivals() {
            return timestamped_recv::receive_content(&self.socket, sink);
        }
        let mut first = [0];
        self.socket.receive_exact(&mut first)?;
        sink.consume(&first)?;
        let mut block = match sink.discards() {
            true => Vec::new(),
            false => vec![0; sink.remaining_bytes().min(RECEIVE_BLOCK_BYTES) as usize],
        };
        while let remaining @ 1.. = sink.remaining_bytes() {
            if sink.discards() {
                match self.socket.discard(remaining)? {
                    0 => return Err(ended(remaining)),
                    discarded => sink.discard(discarded)?,
                }
            } else {
                let length = remaining.min(RECEIVE_BLOCK_BYTES) as usize;
                self.socket.receive_exact(&mut block[..length])?;
                sink.consume(&block[..length])?;
            }
        }
        Ok(())
    }

    fn close_sending(&mut self) -> Result<()> {
        self.socket.shutdown(Shutdown::Write).context("closing the sending side")
    }

    fn report(&self) -> Result<Report> {
        (self.report)(&self.socket, &self.options)
    }
}

fn ended(remaining_bytes: u64) -> Error {
    Error::closed(format!("the peer closed the connection when {remaining_bytes} bytes were to come"))
}

/// Returns the settings and counters of a TCP connection, read from the kernel.
///
/// # Errors
/// As `getsockopt(2)`; an option is not as the job has it.
pub(super) fn report(kind: TransportKind, socket: &Socket, options: &Transport) -> Result<Report> {
    let info = TcpInfo::read(socket)?;
    info.check_options(&options.tcp)?;
    let resumed = if info.has_syn_data() { Resume::ZeroRtt } else { Resume::None };
    Ok(Report { settings: settings(kind, socket, options, &info)?, stats: info.stats(), resumed })
}

/// Returns the settings of a TCP connection, from `info` and socket options.
pub(super) fn settings(kind: TransportKind, socket: &Socket, options: &Transport, info: &TcpInfo) -> Result<Settings> {
    let congestion = socket.tcp_congestion().context("reading TCP_CONGESTION")?;
    let congestion = String::from_utf8_lossy(&congestion).trim_end_matches('\0').to_owned();
    Ok(Settings {
        transport: kind,
        initial_window_bytes: u64::from(options.initial_window_packets) * u64::from(info.snd_mss),
        mss_bytes: info.snd_mss,
        send_buffer_bytes: socket.send_buffer_size().context("reading SO_SNDBUF")? as u64,
        receive_buffer_bytes: socket.recv_buffer_size().context("reading SO_RCVBUF")? as u64,
        // Without `SO_MAX_PACING_RATE` and the `fq` qdisc, TCP paces if its congestion control asks for it
        // (`SK_PACING_NEEDED` in `net/ipv4/tcp_bbr.c`; no other in the kernel does).
        paced: congestion == "bbr",
        congestion,
    })
}
