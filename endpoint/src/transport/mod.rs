//! One interface that every transport gives: dial or listen, get connections, get streams, move bytes.
//!
//! Workloads are written against these traits alone. A transport is a folder with a [`Stack`], and its line in
//! [`TransportKind::stack`]. Those of the kernel are blocking code behind [`kernel`]; QUIC is asynchronous by nature.

mod byte_stream;
mod duplex;
pub(crate) mod error;
pub(crate) mod identity;
mod kernel;
mod mptcp;
mod peer_filter;
mod quic;
mod sctp;
pub(crate) mod socket;
mod stack;
mod tcp;
mod tickets;
mod timestamped_recv;
mod tls;
mod udp;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use self::error::Error;
use self::error::{Context as _, Result, bail};
pub(crate) use self::quic::http3::{Http3Opener, Http3Streams};
pub(crate) use self::quic::qlog::VARIABLE as QLOG_VARIABLE;
pub(crate) use self::sctp::info::SctpInfo;
pub(crate) use self::stack::Stack;
pub(crate) use self::tcp::info::TcpInfo;
use crate::clock::Moment;
use crate::content::Reader;
use crate::deadline::Deadline;
use crate::flow::{Header, MessageSink, Pacer, Received};
use crate::job::{Resume, TransportKind};
use crate::record::{Settings, Side, Stats};
use crate::sink::SharedSink;

/// The port every server listens on.
pub(crate) const PORT: u16 = 4433;

/// Where a server listens, and to whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Where.
    pub address: SocketAddr,
    /// The only host whose packets it takes; none for whoever reaches it.
    pub only_from: Option<IpAddr>,
}

/// What an operation that may wait gives.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A client's end: opens connections, all with the same options.
pub(crate) trait Dialer: Send + Sync {
    /// Connects to `server`. Ready when application data may be sent: with early data (`resume = 0rtt`) that is at
    /// once, before the peer has answered anything.
    ///
    /// # Arguments
    /// * `may_resume` - whether it may use what connections before it left.
    fn dial(&self, server: SocketAddr, may_resume: bool) -> Pending<'_, Box<dyn Connection>>;

    /// The host has this address now, and prefers it: later dials leave from it, and connections that stand and migrate
    /// ([`Connection::migrates`]) are carried over to it. Must be called inside the runtime.
    ///
    /// # Errors
    /// As `bind(2)`.
    fn attached(&self, address: IpAddr) -> Result<()>;

    /// The host has this address no longer.
    ///
    /// # Errors
    /// A connection that stands and cannot be told.
    fn detached(&self, _address: IpAddr) -> Result<()> {
        Ok(())
    }
}

/// A server's end, bound and listening.
pub(crate) trait Listener: Send {
    /// DER of the certificate it presents, if the transport has any.
    fn certificate(&self) -> Option<&[u8]>;

    /// The next connection, as a future of its own so that its handshake holds up nobody else's.
    /// Dropping this future loses no connection.
    fn accept(&mut self) -> Pending<'_, Pending<'static, Box<dyn Connection>>>;
}

/// An established connection.
pub(crate) trait Connection: Send + Sync {
    /// Client: when `connect` was called. Server: when the connection was accepted.
    fn start(&self) -> Moment;

    /// When application data could first be sent.
    fn connected(&self) -> Moment;

    /// Opens a stream to the peer.
    fn open_stream(&mut self) -> Pending<'_, Box<dyn Stream>>;

    /// The next stream the peer opened, or none when it has closed the connection.
    /// Dropping this future loses no stream.
    fn accept_stream(&mut self) -> Pending<'_, Option<Box<dyn Stream>>>;

    /// What a protocol that has framing or streams of its own runs over, in place of [`Self::open_stream`] and
    /// [`Self::accept_stream`]. To be asked once. Must be called inside the runtime.
    ///
    /// # Errors
    /// A transport that such protocols do not run over.
    fn carrier(&mut self) -> Result<Carrier> {
        bail!("no such protocol runs over this transport")
    }

    /// One stream of the connection, used both ways at the same time, in place of [`Self::open_stream`] and
    /// [`Self::accept_stream`]; the client opens it. Of `udp` each call takes or gives one datagram. To be asked once.
    fn duplex(&mut self, side: Side) -> Pending<'_, Box<dyn Duplex>>;

    /// Waits until the peer has closed the connection. What it still sends is thrown away.
    /// Dropping this future loses nothing of worth.
    fn closed(&mut self) -> Pending<'_, ()>;

    /// What the stack uses and has counted until now. To be asked while the connection stands.
    ///
    /// # Errors
    /// A stack that does not answer.
    fn report(&self) -> Result<Report>;

    /// Client: whether the connection goes on over the new address after a handover. One whose handshake is not over
    /// does not: its peer cannot yet tell its packets from anybody else's.
    fn migrates(&self) -> bool;

    /// Gives the connection up at once: what waits on its streams fails soon, and nothing is waited for.
    fn abandon(&self);

    /// Gives the connection up, and throws away what it has not sent yet: the path is free of it.
    fn break_off(&self) {
        self.abandon();
    }

    /// Ends the connection in the protocol's orderly way.
    fn close(self: Box<Self>) -> Pending<'static, ()>;
}

/// What application protocols such as HTTP run over.
pub(crate) enum Carrier {
    /// Bytes in order, both ways, as they come.
    Bytes(Box<dyn Duplex>),
    /// QUIC's streams.
    Quic(Http3Streams),
}

/// Bytes in order, both ways, as they come.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Bytes in order, both ways. Of `udp` it is messages, in whatever order they come: it has no content.
pub(crate) trait Stream: Send {
    /// Number of the stream on its connection.
    fn index(&self) -> u32;

    /// Sends a small message.
    fn send<'a>(&'a mut self, message: &'a [u8]) -> Pending<'a, ()>;

    /// Receives a small message: fills the buffer.
    fn receive<'a>(&'a mut self, buffer: &'a mut [u8]) -> Pending<'a, ()>;

    /// Sends all of the content, the fastest way the transport has.
    fn send_content(&mut self, content: Reader) -> Pending<'_, Sent>;

    /// Receives all that `sink` waits for, the fastest way the transport has; the sink may be locked meanwhile. Should the
    /// connection be given up, the sink has what came before.
    fn receive_content(&mut self, sink: SharedSink) -> Pending<'_, ()>;

    /// Sends a small message that the peer answers with another, or with content.
    fn request<'a>(&'a mut self, message: &'a [u8]) -> Pending<'a, ()> {
        self.send(message)
    }

    /// What lies around a message in a packet, where each message is a packet that may be lost; none where messages are part
    /// of a stream that brings them all.
    fn packet_header_bytes(&self) -> Option<u64> {
        None
    }

    /// Sends the messages of a flow, each when it is due. Gives the pacer back, which knows when each was sent.
    fn send_messages(&mut self, mut pacer: Pacer) -> Pending<'_, Pacer> {
        Box::pin(async {
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
        })
    }

    /// Receives the messages of a flow until the sink has all of them, or, where they may be lost, until so long after the
    /// last was due.
    fn receive_messages(&mut self, mut sink: MessageSink, _drain: Duration) -> Pending<'_, MessageSink> {
        Box::pin(async {
            let mut message = vec![0; sink.message_bytes()];
            while !sink.is_complete() {
                self.receive(&mut message).await?;
                sink.arrived(received_now(&message)?);
            }
            Ok(sink)
        })
    }

    /// Says that nothing more will be sent. Ready when what was sent is no longer this process's care: the peer has it
    /// all (true), or the kernel will see to it while the connection stands (false).
    fn finish(&mut self) -> Pending<'_, bool>;
}

/// Messages that are overdue go to a stream together, up to this.
const MESSAGE_BATCH_BYTES: usize = 16 << 10;

/// A message of a flow that has come just now, whole.
pub(crate) fn received_now(message: &[u8]) -> Result<Received> {
    let header = Header::decode(message).context("a message of the flow is too short for its header")?;
    Ok(Received { header, bytes: message.len() as u64, at_ns: Moment::now().since(0) })
}

/// Settings and counters of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    /// What the stack really used.
    pub settings: Settings,
    /// What the stack counted.
    pub stats: Stats,
    /// What it used of an earlier connection.
    pub resumed: Resume,
}

/// A content handed to the transport.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Before the first byte was handed over.
    pub first_byte: Moment,
    /// Hex SHA-256, if asked for.
    pub sha256: Option<String>,
}

impl TransportKind {
    /// The implementation of a transport.
    pub(crate) fn stack(self) -> &'static dyn Stack {
        match self {
            Self::Tcp => &tcp::TcpStack,
            Self::Tls => &tls::TlsStack,
            Self::Sctp => &sctp::SctpStack,
            Self::Quic => &quic::QuicStack,
            Self::Udp => &udp::UdpStack,
            Self::Mptcp => &mptcp::MptcpStack,
        }
    }
}
