//! `udp`: the kernel's UDP. A message is a datagram; lost datagrams are not retransmitted, and a sender does not learn
//! whether the peer exists.
//!
//! There is no handshake: a client's connection is a socket connected to the server's address, and a server's
//! connection begins with the first datagram.

mod receive;
mod stack;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use libc::c_int;
use netwarp_core::clock::{self, Moment};
use netwarp_core::content_sink::SharedSink;
use netwarp_core::flow::{MessageSink, Pacer, sleep_until};
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Job, Resume, TransportKind};
use netwarp_wire::record::{Settings, Side, Stats};
use socket2::{Domain, Type};
use tokio::io::unix::AsyncFd;

use self::receive::Receiver;
pub(super) use self::stack::UdpStack;
use super::byte_stream::ReadyStream;
use super::duplex::WatchedStream;
use super::error::{Context as _, Error, Kind, Result, bail, ensure};
use super::kernel::offload;
use super::socket::{self, Socket, effective_receive_bytes, effective_send_bytes};
use super::system_call::retry;
use super::{Duplex, Handshake, Place, Report, Sent, peer_filter};

/// The size of the IPv4 and UDP headers of a message, in bytes.
const HEADER_BYTES: u64 = 20 + 8;

/// How long a client waits for an answer before it repeats its request.
const REPEAT: Duration = Duration::from_secs(1);

/// The most times that a request is sent, one second apart: for about as long as Linux tries to connect over TCP
/// (`tcp_syn_retries`, 6).
const REQUESTS: u32 = 127;

/// If the next datagram is due more than this long after the last one was sent, a sender in virtual time certainly
/// sleeps in between and wakes up exactly when the datagram is due: computing takes no time, and system calls take a
/// few steps of 256 ns. Then the clock need not be read, which would cost as much as sending.
const SURE_SLEEP_NS: u64 = 1_500;

/// The client's end of `udp`, which sends to the job's server.
pub(super) struct Dialer {
    buffer_bytes: u64,
}

impl Dialer {
    /// Creates a client with the job's options.
    pub(super) fn new(job: &Job) -> Self {
        Self { buffer_bytes: job.only().transport.buffer_bytes }
    }
}

#[async_trait]
impl super::Dialer for Dialer {
    async fn dial(&self, server: SocketAddr, _may_resume: bool) -> Result<Box<dyn super::Connection>> {
        let socket = open(server, self.buffer_bytes)?;
        let lead_ns = clock::realtime_lead_ns();
        let start = Moment::now();
        socket.connect(&server.into()).with_context(|| format!("connecting a UDP socket to {server}"))?;
        Ok(connection(socket.into(), start, lead_ns))
    }

    fn attached(&self, address: IpAddr) -> Result<()> {
        bail!("a UDP socket stays where it is and cannot follow the client to {address}: the planner refuses handovers")
    }
}

/// The server's end of `udp`, for a single client.
pub(super) struct Listener {
    /// The socket, until the client's first datagram has arrived.
    socket: Option<AsyncFd<Arc<Socket>>>,
    /// How far the clock of the kernel's time stamps is ahead of `CLOCK_MONOTONIC`, in nanoseconds. It is determined
    /// before the client begins: in virtual time each reading advances the clock, and datagrams that are due meanwhile
    /// would be sent late.
    lead_ns: u64,
}

impl Listener {
    /// Binds the address.
    pub(super) fn bind(job: &Job, Place { address, only_from }: Place) -> Result<Self> {
        let socket = open(address, job.only().transport.buffer_bytes)?;
        only_from.map_or(Ok(()), |peer| peer_filter::restrict(&*socket, peer))?;
        socket.bind(&address.into()).with_context(|| format!("binding a UDP socket to {address}"))?;
        Ok(Self { socket: Some(socket::watch(Arc::new(socket))?), lead_ns: clock::realtime_lead_ns() })
    }
}

#[async_trait]
impl super::Listener for Listener {
    fn certificate(&self) -> Option<&[u8]> {
        None
    }

    /// Accepts the only client, when its first datagram has arrived. The datagram remains to be received.
    async fn accept(&mut self) -> Result<Handshake> {
        let Some(watched) = &self.socket else { return std::future::pending().await };
        drop(watched.readable().await.context("waiting for a datagram")?);
        let socket = self.socket.take().expect("it was there").into_inner();
        let start = Moment::now();
        let mut nothing = [];
        let (_, peer) = retry(|| socket.peek_from(&mut nothing)).context("looking at the first datagram")?;
        socket.connect(&peer).context("connecting a UDP socket to its client")?;
        let lead_ns = self.lead_ns;
        Ok(Box::pin(async move { Ok(connection(socket, start, lead_ns)) }))
    }
}

/// Opens a UDP socket on which the kernel time-stamps datagrams when they arrive.
fn open(peer: SocketAddr, buffer_bytes: u64) -> Result<Socket> {
    let socket = socket2::Socket::new(Domain::for_address(peer), Type::DGRAM, Some(socket2::Protocol::UDP));
    let socket = Socket::from(socket.context("creating a UDP socket")?);
    socket::set_buffers(&socket, buffer_bytes)?;
    socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &c_int::from(true), "SO_TIMESTAMPNS")?;
    Ok(socket)
}

fn connection(socket: Arc<Socket>, start: Moment, lead_ns: u64) -> Box<dyn super::Connection> {
    Box::new(Connection { socket, is_given: false, start, lead_ns })
}

struct Connection {
    socket: Arc<Socket>,
    /// Whether the connection's only stream is in use.
    is_given: bool,
    start: Moment,
    /// How far the clock of the kernel's time stamps is ahead of `CLOCK_MONOTONIC`, in nanoseconds.
    lead_ns: u64,
}

#[async_trait]
impl super::Connection for Connection {
    fn start(&self) -> Moment {
        self.start
    }

    /// Returns the same as [`Self::start`], as there is no handshake.
    fn connected(&self) -> Moment {
        self.start
    }

    async fn open_stream(&mut self) -> Result<Box<dyn super::Stream>> {
        ensure!(!self.is_given, "there is one flow to a UDP socket");
        self.is_given = true;
        Ok(Box::new(Datagrams { socket: self.socket.clone(), lead_ns: self.lead_ns }) as Box<dyn super::Stream>)
    }

    async fn accept_stream(&mut self) -> Result<Option<Box<dyn super::Stream>>> {
        if self.is_given { Ok(None) } else { self.open_stream().await.map(Some) }
    }

    async fn duplex(&mut self, _side: Side) -> Result<Box<dyn Duplex>> {
        ensure!(!self.is_given, "there is one flow to a UDP socket");
        self.is_given = true;
        let stream = Arc::new(Mutex::new(ReadyDatagrams(self.socket.clone())));
        Ok(Box::new(WatchedStream::new(stream, self.socket.clone())?) as Box<dyn Duplex>)
    }

    /// Waits forever: over UDP nothing shows that the peer has closed.
    async fn closed(&mut self) -> Result<()> {
        std::future::pending().await
    }

    fn report(&self) -> Result<Report> {
        let settings = Settings {
            transport: TransportKind::Udp,
            congestion: "none".to_owned(),
            initial_window_bytes: 0,
            mss_bytes: 0,
            send_buffer_bytes: effective_send_bytes(&self.socket)?,
            receive_buffer_bytes: effective_receive_bytes(&self.socket)?,
            paced: false,
        };
        Ok(Report { settings, stats: Stats::default(), resumed: Resume::None })
    }

    fn migrates(&self) -> bool {
        false
    }

    fn abandon(&self) {
        // Wakes the threads that block in the kernel.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

    async fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// A connected UDP socket, used without waiting: each read or write is one datagram.
struct ReadyDatagrams(Arc<Socket>);

impl ReadyStream for ReadyDatagrams {
    fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.try_receive(buffer) {
            // The kernel reports that an earlier datagram reached a closed port; nothing was received.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Err(ErrorKind::WouldBlock.into()),
            received => received,
        }
    }

    fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.try_send(bytes) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(bytes.len()),
            sent => sent,
        }
    }
}

/// The only stream of a UDP connection: sends and receives datagrams of one peer.
struct Datagrams {
    socket: Arc<Socket>,
    lead_ns: u64,
}

#[async_trait]
impl super::Stream for Datagrams {
    fn index(&self) -> u32 {
        0
    }

    async fn send(&mut self, message: &[u8]) -> Result<()> {
        send(&self.socket, message)
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        let (socket, mut message) = (self.socket.clone(), vec![0; buffer.len()]);
        let receive = move || {
            let length = socket.receive(&mut message, 0).context("receiving a datagram")?;
            ensure!(length == message.len(), "a datagram of {length} bytes came, not of {}", message.len());
            Ok(message)
        };
        buffer.copy_from_slice(&offload(receive).await?);
        Ok(())
    }

    /// Sends the request, and repeats it every second until something arrives, which it does not consume. Gives up
    /// after about as long as TCP does, counted from `later`, when an answer can arrive at the earliest.
    async fn request(&mut self, message: &[u8], later: Duration) -> Result<()> {
        let (socket, message) = (self.socket.clone(), message.to_vec());
        offload(move || {
            let requests = u64::from(REQUESTS) + later.as_secs();
            for _ in 0..requests {
                send(&socket, &message)?;
                if socket.await_readable_for(REPEAT).context("waiting for an answer")? {
                    return Ok(());
                }
            }
            Err(Error::new(Kind::TimedOut, anyhow::anyhow!("{requests} requests had no answer")))
        })
        .await
    }

    async fn send_content(&mut self, _: Reader) -> Result<Sent> {
        bail!("UDP repeats nothing that is lost: a content would never be whole")
    }

    async fn receive_content(&mut self, _: SharedSink) -> Result<()> {
        bail!("UDP repeats nothing that is lost: a content would never be whole")
    }

    fn packet_header_bytes(&self) -> Option<u64> {
        Some(HEADER_BYTES)
    }

    async fn send_messages(&mut self, mut pacer: Pacer) -> Result<Pacer> {
        let socket = self.socket.clone();
        offload(move || {
            let is_virtual = clock::is_virtual();
            while let Some(due_ns) = pacer.next_due_ns() {
                sleep_until(due_ns);
                let is_on_time = is_virtual && due_ns >= pacer.last_sent_ns() + SURE_SLEEP_NS;
                let now_ns = if is_on_time { due_ns } else { Moment::now().since(0) };
                if let Some(message) = pacer.due_message(now_ns) {
                    send(&socket, message)?;
                }
            }
            Ok(pacer)
        })
        .await
    }

    async fn receive_messages(&mut self, sink: MessageSink, drain: Duration) -> Result<MessageSink> {
        let (socket, lead_ns) = (self.socket.clone(), self.lead_ns);
        offload(move || Receiver::new(&socket, lead_ns).receive(sink, drain)).await
    }

    async fn finish(&mut self) -> Result<bool> {
        Ok(true)
    }
}

/// Sends one datagram. It is no error if the peer's port is closed: it may be open for the next datagram.
fn send(socket: &Socket, message: &[u8]) -> Result<()> {
    match retry(|| socket.send(message)) {
        Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => Ok(()),
        sent => sent.map(drop).context("sending a datagram"),
    }
}
