//! A blocking stream socket of the kernel, with the calls that the transports make on it.

use std::fs;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use libc::c_int;
use netwarp_wire::content::Reader;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::sendfile::sendfile;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::connection_errors::lost_subflows;
use super::error::{Context as _, Error, Result, bail};
use super::system_call::{Plain, get_option, retry, set_option, size};

/// How many bytes of content are passed to the kernel in one call.
pub(crate) const SEND_BLOCK_BYTES: usize = 1 << 20;

/// The most bytes asked for in one call: `recv(2)` and `sendfile(2)` move just under 2 GiB.
const LONGEST_CALL_BYTES: u64 = 1 << 30;

/// A socket whose calls block.
#[derive(Debug)]
pub struct Socket(socket2::Socket);

impl From<socket2::Socket> for Socket {
    fn from(socket: socket2::Socket) -> Self {
        Self(socket)
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl std::ops::Deref for Socket {
    type Target = socket2::Socket;

    fn deref(&self) -> &socket2::Socket {
        &self.0
    }
}

impl Socket {
    /// Sends all bytes, in one call if no signal interrupts it.
    pub(crate) fn send_all(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let sent = self.sending(|| self.0.send_with_flags(bytes, libc::MSG_NOSIGNAL)).context("sending")?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends some of the bytes, normally all (`sendmsg(2)`).
    pub(crate) fn send_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let sent = retry(|| self.0.send_vectored_with_flags(parts, libc::MSG_NOSIGNAL));
        sent.map_err(|error| self.explained(error))
    }

    /// Sends the content, directly from its file where the kernel can, otherwise block by block.
    ///
    /// # Errors
    /// The content cannot be read, or the connection is lost.
    pub fn send_content(&self, content: &mut Reader) -> Result<()> {
        if content.sendable_file().is_some() {
            return self.send_file(content);
        }
        let mut block = vec![0; content.remaining_bytes().min(SEND_BLOCK_BYTES as u64) as usize];
        while content.remaining_bytes() > 0 {
            self.send_all(content.read(&mut block)?)?;
        }
        Ok(())
    }

    fn send_file(&self, content: &mut Reader) -> Result<()> {
        while let (Some(file), length @ 1..) = (content.sendable_file(), content.remaining_bytes()) {
            let length = length.min(LONGEST_CALL_BYTES) as usize;
            let sent = self.sending(|| Ok(sendfile(&self.0, file, None, length)?)).context("sending a file")?;
            if sent == 0 {
                bail!("the file to send ended {} bytes early: leave it unchanged during a run", length);
            }
            content.advance(sent as u64);
        }
        Ok(())
    }

    /// Makes a sending call that waits for buffer space. If it waits only for a limited time, as with MPTCP, it is
    /// repeated for as long as the connection exists.
    fn sending(&self, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match retry(&mut call) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.has_lost_its_subflows() {
                        return Err(lost_subflows(&error));
                    }
                }
                result => return result.map_err(|error| self.explained(error)),
            }
        }
    }

    /// Fills the buffer, waiting for all of it in one call.
    ///
    /// # Errors
    /// As `recv(2)`; the peer closes before the buffer is full.
    pub(crate) fn receive_exact(&self, buffer: &mut [u8]) -> Result<()> {
        if !self.receive_exact_or_end(buffer)? {
            let message = format!("the peer closed the connection when {} bytes were to come", buffer.len());
            return Err(Error::closed(message));
        }
        Ok(())
    }

    /// Fills the buffer, or returns false if the peer closed before its first byte.
    ///
    /// # Errors
    /// As `recv(2)`; the peer closes after some of the bytes.
    pub(crate) fn receive_exact_or_end(&self, buffer: &mut [u8]) -> Result<bool> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.receive(&mut buffer[filled..], libc::MSG_WAITALL).context("receiving")? {
                0 if filled == 0 => return Ok(false),
                0 => {
                    let message = format!("the peer closed the connection after {filled} of {} bytes", buffer.len());
                    return Err(Error::closed(message));
                }
                received => filled += received,
            }
        }
        Ok(true)
    }

    /// Receives some bytes (`recv(2)`); 0 when the peer has closed.
    ///
    /// # Errors
    /// As `recv(2)`; `TimedOut` for a reset by a peer that had given up the set-up.
    pub fn receive(&self, buffer: &mut [u8], flags: c_int) -> io::Result<usize> {
        self.receive_or_reset(buffer, flags).map_err(|error| self.explained(error))
    }

    /// Receives as [`Self::receive`] does, but returns the kernel's error unchanged.
    pub(super) fn receive_or_reset(&self, buffer: &mut [u8], flags: c_int) -> io::Result<usize> {
        let (address, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the buffer is valid for writes of its length.
        retry(|| size(unsafe { libc::recv(self.as_raw_fd(), address, length, flags) }))
    }

    /// Sends some of the bytes without waiting (`send(2)`).
    ///
    /// # Errors
    /// `WouldBlock` when the send buffer has no room; as `send(2)`.
    pub(crate) fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        let sent = retry(|| self.0.send_with_flags(bytes, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT));
        sent.map_err(|error| self.explained(error))
    }

    /// Receives some bytes without waiting (`recv(2)`); 0 when the peer has closed.
    ///
    /// # Errors
    /// `WouldBlock` when no bytes are available; as `recv(2)`.
    pub(crate) fn try_receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer, libc::MSG_DONTWAIT)
    }

    /// Waits for the next `length` bytes and discards them without copying: TCP's `MSG_TRUNC` (tcp(7)).
    pub(crate) fn discard(&self, length: u64) -> Result<u64> {
        let length = length.min(LONGEST_CALL_BYTES) as usize;
        let flags = libc::MSG_TRUNC | libc::MSG_WAITALL;
        // SAFETY: with MSG_TRUNC, TCP writes nothing to the buffer, so that none is needed.
        let call = || size(unsafe { libc::recv(self.as_raw_fd(), std::ptr::null_mut(), length, flags) });
        Ok(retry(call).map_err(|error| self.explained(error)).context("receiving")? as u64)
    }

    /// Waits until there is something to read, or the connection has ended.
    pub(crate) fn await_readable(&self) -> io::Result<()> {
        self.poll(PollTimeout::NONE).map(drop)
    }

    /// Waits for at most `at_most` until there is something to read or the connection has ended; returns false if
    /// neither happened.
    pub(crate) fn await_readable_for(&self, at_most: Duration) -> io::Result<bool> {
        let timeout = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX);
        self.poll(timeout).map(|ready| ready > 0)
    }

    /// Returns whether there is something to read or to accept, or the connection has ended.
    pub(crate) fn is_readable(&self) -> io::Result<bool> {
        self.poll(PollTimeout::ZERO).map(|ready| ready > 0)
    }

    fn poll(&self, timeout: PollTimeout) -> io::Result<c_int> {
        let mut socket = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        retry(|| Ok(poll(&mut socket, timeout)?))
    }

    /// Accepts a connection without waiting. Returns its socket and the peer's address.
    ///
    /// It first checks whether there is one: SCTP's `accept(2)` sleeps until the next tick even on a non-blocking
    /// socket (`sctp_wait_for_accept` calls `schedule_timeout(0)`), and a guest's tick is 10 ms.
    ///
    /// # Errors
    /// As `accept(2)`; `WouldBlock` when there is none.
    pub(crate) fn accept_now(&self) -> io::Result<(Self, Option<SocketAddr>)> {
        match self.is_readable()? {
            false => Err(ErrorKind::WouldBlock.into()),
            true => self.0.accept().map(|(socket, peer)| (Self(socket), peer.as_socket())),
        }
    }

    /// Discards data that has arrived, without waiting. Returns true if the peer has closed.
    ///
    /// It is called after the last stream, when no more data is wanted.
    ///
    /// # Errors
    /// As `recv(2)`, except for errors that only mean that the connection has ended.
    pub fn drain(&self) -> io::Result<bool> {
        self.discard_to_end(libc::MSG_DONTWAIT)
    }

    /// Discards what arrives until the peer has closed, or until nothing has arrived for as long as the socket waits
    /// (`SO_RCVTIMEO`).
    pub(crate) fn wait_for_end(&self) -> Result<()> {
        self.discard_to_end(0).map(drop).context("waiting for the peer to close")
    }

    fn discard_to_end(&self, flags: c_int) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        loop {
            match self.receive_or_reset(&mut buffer, flags) {
                Ok(0) => return Ok(true),
                Ok(_) => {}
                Err(error) if is_end(error.kind()) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(self.explained(error)),
            }
        }
    }

    /// Sets a socket option that is a plain C value (`setsockopt(2)`).
    ///
    /// # Errors
    /// As `setsockopt(2)`; `name` is what the message calls the option.
    pub fn set<T: Copy>(&self, level: c_int, option: c_int, value: &T, name: &str) -> Result<()> {
        set_option(self.as_raw_fd(), level, option, value).with_context(|| format!("setting {name}"))
    }

    /// Reads a socket option that is a plain C value (`getsockopt(2)`). Fields of `value` may be part of the request;
    /// those that the kernel does not fill keep their values.
    ///
    /// # Errors
    /// As `getsockopt(2)`; `name` is what the message calls the option.
    pub fn get<T: Plain>(&self, level: c_int, option: c_int, value: T, name: &str) -> Result<T> {
        get_option(self.as_raw_fd(), level, option, value).with_context(|| format!("reading {name}"))
    }

    /// Sets the congestion control.
    ///
    /// # Errors
    /// The kernel does not have it; the message names those it has.
    pub(crate) fn set_congestion(&self, congestion: &str) -> Result<()> {
        self.0.set_tcp_congestion(congestion.as_bytes()).map_err(|error| {
            let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
            let available = fs::read_to_string(file).unwrap_or_else(|error| format!("unknown ({file}: {error})"));
            anyhow!("setting TCP congestion control {congestion:?}: {error}; this kernel has: {}", available.trim())
                .into()
        })
    }
}

/// Makes the event loop watch the socket for something to read. Must be called inside the tokio runtime.
///
/// # Errors
/// As `epoll_ctl(2)`.
pub fn watch(socket: Arc<Socket>) -> Result<AsyncFd<Arc<Socket>>> {
    // SAFETY: a Socket owns its descriptor and never gives it up or changes it.
    let watched = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
    watched.map_err(io::Error::from).context("watching a socket")
}

/// Sets the sizes of a socket's send and receive buffers: beyond the limits of `net.core` if the process is privileged
/// (`SO_SNDBUFFORCE`, `SO_RCVBUFFORCE`; CAP_NET_ADMIN), otherwise up to these limits. The effective size must be read
/// back.
pub fn set_buffers(socket: &impl AsRawFd, bytes: u64) -> Result<()> {
    set_send_buffer(socket, bytes)?;
    set_buffer(socket, bytes, (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, "SO_RCVBUF"))
}

/// Sets the size of the send buffer only.
pub(crate) fn set_send_buffer(socket: &impl AsRawFd, bytes: u64) -> Result<()> {
    set_buffer(socket, bytes, (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, "SO_SNDBUF"))
}

/// Sets the size of a buffer, beyond the host's limit if the process is privileged.
fn set_buffer(socket: &impl AsRawFd, bytes: u64, (forced, allowed, name): (c_int, c_int, &str)) -> Result<()> {
    let size = c_int::try_from(bytes).with_context(|| format!("a socket buffer cannot have {bytes} bytes"))?;
    let fd = socket.as_raw_fd();
    if set_option(fd, libc::SOL_SOCKET, forced, &size).is_err() {
        set_option(fd, libc::SOL_SOCKET, allowed, &size).with_context(|| format!("setting {name}"))?;
    }
    Ok(())
}

/// Returns the effective size of the send buffer: half of the size that the kernel reports, because it doubles the
/// requested size for its own overhead (socket(7)).
pub fn effective_send_bytes(socket: &socket2::Socket) -> Result<u64> {
    Ok(socket.send_buffer_size().context("reading SO_SNDBUF")? as u64 / 2)
}

/// Returns the effective size of the receive buffer, like [`effective_send_bytes`].
pub fn effective_receive_bytes(socket: &socket2::Socket) -> Result<u64> {
    Ok(socket.recv_buffer_size().context("reading SO_RCVBUF")? as u64 / 2)
}

/// Returns whether an error means that the connection has ended: a reset, or the error of an SCTP association after
/// both sides have shut it down.
fn is_end(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::ConnectionReset | ErrorKind::NotConnected)
}
