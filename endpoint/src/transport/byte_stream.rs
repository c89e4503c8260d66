//! A stream of bytes over a connection of the kernel, as each of its stream transports implements it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use super::error::Result;
use super::{MESSAGE_BATCH_BYTES, Report, received_now};
use crate::clock::Moment;
use crate::content::Reader;
use crate::flow::{MessageSink, Pacer, sleep_until};
use crate::sink::Sink;

/// A stream of a kernel connection; all calls block.
pub(super) trait ByteStream: ReadyStream + Sized {
    /// Sends a small message.
    fn send(&mut self, message: &[u8]) -> Result<()>;

    /// Fills the buffer.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<()>;

    /// Sends all of the content.
    fn send_content(&mut self, content: &mut Reader) -> Result<()>;

    /// Receives all that the sink waits for, more than nothing.
    fn receive_content(&mut self, sink: &mut Sink) -> Result<()>;

    /// Sends the messages of a flow, each when it is due.
    fn send_messages(&mut self, pacer: &mut Pacer) -> Result<()> {
        send_in_order(self, pacer)
    }

    /// Receives the messages of a flow: all of them, or all that will come where they may be given up.
    fn receive_messages(&mut self, sink: &mut MessageSink) -> Result<()> {
        receive_in_order(self, sink)
    }

    /// What has to happen before a receiving call is worth a thread, where streams may wait for long and there are many. None:
    /// a thread may wait as well.
    fn turns(&self) -> Option<Turns> {
        None
    }

    /// Says that nothing more will be sent, where the protocol has a word for it above the kernel.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Settings and counters.
    fn report(&self) -> Result<Report>;
}

/// Sends the messages of a flow one after another on the stream; those that are overdue together.
pub(super) fn send_in_order(stream: &mut impl ByteStream, pacer: &mut Pacer) -> Result<()> {
    let mut batch = Vec::new();
    while let Some(due_ns) = pacer.next_due_ns() {
        sleep_until(due_ns);
        pacer.due_messages(Moment::now().since(0), MESSAGE_BATCH_BYTES, &mut batch);
        stream.send(&batch)?;
    }
    Ok(())
}

/// Receives all messages of a flow that come one after another on the stream.
pub(super) fn receive_in_order(stream: &mut impl ByteStream, sink: &mut MessageSink) -> Result<()> {
    let mut message = vec![0; sink.message_bytes()];
    while !sink.is_complete() {
        stream.receive(&mut message)?;
        sink.arrived(received_now(&message)?);
    }
    Ok(())
}

/// Makes futures that are ready when a receiving call is worth a thread. What they give is to be kept until the call is over.
pub(super) type Turns = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>> + Send + Sync>;

/// What moves bytes without waiting, when the event loop says that it can: a stream that is the whole of a connection.
pub(super) trait ReadyStream: Send + 'static {
    /// Receives some bytes without waiting, at least one; 0 when the peer will send nothing more.
    ///
    /// # Errors
    /// `WouldBlock` when there are none; as `recv(2)`.
    fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Takes some bytes to send without waiting, at least one.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; as `send(2)`.
    fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Hands what [`Self::try_send`] has taken to the kernel, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room for all; as `send(2)`.
    fn try_flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Says that nothing more will be sent, where the protocol has a word for it above the kernel; leaves it to [`Self::try_flush`].
    fn end(&mut self) {}
}
