//! The UDP socket, and the wait for what comes next: a packet, an order, or a time.

mod polled;
mod ringed;

use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use netwarp_virtual_time::held_clock;
use netwarp_virtual_time::udp::{Transmit, UdpSocketState};

use self::polled::Polled;
use self::ringed::Ringed;

/// Most that one datagram, or several that the kernel splits, may have.
pub(crate) const MOST_BYTES: usize = 65_507;

/// A socket that never waits to send or to receive.
pub(crate) trait Socket {
    /// Gives it another port. What was to be sent has been.
    ///
    /// # Errors
    /// As [`open`].
    fn renew(&mut self) -> Result<()>;

    /// Where it is.
    fn local(&self) -> SocketAddr;

    /// How many packets may go in a train.
    fn most_packets(&self) -> usize;

    /// Sends packets; what the kernel has no room for is lost, as on any path.
    ///
    /// # Errors
    /// Another failure, now or at the next wait.
    fn send(&mut self, train: &Train<'_>) -> Result<()>;

    /// The next packet that had come when [`Self::wait`] ended, if there is one left.
    ///
    /// # Errors
    /// As `recvmmsg(2)`.
    fn receive(&mut self) -> Result<Option<(&mut [u8], SocketAddr)>>;

    /// Waits for a packet, for an order, or until a time has passed; says whether there is an order.
    ///
    /// # Errors
    /// As `ppoll(2)` or `io_uring_enter(2)`.
    fn wait(&mut self, orders: RawFd, at_most: Option<Duration>) -> Result<bool>;
}

/// Packets of one size, of which the last may be shorter, in a row.
pub(crate) struct Train<'a> {
    pub(crate) contents: &'a [u8],
    pub(crate) packet_bytes: usize,
    pub(crate) to: SocketAddr,
}

impl Train<'_> {
    fn transmit(&self) -> Transmit<'_> {
        let is_several = self.contents.len() > self.packet_bytes;
        Transmit {
            destination: self.to,
            ecn: None,
            contents: self.contents,
            segment_size: is_several.then_some(self.packet_bytes),
            src_ip: None,
        }
    }
}

/// Opens a socket at an address, with buffers of this size each way, for packets of at most this payload. In virtual time it sends, waits
/// and receives in one system call.
///
/// # Errors
/// An address that is not to be had; a kernel that cannot do it.
pub(crate) fn open(address: SocketAddr, buffer_bytes: u64, payload_bytes: u32) -> Result<Box<dyn Socket>> {
    if held_clock::is_virtual() {
        let ringed = Ringed::open(address, buffer_bytes, payload_bytes)?;
        return Ok(Box::new(ringed));
    }
    open_polled(address, buffer_bytes)
}

/// As [`open`], in real time.
///
/// # Errors
/// An address that is not to be had.
pub(crate) fn open_polled(address: SocketAddr, buffer_bytes: u64) -> Result<Box<dyn Socket>> {
    Ok(Box::new(Polled::open(address, buffer_bytes)?))
}

/// A socket of the kernel's, and what is known of it.
struct Bound {
    socket: Arc<UdpSocket>,
    state: UdpSocketState,
    local: SocketAddr,
    buffer_bytes: u64,
}

impl Bound {
    fn new(address: SocketAddr, buffer_bytes: u64) -> Result<Self> {
        let socket = UdpSocket::bind(address).with_context(|| format!("listen at {address}"))?;
        let state = UdpSocketState::new((&socket).into()).context("prepare the socket")?;
        let size = usize::try_from(buffer_bytes).unwrap_or(usize::MAX);
        let sized = state
            .set_send_buffer_size((&socket).into(), size)
            .and_then(|()| state.set_recv_buffer_size((&socket).into(), size));
        sized.with_context(|| format!("give the socket buffers of {size} bytes"))?;
        let local = socket.local_addr().context("ask for the socket's address")?;
        Ok(Self { socket: Arc::new(socket), state, local, buffer_bytes })
    }

    /// Another one, at another port.
    fn anew(&self) -> Result<Self> {
        Self::new((self.local.ip(), 0).into(), self.buffer_bytes)
    }
}

/// Whether a failure to send says no more than that packets are lost.
fn is_lost(error: &Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}
