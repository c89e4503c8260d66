//! The kernel's stream transports (TCP, MPTCP, SCTP, TLS over TCP) bind, listen, dial and move bytes here: blocking
//! code on its own threads, behind the asynchronous interface.
//!
//! A system call is the most expensive operation in a guest (7 to 13 µs). With a blocking socket one call moves
//! megabytes, whereas an event loop needs two calls for each wake-up. So bytes move in blocking calls, and only their
//! beginning and end are asynchronous.

use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::content_sink::SharedSink;
use netwarp_core::flow::{MessageSink, Pacer};
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Job, Reconnect};
use netwarp_wire::record::Side;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_blocking;

use super::byte_stream::{ByteStream, Turns};
use super::duplex::WatchedStream;
use super::error::{Context as _, Result, bail};
use super::socket::{self, Socket};
use super::{Carrier, Duplex, Handshake, Place, Report, Sent, peer_filter};

/// The most unsent bytes that the kernel may hold (`TCP_NOTSENT_LOWAT`). Further data waits in the program, which can
/// still send more urgent data first.
const UNSENT_BYTES: libc::c_int = 16 << 10;

/// A stream protocol of the kernel, with a job's options.
pub(super) trait Protocol: Send + Sync + 'static {
    /// A stream of a connection.
    type Stream: ByteStream;

    /// The protocol's name in error messages.
    const NAME: &'static str;

    /// Creates a socket for a peer at this address, with all options that must be set before connecting or listening.
    fn socket(&self, peer: SocketAddr) -> Result<Socket>;

    /// Whether the kernel can drop packets by source address before this protocol answers them.
    const TAKES_FILTERS: bool = true;

    /// How long after the last arrival a side that has closed waits for the peer to close, too; `None` if the kernel
    /// itself ends a connection whose peer does not answer.
    const CLOSES_WITHIN: Option<Duration> = None;

    /// Binds a server's socket.
    fn bind(&self, socket: &Socket, address: SocketAddr) -> Result<()> {
        socket.bind(&address.into()).context("binding a socket")
    }

    /// Binds a client's socket, if the address that the kernel would choose is wrong.
    fn bind_client(&self, _socket: &Socket) -> Result<()> {
        Ok(())
    }

    /// Called when the client has got this address and prefers it. Later connections use it because of the kernel's
    /// routes.
    fn attached(&self, _address: IpAddr) -> Result<()> {
        Ok(())
    }

    /// Called when the client has lost this address. The kernel notices it itself.
    fn detached(&self, _address: IpAddr) -> Result<()> {
        Ok(())
    }

    /// Returns whether the kernel can migrate a client's connection to another address now.
    fn can_migrate(_socket: &Socket) -> bool {
        true
    }

    /// Sets the options that only a client's socket needs.
    fn prepare_to_connect(&self, _socket: &Socket, _may_resume: bool) -> Result<()> {
        Ok(())
    }

    /// Sets the options that only a listening socket needs.
    fn prepare_to_accept(&self, _socket: &Socket) -> Result<()> {
        Ok(())
    }

    /// Completes a connection that the kernel has established, for example by a TLS handshake. Returns all streams of
    /// the connection.
    fn establish(&self, socket: Arc<Socket>) -> Result<Vec<Self::Stream>>;

    /// Returns the certificate that a server presents, in DER, if the protocol has one.
    fn certificate(&self) -> Option<&[u8]> {
        None
    }
}

/// The client's end of a kernel transport.
pub(super) struct Dialer<P> {
    protocol: Arc<P>,
    /// Whether connections migrate at a handover.
    migrates: bool,
}

impl<P: Protocol> Dialer<P> {
    /// Creates a dialer with the protocol's options.
    pub(super) fn new(protocol: P, job: &Job) -> Self {
        Self { protocol: Arc::new(protocol), migrates: job.only().transport.reconnect == Reconnect::Migrate }
    }
}

#[async_trait]
impl<P: Protocol> super::Dialer for Dialer<P> {
    async fn dial(&self, server: SocketAddr, may_resume: bool) -> Result<Box<dyn super::Connection>> {
        let (protocol, migrates) = (self.protocol.clone(), self.migrates);
        offload(move || {
            let socket = protocol.socket(server)?;
            protocol.bind_client(&socket)?;
            protocol.prepare_to_connect(&socket, may_resume)?;
            let start = Moment::now();
            socket.connect(&server.into()).with_context(|| format!("connecting to {server} over {}", P::NAME))?;
            established(&*protocol, socket, start, migrates)
        })
        .await
    }

    fn attached(&self, address: IpAddr) -> Result<()> {
        self.protocol.attached(address)
    }

    fn detached(&self, address: IpAddr) -> Result<()> {
        self.protocol.detached(address)
    }
}

/// The server's end of a kernel transport.
pub(super) struct Listener<P> {
    protocol: Arc<P>,
    socket: AsyncFd<Arc<Socket>>,
    only_from: Option<IpAddr>,
}

impl<P: Protocol> Listener<P> {
    /// Binds the address and listens.
    pub(super) fn bind(protocol: P, Place { address, only_from }: Place) -> Result<Self> {
        let socket = protocol.socket(address)?;
        let attempt = || format!("listening on {address} over {}", P::NAME);
        socket.set_reuse_address(true).with_context(attempt)?;
        if let Some(peer) = only_from.filter(|_| P::TAKES_FILTERS) {
            peer_filter::restrict(&*socket, peer).with_context(attempt)?;
        }
        protocol.bind(&socket, address).with_context(attempt)?;
        socket.listen(libc::SOMAXCONN).with_context(attempt)?;
        protocol.prepare_to_accept(&socket)?;
        // Only the listening socket is non-blocking: accept(2) on Linux does not pass the flag on to accepted sockets.
        socket.set_nonblocking(true).with_context(attempt)?;
        Ok(Self { protocol: Arc::new(protocol), socket: socket::watch(Arc::new(socket))?, only_from })
    }
}

#[async_trait]
impl<P: Protocol> super::Listener for Listener<P> {
    fn certificate(&self) -> Option<&[u8]> {
        self.protocol.certificate()
    }

    async fn accept(&mut self) -> Result<Handshake> {
        let socket = loop {
            let accepted = self.socket.async_io(Interest::READABLE, |socket| socket.accept_now()).await;
            let (socket, peer) = accepted.with_context(|| format!("accepting a connection over {}", P::NAME))?;
            if peer_filter::is_welcome(peer, self.only_from) {
                break socket;
            }
        };
        let (protocol, start) = (self.protocol.clone(), Moment::now());
        Ok(Box::pin(offload(move || established(&*protocol, socket, start, false))))
    }
}

fn established<P: Protocol>(
    protocol: &P,
    socket: Socket,
    start: Moment,
    migrates: bool,
) -> Result<Box<dyn super::Connection>> {
    let socket = Arc::new(socket);
    let streams = protocol.establish(socket.clone())?;
    let connected = Moment::now();
    let streams = streams.into_iter().map(|stream| Arc::new(Mutex::new(stream))).collect();
    let migrates = migrates.then_some(P::can_migrate as fn(&Socket) -> bool);
    let closes_within = P::CLOSES_WITHIN;
    Ok(Box::new(Connection { name: P::NAME, socket, streams, given: 0, start, connected, migrates, closes_within }))
}

/// A connection of the kernel's TCP, MPTCP or SCTP, also with TLS above it.
struct Connection<S> {
    name: &'static str,
    socket: Arc<Socket>,
    streams: Vec<Arc<Mutex<S>>>,
    /// How many streams have been opened or accepted.
    given: usize,
    start: Moment,
    connected: Moment,
    /// Returns whether a connection can migrate now; `None` if connections do not migrate at a handover.
    migrates: Option<fn(&Socket) -> bool>,
    /// As [`Protocol::CLOSES_WITHIN`].
    closes_within: Option<Duration>,
}

impl<S: ByteStream> Connection<S> {
    /// Returns the connection's only stream, watched by the event loop.
    fn watched(&self) -> Result<Box<dyn Duplex>> {
        let [stream] = &self.streams[..] else {
            bail!("a connection over {} is no stream of bytes: it has {} streams", self.name, self.streams.len());
        };
        Ok(Box::new(WatchedStream::new(stream.clone(), self.socket.clone())?))
    }
}

#[async_trait]
impl<S: ByteStream> super::Connection for Connection<S> {
    fn start(&self) -> Moment {
        self.start
    }

    fn connected(&self) -> Moment {
        self.connected
    }

    async fn open_stream(&mut self) -> Result<Box<dyn super::Stream>> {
        let Some(stream) = self.streams.get(self.given).cloned() else {
            bail!("a connection over {} has no more than {} streams", self.name, self.given);
        };
        let index = self.given as u32;
        self.given += 1;
        let turns = stream.lock().expect("no holder panics").turns();
        Ok(Box::new(Stream { stream, index, turns }) as Box<dyn super::Stream>)
    }

    async fn accept_stream(&mut self) -> Result<Option<Box<dyn super::Stream>>> {
        if self.given < self.streams.len() {
            return self.open_stream().await.map(Some);
        }
        self.closed().await.map(|()| None)
    }

    /// Waits until the peer has closed the connection, discarding what arrives before.
    async fn closed(&mut self) -> Result<()> {
        // The socket is registered for this wait alone: an event loop that always watches it would wake up for each
        // packet.
        let socket = socket::watch(self.socket.clone())?;
        loop {
            let mut ready = socket.readable().await.context("waiting for the peer to close")?;
            if socket.get_ref().drain().context("waiting for the peer to close")? {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    fn carrier(&mut self) -> Result<Carrier> {
        self.socket.set(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &UNSENT_BYTES, "TCP_NOTSENT_LOWAT")?;
        Ok(Carrier::Bytes(self.watched()?))
    }

    async fn duplex(&mut self, _side: Side) -> Result<Box<dyn Duplex>> {
        self.watched()
    }

    fn report(&self) -> Result<Report> {
        self.streams[0].lock().expect("no holder panics").report()
    }

    fn migrates(&self) -> bool {
        self.migrates.is_some_and(|can| can(&self.socket))
    }

    fn abandon(&self) {
        // Wakes the threads that block in the kernel. It fails only if the connection has ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    fn break_off(&self) {
        // Makes close(2) reset the connection (TCP's RST, SCTP's ABORT) instead of first emptying the send buffer:
        // socket(7), SO_LINGER. Either call fails only if the connection has ended already.
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = self.socket.set(libc::SOL_SOCKET, libc::SO_LINGER, &at_once, "SO_LINGER");
        self.abandon();
    }

    async fn close(self: Box<Self>) -> Result<()> {
        // Waits until the peer has closed. Then its last packets do not arrive at a closed socket, which would send a
        // reset over the path.
        offload(move || {
            self.socket.shutdown(Shutdown::Write).context("closing the sending side")?;
            if self.closes_within.is_some() {
                self.socket.set_read_timeout(self.closes_within).context("setting SO_RCVTIMEO")?;
            }
            self.socket.wait_for_end()
        })
        .await
    }
}

struct Stream<S> {
    stream: Arc<Mutex<S>>,
    index: u32,
    turns: Option<Turns>,
}

impl<S: ByteStream> Stream<S> {
    /// Runs blocking work on the stream, on a thread outside the event loop.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce(&mut S) -> Result<T> + Send + 'static) -> Result<T> {
        let stream = self.stream.clone();
        offload(move || work(&mut stream.lock().expect("no holder panics"))).await
    }

    /// Runs work as [`Self::run`] does, for work that begins by waiting for data from the peer: it first awaits the
    /// stream's turn ([`ByteStream::turns`]).
    async fn run_receiving<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut S) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(turns) = &self.turns else { return self.run(work).await };
        let turn = turns().await;
        self.run(move |stream| {
            let result = work(stream);
            drop(turn);
            result
        })
        .await
    }
}

#[async_trait]
impl<S: ByteStream> super::Stream for Stream<S> {
    fn index(&self) -> u32 {
        self.index
    }

    async fn send(&mut self, message: &[u8]) -> Result<()> {
        let message = message.to_vec();
        self.run(move |stream| stream.send(&message)).await
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        let mut message = vec![0; buffer.len()];
        let message = self.run_receiving(move |stream| stream.receive(&mut message).map(|()| message)).await?;
        buffer.copy_from_slice(&message);
        Ok(())
    }

    async fn send_content(&mut self, mut content: Reader) -> Result<Sent> {
        self.run(move |stream| {
            let first_byte = Moment::now();
            stream.send_content(&mut content)?;
            Ok(Sent { first_byte, sha256: content.into_sha256() })
        })
        .await
    }

    async fn receive_content(&mut self, sink: SharedSink) -> Result<()> {
        if sink.lock().expect("no holder panics").remaining_bytes() == 0 {
            return Ok(());
        }
        self.run_receiving(move |stream| stream.receive_content(&mut sink.lock().expect("no holder panics"))).await
    }

    async fn send_messages(&mut self, mut pacer: Pacer) -> Result<Pacer> {
        self.run(move |stream| stream.send_messages(&mut pacer).map(|()| pacer)).await
    }

    async fn receive_messages(&mut self, mut sink: MessageSink, _drain: Duration) -> Result<MessageSink> {
        self.run_receiving(move |stream| stream.receive_messages(&mut sink).map(|()| sink)).await
    }

    async fn close_sending(&mut self) -> Result<()> {
        self.run(ByteStream::close_sending).await
    }

    async fn finish(&mut self) -> Result<bool> {
        self.run(|stream| stream.finish().map(|()| false)).await
    }
}

pub(super) async fn offload<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.context("a blocking call panicked")?
}
