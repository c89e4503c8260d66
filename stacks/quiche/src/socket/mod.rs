//! The UDP socket of a role, with which the role also waits: for a packet, for an order, or until a time.

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

/// The largest payload that the kernel accepts in one call, in bytes: of one datagram, or of several that the kernel
/// separates (UDP GSO).
pub(crate) const MOST_BYTES: usize = 65_507;

/// The descriptor to pass for a wait that does not watch for orders.
pub(crate) const NO_ORDERS: RawFd = -1;

/// A UDP socket whose sending and receiving never block; only [`Self::wait`] does.
pub(crate) trait Socket {
    /// Sends the remaining packets, and replaces the socket by one at another port.
    fn renew(&mut self) -> Result<()>;

    /// Returns the kernel's socket, with its address.
    fn bound(&self) -> &Bound;

    /// Returns the socket's own address.
    fn local(&self) -> SocketAddr {
        self.bound().local
    }

    /// Returns how many packets can be sent in one [`Train`].
    fn most_packets(&self) -> usize {
        self.bound().state.max_gso_segments()
    }

    /// Sends packets. Those for which the kernel has no buffer space are lost, as on any path.
    ///
    /// # Errors
    /// The kernel refuses packets for another reason. The error may be returned by the next wait instead.
    fn send(&mut self, train: &Train<'_>) -> Result<()>;

    /// Returns the next of the packets that had arrived when [`Self::wait`] ended, and the packet's sender; `None`
    /// after the last.
    fn receive(&mut self) -> Result<Option<(&mut [u8], SocketAddr)>>;

    /// Waits for a packet or an order, but at most for `at_most`. Returns whether there is an order to read.
    fn wait(&mut self, orders: RawFd, at_most: Option<Duration>) -> Result<bool>;
}

/// Packets of the same size to the same address, one after another; the last may be shorter.
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
/// * `buffer_bytes` - the size of the send buffer and of the receive buffer, in bytes.
/// * `payload_bytes` - the payload of the largest packet, in bytes.
///
/// # Errors
/// The address is not available, or the kernel does not have what a ring (`io_uring`) needs.
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

/// A socket of the kernel, with its address and buffer size.
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

    /// Opens a new socket with the same IP address and buffers, at another port.
    fn reopen_elsewhere(&self) -> Result<Self> {
        Self::new((self.local.ip(), 0).into(), self.buffer_bytes)
    }
}

/// Returns whether a send error only means that packets are lost.
fn is_lost(error: &Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}
