//! A stream of bytes over a connection of the kernel, as each of its stream transports implements it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use super::Report;
use super::error::Result;
use crate::content::Reader;
use crate::sink::Sink;

/// A stream of a kernel connection; all calls block.
pub(super) trait ByteStream: Send + 'static {
    /// Sends a small message.
    fn send(&mut self, message: &[u8]) -> Result<()>;

    /// Fills the buffer.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<()>;

    /// Sends all of the content.
    fn send_content(&mut self, content: &mut Reader) -> Result<()>;

    /// Receives all that the sink waits for, more than nothing.
    fn receive_content(&mut self, sink: &mut Sink) -> Result<()>;

    /// What has to happen before a receiving call is worth a thread, where streams may wait for long and there are many. None:
    /// a thread may wait as well.
    fn turns(&self) -> Option<Turns> {
        None
    }

    /// Says that nothing more will be sent, where the protocol has a word for it above the kernel.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Receives some bytes without waiting, at least one; 0 when the peer will send nothing more. For streams that are the whole
    /// of a connection.
    ///
    /// # Errors
    /// `WouldBlock` when there are none; as `recv(2)`.
    fn try_receive(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes some bytes to send without waiting, at least one.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; as `send(2)`.
    fn try_send(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Hands what [`Self::try_send`] has taken to the kernel, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room for all; as `send(2)`.
    fn try_flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// As [`Self::finish`], but leaves what is to be sent to [`Self::try_flush`].
    fn end(&mut self) {}

    /// Settings and counters.
    fn report(&self) -> Result<Report>;
}

/// Makes futures that are ready when a receiving call is worth a thread. What they give is to be kept until the call is over.
pub(super) type Turns = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>> + Send + Sync>;
