//! The UDP socket, and the wait for what comes next: a packet, an order, or a time.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::Duration;

use anyhow::{Context as _, Result};
use netwarp_role::release_clock;

/// More than any packet has.
const MOST_BYTES: usize = 65_535;

/// A socket that never waits to receive.
pub(crate) struct Socket {
    socket: UdpSocket,
    pub(crate) local: SocketAddr,
    buffer: Vec<u8>,
}

impl Socket {
    /// Opens a socket at an address, with buffers of this size each way.
    ///
    /// # Errors
    /// An address that is not to be had.
    pub(crate) fn open(address: SocketAddr, buffer_bytes: u64) -> Result<Self> {
        let socket = UdpSocket::bind(address).with_context(|| format!("listen at {address}"))?;
        for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
            let size = i32::try_from(buffer_bytes).unwrap_or(i32::MAX);
            // SAFETY: `size` is valid for reads of its size.
            unsafe {
                let value = std::ptr::from_ref(&size).cast();
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    value,
                    size_of_val(&size) as u32,
                );
            }
        }
        let local = socket
            .local_addr()
            .context("ask for the socket's address")?;
        Ok(Self {
            socket,
            local,
            buffer: vec![0; MOST_BYTES],
        })
    }

    /// Sends a packet; one that the kernel has no room for is lost, as on any path.
    ///
    /// # Errors
    /// Another failure.
    pub(crate) fn send(&self, packet: &[u8], to: SocketAddr) -> Result<()> {
        match self.socket.send_to(packet, to) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            sent => sent
                .map(drop)
                .with_context(|| format!("send a packet to {to}")),
        }
    }

    /// The next packet that has come, if one has.
    ///
    /// # Errors
    /// As `recvfrom(2)`.
    pub(crate) fn receive(&mut self) -> Result<Option<(&mut [u8], SocketAddr)>> {
        match self.socket.recv_from(&mut self.buffer) {
            Ok((length, from)) => Ok(Some((&mut self.buffer[..length], from))),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error).context("receive a packet"),
        }
    }

    /// Makes [`Self::receive`] and [`Self::send`] return at once.
    ///
    /// # Errors
    /// As `fcntl(2)`.
    pub(crate) fn never_wait(&self) -> Result<()> {
        self.socket
            .set_nonblocking(true)
            .context("have the socket never wait")
    }

    /// Waits for a packet, for an order, or until a time has passed; says whether there is an order.
    ///
    /// # Errors
    /// As `ppoll(2)`.
    pub(crate) fn wait(&self, orders: RawFd, at_most: Option<Duration>) -> Result<bool> {
        release_clock();
        let watched = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let mut polled = [watched(orders), watched(self.socket.as_raw_fd())];
        let limit = at_most.map(|limit| libc::timespec {
            tv_sec: limit.as_secs() as libc::time_t,
            tv_nsec: limit.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the array and the time are valid during the call, and there is no mask.
        let count = unsafe {
            libc::ppoll(
                polled.as_mut_ptr(),
                polled.len() as u64,
                limit,
                std::ptr::null(),
            )
        };
        let error = std::io::Error::last_os_error();
        if count < 0 && error.kind() != ErrorKind::Interrupted {
            return Err(error).context("wait for packets (ppoll)");
        }
        Ok(polled[0].revents != 0)
    }
}
