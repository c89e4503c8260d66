//! Receives the datagrams of a flow with the kernel's time stamps, many in each call (`recvmmsg(2)`).

use std::io::ErrorKind;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use libc::{c_uint, iovec, mmsghdr};
use netwarp_core::clock::Moment;
use netwarp_core::flow::{HEADER_BYTES, Header, MessageSink, Received};

use crate::error::{Context as _, Result};
use crate::socket::Socket;
use crate::stamp::{Control, stamp_ns};
use crate::system_call::{retry, size};

/// The most datagrams in one call. The call waits for all of them, which does no harm, because the kernel records when
/// each arrives.
const BATCH: usize = 64;

/// The longest that a call waits for its next datagram. The socket's time-out starts again with each datagram, so if it
/// were as long as the rest of the flow, a call could last far beyond the flow's end.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The shortest time-out of a socket: zero would mean no time-out.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Receives the messages of a flow, with buffers for their headers and time stamps.
pub(super) struct Receiver<'a> {
    socket: &'a Socket,
    headers: Box<[[u8; HEADER_BYTES]; BATCH]>,
    controls: Box<[Control; BATCH]>,
    /// How far the clock of the time stamps is ahead of `CLOCK_MONOTONIC`, in nanoseconds.
    lead_ns: u64,
}

impl<'a> Receiver<'a> {
    pub(super) fn new(socket: &'a Socket, lead_ns: u64) -> Self {
        let (headers, controls) = ([[0; HEADER_BYTES]; BATCH], [Control::EMPTY; BATCH]);
        Self { socket, headers: Box::new(headers), controls: Box::new(controls), lead_ns }
    }

    /// Passes received messages to the sink until it has all of them, or until `drain` after the last was due.
    pub(super) fn receive(mut self, mut sink: MessageSink, drain: Duration) -> Result<MessageSink> {
        let drain_ns = u64::try_from(drain.as_nanos()).unwrap_or(u64::MAX);
        while !sink.is_complete() {
            // The clock is not read before the first datagram, because each reading advances it.
            if let Some(last_due_ns) = sink.last_due_ns() {
                let left_ns = last_due_ns.saturating_add(drain_ns).saturating_sub(Moment::now().since(0));
                if left_ns == 0 {
                    break;
                }
                let wait = Duration::from_nanos(left_ns).clamp(SHORTEST_WAIT, LONGEST_WAIT);
                self.socket.set_read_timeout(Some(wait)).context("setting SO_RCVTIMEO")?;
            }
            self.batch(&mut sink)?;
        }
        Ok(sink)
    }

    /// Makes one `recvmmsg(2)` call, and passes its messages to the sink. Before the first datagram there is no
    /// deadline, so the call returns after one datagram.
    fn batch(&mut self, sink: &mut MessageSink) -> Result<()> {
        let missing = usize::try_from(sink.missing()).unwrap_or(BATCH);
        let most = if sink.last_due_ns().is_some() { missing.min(BATCH) } else { 1 };
        let mut parts: Vec<iovec> = self
            .headers
            .iter_mut()
            .take(most)
            .map(|header| iovec { iov_base: header.as_mut_ptr().cast(), iov_len: HEADER_BYTES })
            .collect();
        let mut messages: Vec<mmsghdr> = parts
            .iter_mut()
            .zip(self.controls.iter_mut())
            .map(|(part, control)| {
                // SAFETY: a mmsghdr is plain data, of which zeros are valid.
                let mut message: mmsghdr = unsafe { std::mem::zeroed() };
                (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (part, 1);
                message.msg_hdr.msg_control = std::ptr::from_mut(control).cast();
                message.msg_hdr.msg_controllen = size_of::<Control>() as _;
                message
            })
            .collect();
        let socket = self.socket.as_raw_fd();
        let received = retry(|| {
            // With MSG_TRUNC the kernel returns the length of a datagram even if only its beginning fits. SAFETY: the
            // messages' parts and controls live until the call is over, and are as long as they say.
            size(unsafe {
                let (first, count) = (messages.as_mut_ptr(), messages.len() as c_uint);
                libc::recvmmsg(socket, first, count, libc::MSG_TRUNC as _, std::ptr::null_mut())
            } as isize)
        });
        let received = match received {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => return Ok(()),
            received => received.context("receiving datagrams")?,
        };
        for (message, header) in messages[..received].iter().zip(self.headers.iter()) {
            // SAFETY: the kernel has filled the message, whose control is this receiver's.
            let stamp_ns = unsafe { stamp_ns(&message.msg_hdr) };
            let stamp_ns = stamp_ns.context("a datagram came without the kernel's stamp")?;
            if let Some(header) = Header::decode(&header[..HEADER_BYTES.min(message.msg_len as usize)]) {
                let at_ns = stamp_ns.saturating_sub(self.lead_ns);
                sink.arrived(Received { header, bytes: message.msg_len.into(), at_ns });
            }
        }
        Ok(())
    }
}
