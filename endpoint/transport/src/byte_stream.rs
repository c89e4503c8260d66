//! The interface of a byte stream over a kernel socket (TCP, MPTCP, SCTP, or TLS over TCP).

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use netwarp_core::clock::Moment;
use netwarp_core::content_sink::Sink;
use netwarp_core::flow::{MessageSink, Pacer, sleep_until};
use netwarp_wire::content::Reader;

use super::error::{Result, bail};
use super::{MESSAGE_BATCH_BYTES, Report, received_now};

/// A byte stream over a kernel socket, read and written with blocking system calls.
pub(super) trait ByteStream: ReadyStream + Sized {
    /// Sends a small message.
    fn send(&mut self, message: &[u8]) -> Result<()>;

    /// Receives a small message: fills the buffer.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<()>;

    /// Sends the whole content.
    fn send_content(&mut self, content: &mut Reader) -> Result<()>;

    /// Receives until the sink has all of its content; at least one byte must be missing.
    fn receive_content(&mut self, sink: &mut Sink) -> Result<()>;

    /// Sends the messages of a flow, each when it is due.
    fn send_messages(&mut self, pacer: &mut Pacer) -> Result<()> {
        send_in_order(self, pacer)
    }

    /// Receives the messages of a flow: all of them or, if the protocol may abandon messages (PR-SCTP), all that
    /// arrive.
    fn receive_messages(&mut self, sink: &mut MessageSink) -> Result<()> {
        receive_in_order(self, sink)
    }

    /// Returns a function that makes futures, to be awaited before each receiving call on a thread, so that many
    /// waiting streams need few threads. `None` if receiving calls may wait on their threads.
    fn turns(&self) -> Option<Turns> {
        None
    }

    /// Tells the peer that this side sends nothing more on the stream.
    ///
    /// # Errors
    /// A stream of this protocol cannot end in one direction alone.
    fn close_sending(&mut self) -> Result<()> {
        bail!("a stream of this transport does not end in one direction alone")
    }

    /// Ends the stream if the protocol, such as TLS, has a message for that.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns the connection's settings and counters.
    fn report(&self) -> Result<Report>;
}

/// Sends the messages of a flow in order on the stream. Overdue messages are sent together.
pub(super) fn send_in_order(stream: &mut impl ByteStream, pacer: &mut Pacer) -> Result<()> {
    let mut batch = Vec::new();
    while let Some(due_ns) = pacer.next_due_ns() {
        sleep_until(due_ns);
        pacer.due_messages(Moment::now().since(0), MESSAGE_BATCH_BYTES, &mut batch);
        stream.send(&batch)?;
    }
    Ok(())
}

/// Receives all messages of a flow, which arrive in order on the stream.
pub(super) fn receive_in_order(stream: &mut impl ByteStream, sink: &mut MessageSink) -> Result<()> {
    let mut message = vec![0; sink.message_bytes()];
    while !sink.is_complete() {
        stream.receive(&mut message)?;
        sink.arrived(received_now(&message)?);
    }
    Ok(())
}

/// Makes a future that becomes ready when a receiving call on a thread would not wait long. The future's value must be
/// kept until the call is over.
pub(super) type Turns = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>> + Send + Sync>;

/// A connection's only stream, read and written without blocking when the event loop reports that the socket is ready.
pub(super) trait ReadyStream: Send + 'static {
    /// Receives some bytes without blocking, at least one; 0 when the peer will send nothing more.
    ///
    /// # Errors
    /// `WouldBlock` when no bytes are available; as `recv(2)`.
    fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Takes over at least one byte for sending, without blocking, and returns how many were taken.
    ///
    /// # Errors
    /// `WouldBlock` when the send buffer has no room; as `send(2)`.
    fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Passes the bytes that [`Self::try_send`] has taken over to the kernel, without blocking.
    ///
    /// # Errors
    /// `WouldBlock` when the send buffer has no room for all; as `send(2)`.
    fn try_flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends the stream if the protocol, such as TLS, has a message for that, which [`Self::try_flush`] then sends.
    fn end(&mut self) {}
}
