//! The UDP socket, and the wait for what comes next: a packet, an order, or a time.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::Duration;

use anyhow::{Context as _, Result};
use netwarp_role::release_clock;

/// More than any packet has.
const MOST_BYTES: usize = 65_535;

/// Packets that are taken from the kernel at once; most wake-ups of virtual time have one.
const BATCH: usize = 16;

/// A socket that never waits to receive.
pub(crate) struct Socket {
    socket: UdpSocket,
    pub(crate) local: SocketAddr,
    /// Room for a batch, [`MOST_BYTES`] each.
    buffer: Vec<u8>,
    /// Length and sender of each packet of the batch.
    batch: Vec<(usize, SocketAddr)>,
    /// How many of them were handed out.
    taken: usize,
    /// Whether the kernel has no more packets, as far as is known: asking it costs as much as half a packet.
    is_drained: bool,
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
            buffer: vec![0; BATCH * MOST_BYTES],
            batch: Vec::with_capacity(BATCH),
            taken: 0,
            is_drained: true,
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

    /// The next packet that had come when [`Self::wait`] ended, if there is one left.
    ///
    /// # Errors
    /// As `recvmmsg(2)`.
    pub(crate) fn receive(&mut self) -> Result<Option<(&mut [u8], SocketAddr)>> {
        if self.taken == self.batch.len() && !self.is_drained {
            self.take_batch().context("receive packets")?;
        }
        let Some(&(length, from)) = self.batch.get(self.taken) else {
            return Ok(None);
        };
        let start = self.taken * MOST_BYTES;
        self.taken += 1;
        Ok(Some((&mut self.buffer[start..start + length], from)))
    }

    fn take_batch(&mut self) -> std::io::Result<()> {
        (self.taken, self.is_drained) = (0, true);
        self.batch.clear();
        // SAFETY: these are structures of integers and pointers, for which all zeros are valid.
        let (mut names, mut parts, mut heads) = unsafe {
            (
                std::mem::zeroed::<[libc::sockaddr_in; BATCH]>(),
                std::mem::zeroed::<[libc::iovec; BATCH]>(),
                std::mem::zeroed::<[libc::mmsghdr; BATCH]>(),
            )
        };
        let rooms = self.buffer.chunks_exact_mut(MOST_BYTES);
        for (((room, name), part), head) in rooms.zip(&mut names).zip(&mut parts).zip(&mut heads) {
            (part.iov_base, part.iov_len) = (room.as_mut_ptr().cast(), room.len());
            let head = &mut head.msg_hdr;
            (head.msg_iov, head.msg_iovlen) = (part, 1);
            head.msg_name = std::ptr::from_mut(name).cast();
            head.msg_namelen = size_of_val(name) as libc::socklen_t;
        }
        // SAFETY: all that the heads point to is valid for writes during the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                heads.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(count) else {
            let error = std::io::Error::last_os_error();
            return match error.kind() {
                ErrorKind::WouldBlock => Ok(()),
                _ => Err(error),
            };
        };
        self.is_drained = count < BATCH;
        self.batch
            .extend(heads.iter().zip(&names).take(count).map(|(head, name)| {
                let address = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
                (
                    head.msg_len as usize,
                    (address, u16::from_be(name.sin_port)).into(),
                )
            }));
        Ok(())
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
    pub(crate) fn wait(&mut self, orders: RawFd, at_most: Option<Duration>) -> Result<bool> {
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
        self.is_drained = polled[1].revents == 0;
        Ok(polled[0].revents != 0)
    }
}
