//! The interface of every transport: dial or listen, open or accept streams on a connection, move bytes.
//!
//! Workloads use only these traits. A transport is a folder with a [`Stack`] and a line in [`stack_of`].
//! The kernel's transports are blocking code behind [`kernel`]; QUIC is asynchronous.

mod byte_stream;
mod connection_errors;
mod duplex;
pub mod error;
pub mod identity;
mod kernel;
mod lost_connection;
mod mptcp;
mod peer_filter;
mod quic;
mod sctp;
pub mod socket;
mod stack;
mod stamp;
pub mod system_call;
mod tcp;
mod tickets;
mod timestamped_recv;
mod tls;
mod udp;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::content_sink::SharedSink;
use netwarp_core::deadline::Deadline;
use netwarp_core::flow::{Header, MessageSink, Pacer, Received};
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Resume, TransportKind};
use netwarp_wire::record::{Settings, Side, Stats};
use tokio::io::{AsyncRead, AsyncWrite};

pub use self::error::Error;
use self::error::{Context as _, Result};
pub use self::quic::http3::{Http3Opener, Http3Streams};
pub use self::quic::qlog::VARIABLE as QLOG_VARIABLE;
pub use self::sctp::info::SctpInfo;
pub(crate) use self::stack::Stack;
pub use self::stack::StateSource;
pub use self::tcp::info::TcpInfo;

/// The port on which every server listens.
pub const PORT: u16 = 4433;

/// Where a server listens, and whose packets it accepts.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The address and port to listen on.
    pub address: SocketAddr,
    /// The only host whose packets are accepted; `None` for any host.
    pub only_from: Option<IpAddr>,
}

/// A handshake in progress, which establishes a connection.
pub type Handshake = Pin<Box<dyn Future<Output = Result<Box<dyn Connection>>> + Send>>;

/// The client's end of a transport: opens connections, all with the options of one job.
#[async_trait]
pub trait Dialer: Send + Sync {
    /// Connects to `server`. The future is ready when application data may be sent: with early data (`resume = 0rtt`)
    /// at once, before the peer has answered.
    ///
    /// # Arguments
    /// * `may_resume` - whether it may use the session tickets or cookies of earlier connections.
    async fn dial(&self, server: SocketAddr, may_resume: bool) -> Result<Box<dyn Connection>>;

    /// Must be called when the host has got this address and prefers it: later connections use it, and open connections
    /// that migrate ([`Connection::migrates`]) move to it. Must be called inside the tokio runtime.
    ///
    /// # Errors
    /// As `bind(2)`.
    fn attached(&self, address: IpAddr) -> Result<()>;

    /// Must be called when the host has lost this address.
    ///
    /// # Errors
    /// An open connection could not remove the address.
    fn detached(&self, _address: IpAddr) -> Result<()> {
        Ok(())
    }
}

/// The server's end of a transport, bound and listening.
#[async_trait]
pub trait Listener: Send {
    /// Returns the certificate that the server presents, in DER, if the transport has one.
    fn certificate(&self) -> Option<&[u8]>;

    /// Accepts the next connection. Its handshake is returned as a separate future, so that it does not delay other
    /// connections. Dropping this future loses no connection.
    async fn accept(&mut self) -> Result<Handshake>;
}

/// An established connection.
#[async_trait]
pub trait Connection: Send + Sync {
    /// Returns when `connect` was called (client), or when the connection was accepted (server).
    fn start(&self) -> Moment;

    /// Returns when application data could first be sent.
    fn connected(&self) -> Moment;

    /// Opens a stream to the peer.
    async fn open_stream(&mut self) -> Result<Box<dyn Stream>>;

    /// Accepts the next stream that the peer opens; `None` when it has closed the connection. Dropping this future
    /// loses no stream.
    async fn accept_stream(&mut self) -> Result<Option<Box<dyn Stream>>>;

    /// Returns what HTTP runs over: a byte stream, or QUIC streams. Used instead of [`Self::open_stream`] and
    /// [`Self::accept_stream`], and called at most once. Must be called inside the tokio runtime.
    ///
    /// # Errors
    /// HTTP does not run over this transport.
    fn carrier(&mut self) -> Result<Carrier> {
        bail!("no such protocol runs over this transport")
    }

    /// Returns one stream of the connection that is used in both directions at the same time, instead of
    /// [`Self::open_stream`] and [`Self::accept_stream`]. The client opens it. With `udp`, each read or write is one
    /// datagram. May be called once.
    async fn duplex(&mut self, side: Side) -> Result<Box<dyn Duplex>>;

    /// Waits until the peer has closed the connection, discarding remaining data. Dropping this future has no effect.
    async fn closed(&mut self) -> Result<()>;

    /// Returns the settings and the counters so far. Must be called while the connection is open.
    ///
    /// # Errors
    /// The stack does not answer.
    fn report(&self) -> Result<Report>;

    /// At the client: returns whether the connection continues over the new address after a handover. It does not
    /// before its handshake is complete, because until then the peer cannot recognise its packets.
    fn migrates(&self) -> bool;

    /// Gives the connection up, without waiting. Pending operations on its streams soon fail.
    fn abandon(&self);

    /// Gives the connection up and discards its unsent data, so that none of it takes up capacity of the path.
    fn break_off(&self) {
        self.abandon();
    }

    /// Closes the connection in the protocol's orderly way.
    async fn close(self: Box<Self>) -> Result<()>;
}

/// The connection that application protocols such as HTTP use.
pub enum Carrier {
    /// A reliable stream of bytes in both directions.
    Bytes(Box<dyn Duplex>),
    /// The streams of a QUIC connection.
    Quic(Http3Streams),
}

/// A reliable stream of bytes in both directions, with asynchronous reads and writes.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A stream of bytes in both directions. With `udp` it carries messages that may be reordered or lost, and no content.
#[async_trait]
pub trait Stream: Send {
    /// Returns the number of the stream on its connection.
    fn index(&self) -> u32;

    /// Sends a small message.
    async fn send(&mut self, message: &[u8]) -> Result<()>;

    /// Receives a small message: fills the buffer.
    async fn receive(&mut self, buffer: &mut [u8]) -> Result<()>;

    /// Sends all of the content, in the transport's fastest way.
    async fn send_content(&mut self, content: Reader) -> Result<Sent>;

    /// Receives until `sink` has all of its content, in the transport's fastest way; the sink may be locked meanwhile.
    /// If the connection is given up, the sink keeps the content received so far.
    async fn receive_content(&mut self, sink: SharedSink) -> Result<()>;

    /// Sends a small message that the peer answers with a message or with content.
    ///
    /// # Arguments
    /// * `_later` - how long after the request the peer may begin to answer at the earliest, for transports that repeat
    ///   the message.
    async fn request(&mut self, message: &[u8], _later: Duration) -> Result<()> {
        self.send(message).await
    }

    /// Returns the size of a packet's headers, in bytes, if each message is a packet that may be lost; `None` if
    /// messages are part of a reliable stream.
    fn packet_header_bytes(&self) -> Option<u64> {
        None
    }

    /// Sends the messages of a flow, each when it is due. Returns the pacer, which has counted the sent messages.
    async fn send_messages(&mut self, mut pacer: Pacer) -> Result<Pacer> {
        let deadline = Deadline::new()?;
        let mut batch = Vec::new();
        while let Some(due_ns) = pacer.next_due_ns() {
            if due_ns > Moment::now().since(0) {
                deadline.wait_until(Some(due_ns)).await?;
            }
            pacer.due_messages(Moment::now().since(0), MESSAGE_BATCH_BYTES, &mut batch);
            self.send(&batch).await?;
        }
        Ok(pacer)
    }

    /// Receives the messages of a flow until the sink has all of them or, if messages may be lost, until `drain` after
    /// the last was due.
    async fn receive_messages(&mut self, mut sink: MessageSink, _drain: Duration) -> Result<MessageSink> {
        let mut message = vec![0; sink.message_bytes()];
        while !sink.is_complete() {
            self.receive(&mut message).await?;
            sink.arrived(received_now(&message)?);
        }
        Ok(sink)
    }

    /// Tells the peer that this side sends nothing more on the stream, without waiting. Data sent before still arrives.
    ///
    /// # Errors
    /// A stream of this transport cannot end in one direction alone.
    async fn close_sending(&mut self) -> Result<()> {
        bail!("a stream of this transport does not end in one direction alone")
    }

    /// Ends the stream. The future is ready when the process is no longer needed for delivering the data: either the
    /// peer has received all of it (true), or the kernel will deliver it while the connection is open (false).
    async fn finish(&mut self) -> Result<bool>;
}

/// The most bytes of overdue messages that are sent on a stream together.
const MESSAGE_BATCH_BYTES: usize = 16 << 10;

/// Returns a message of a flow that has just been received completely, with its header and the current time.
pub fn received_now(message: &[u8]) -> Result<Received> {
    let header = Header::decode(message).context("a message of the flow is too short for its header")?;
    Ok(Received { header, bytes: message.len() as u64, at_ns: Moment::now().since(0) })
}

/// Settings and counters of one connection.
#[derive(Debug, Clone)]
pub struct Report {
    /// The settings that the stack uses.
    pub settings: Settings,
    /// The stack's counters.
    pub stats: Stats,
    /// Whether and how the connection resumed an earlier session.
    pub resumed: Resume,
}

/// The start time and the hash of content that was passed to the transport.
#[derive(Debug)]
pub struct Sent {
    /// When the first byte was about to be passed to the transport.
    pub first_byte: Moment,
    /// The hex SHA-256 of the content, if the job asks for hashes.
    pub sha256: Option<String>,
}

/// Returns the implementation of a transport.
pub fn stack_of(transport: TransportKind) -> &'static dyn Stack {
    match transport {
        TransportKind::Tcp => &tcp::TcpStack,
        TransportKind::Tls => &tls::TlsStack,
        TransportKind::Sctp => &sctp::SctpStack,
        TransportKind::Quic => &quic::QuicStack,
        TransportKind::Udp => &udp::UdpStack,
        TransportKind::Mptcp => &mptcp::MptcpStack,
    }
}
