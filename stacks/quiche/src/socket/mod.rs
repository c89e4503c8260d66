//! The UDP socket, and how a role waits: for a packet, for an order, or until a time.

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

/// The largest payload that the kernel accepts at once, for one datagram or for several that it splits, in bytes.
pub(crate) const MOST_BYTES: usize = 65_507;

/// The descriptor for a wait without orders.
pub(crate) const NO_ORDERS: RawFd = -1;

/// A socket that never waits to send or to receive.
pub(crate) trait Socket {
    /// Replaces the socket by one at another port, after everything was sent.
    fn renew(&mut self) -> Result<()>;

    /// Returns the kernel's socket.
    fn bound(&self) -> &Bound;

    /// Returns the socket's own address.
    fn local(&self) -> SocketAddr {
        self.bound().local
    }

    /// Returns how many packets a train may have.
    fn most_packets(&self) -> usize {
        self.bound().state.max_gso_segments()
    }

    /// Sends packets. Those for which the kernel has no room are lost, as on any path.
    ///
    /// # Errors
    /// The kernel refuses them for another reason. The error may be returned by the next wait instead.
    fn send(&mut self, train: &Train<'_>) -> Result<()>;

    /// Returns the next packet of those that had arrived when [`Self::wait`] ended, and its sender.
    fn receive(&mut self) -> Result<Option<(&mut [u8], SocketAddr)>>;

    /// Waits for a packet, for an order, or until a time has passed. Returns whether there is an order.
    fn wait(&mut self, orders: RawFd, at_most: Option<Duration>) -> Result<bool>;
}

/// Packets of one size, one after another; the last may be shorter.
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

/// Opens a socket at an address. In virtual time it sends, waits and receives in one system call.
///
/// # Arguments
/// * `buffer_bytes` - the size of the send buffer, and of the receive buffer.
/// * `payload_bytes` - the payload of the largest packet.
///
/// # Errors
/// The address is not available, or the kernel has no rings (`io_uring`).
pub(crate) fn open(address: SocketAddr, buffer_bytes: u64, payload_bytes: u32) -> Result<Box<dyn Socket>> {
    if held_clock::is_virtual() {
        let ringed = Ringed::open(address, buffer_bytes, payload_bytes)?;
        return Ok(Box::new(ringed));
    }
    open_polled(address, buffer_bytes)
}

/// Opens a socket at an address, for real time.
pub(crate) fn open_polled(address: SocketAddr, buffer_bytes: u64) -> Result<Box<dyn Socket>> {
    Ok(Box::new(Polled::open(address, buffer_bytes)?))
}

/// A socket of the kernel, and how it was opened.
pub(crate) struct Bound {
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

    /// Opens another socket like this one, at another port.
    fn anew(&self) -> Result<Self> {
        Self::new((self.local.ip(), 0).into(), self.buffer_bytes)
    }
}

/// Returns whether an error of sending means only that packets are lost.
fn is_lost(error: &Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}
