//! Asynchronous reads and writes on the byte stream of a kernel socket, for protocols with their own framing, such as
//! HTTP.
//!
//! These protocols read whatever is available, and write while they read. Blocking calls cannot do that, so the event
//! loop watches the socket.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use super::byte_stream::ReadyStream;
use super::error::{Context as _, Result};
use super::socket::Socket;

/// A byte stream whose kernel socket the event loop watches. The stream is shared, so that the connection's counters
/// can be read as well.
pub(super) struct WatchedStream<S> {
    stream: Arc<Mutex<S>>,
    socket: AsyncFd<Arc<Socket>>,
}

impl<S: ReadyStream> WatchedStream<S> {
    /// Makes the event loop watch the connection's socket. Must be called inside the tokio runtime.
    pub(super) fn new(stream: Arc<Mutex<S>>, socket: Arc<Socket>) -> Result<Self> {
        // SAFETY: a Socket owns its descriptor and never gives it up or changes it.
        let watched = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE | Interest::WRITABLE) };
        Ok(Self { stream, socket: watched.map_err(io::Error::from).context("watching a socket")? })
    }

    /// Calls `call`, which sends, once the socket has room.
    fn poll_sending<T>(
        &self,
        context: &mut Context<'_>,
        mut call: impl FnMut(&mut S) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            let mut ready = ready!(self.socket.poll_write_ready(context))?;
            match call(&mut self.stream.lock().expect("no holder panics")) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => ready.clear_ready(),
                result => return Poll::Ready(result),
            }
        }
    }
}

impl<S: ReadyStream> AsyncRead for WatchedStream<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            // The socket stays ready until nothing is left to read, in it and in the TLS session.
            let mut ready = ready!(self.socket.poll_read_ready(context))?;
            match self.stream.lock().expect("no holder panics").try_receive(buffer.initialize_unfilled()) {
                Ok(received) => {
                    buffer.advance(received);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<S: ReadyStream> AsyncWrite for WatchedStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_sending(context, |stream| stream.try_send(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_sending(context, ReadyStream::try_flush)
    }

    /// Ends the stream if the protocol, such as TLS, has a message for that. [`super::Connection::close`] ends the
    /// kernel's connection.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.lock().expect("no holder panics").end();
        self.poll_flush(context)
    }
}
