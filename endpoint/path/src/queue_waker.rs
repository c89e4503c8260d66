//! Makes the kernel check the queues of a router's devices, by sending a packet that is dropped.
//!
//! [`crate::netlink::bottleneck::add_shaped_netem`] explains why, and where the packet is dropped.

use std::io;
use std::os::fd::AsRawFd as _;

use anyhow::{Context, Result, ensure};
use libc::{c_int, sockaddr_ll, socklen_t};
use nix::sys::socket::{SetSockOpt as _, sockopt};
use socket2::{Domain, Socket, Type};

use crate::netlink::bottleneck::WAKING_PRIORITY;

/// An Ethernet frame of the minimum size, with addresses of zeros.
const FRAME: [u8; 60] = [0; 60];

/// A packet socket that sends packets to wake queues, in the network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct QueueWaker(Socket);

impl QueueWaker {
    /// Opens a socket in the caller's network namespace. It receives no packets.
    pub(crate) fn open() -> Result<Self> {
        let socket = Socket::new(Domain::PACKET, Type::RAW, None).context("open a packet socket")?;
        sockopt::Priority.set(&socket, &(WAKING_PRIORITY as c_int)).context("set a packet socket's SO_PRIORITY")?;
        Ok(Self(socket))
    }

    /// Makes the kernel check the queues of the device with this index.
    ///
    /// # Errors
    /// As `sendto(2)`; the packet was not dropped.
    pub(crate) fn wake(&self, index: u32) -> Result<()> {
        // SAFETY: all-zero is a valid address.
        let mut address: sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = c_int::try_from(index).context("an interface index")?;
        // SAFETY: frame and address are valid for reads of their sizes.
        let sent = unsafe {
            let (pointer, size) = (std::ptr::from_ref(&address).cast(), size_of_val(&address) as socklen_t);
            libc::sendto(self.0.as_raw_fd(), FRAME.as_ptr().cast(), FRAME.len(), 0, pointer, size)
        };
        let error = io::Error::last_os_error();
        ensure!(sent < 0, "a packet that should only wake link {index} got through");
        // The packet was dropped, as it should be (net_xmit_errno).
        ensure!(error.raw_os_error() == Some(libc::ENOBUFS), "wake link {index} (sendto): {error}");
        Ok(())
    }
}
