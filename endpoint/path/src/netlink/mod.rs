//! The only module that sends netlink messages. Sockets are synchronous, requests can be batched, and errors name the
//! attempted operation.

pub(crate) mod arp;
pub mod bottleneck;
pub(crate) mod discipline;
pub mod ethtool;
mod generic;
pub mod message;
pub(crate) mod mptcp;
pub mod nftables;
pub mod qdisc;
pub mod redirect;
pub mod route;
pub mod shaper;
pub mod sock_diag;

use std::io::{self, IoSliceMut};
use std::iter;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};

use message::{Request, attribute, replies, u32_at};

/// `NLMSGERR_ATTR_MSG` of `include/uapi/linux/netlink.h`.
const NLMSGERR_ATTR_MSG: u16 = 1;

/// Size of the receive buffer in bytes, larger than any reply expected here; the kernel's own dumps use at most 32 KiB.
const DATAGRAM_BYTES: usize = 32 * 1024;

/// The number of datagrams received in one call: a sample of a path needs three, for two answers and the
/// acknowledgement.
const DATAGRAMS: usize = 4;

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The socket failed before the kernel saw the request.
    #[error("cannot {attempt}: {call}: {source}")]
    Socket {
        /// What the request was for.
        attempt: String,
        /// The system call that failed.
        call: &'static str,
        /// The reason why the call failed.
        source: io::Error,
    },
    /// The kernel refused the request.
    #[error("cannot {attempt}: the kernel says {errno}{}{detail}", if .detail.is_empty() { "" } else { ": " })]
    Refused {
        /// What the request was for.
        attempt: String,
        /// The kernel's error.
        errno: Errno,
        /// The kernel's explanation (extended acknowledgement); empty if there is none.
        detail: String,
    },
    /// The kernel's reply lacks something that it must have.
    #[error("cannot {attempt}: the kernel's reply has no {missing}")]
    Incomplete {
        /// What the request was for.
        attempt: String,
        /// The part that the reply lacks.
        missing: &'static str,
    },
}

/// A netlink socket, bound to the network namespace in which it was opened.
pub struct Socket {
    inner: netlink_sys::Socket,
    sequence: u32,
    /// The receive buffer, which holds [`DATAGRAMS`] in sequence.
    room: Vec<u8>,
}

impl Socket {
    /// Opens a socket of `protocol` (`netlink_sys::protocols`) in the caller's network namespace.
    pub fn open(protocol: isize) -> Result<Self, NetlinkError> {
        let failed =
            |call| move |source| NetlinkError::Socket { attempt: "open a netlink socket".into(), call, source };
        let inner = netlink_sys::Socket::new(protocol).map_err(failed("socket"))?;
        inner.set_ext_ack(true).map_err(failed("setsockopt NETLINK_EXT_ACK"))?;
        Ok(Self { inner, sequence: 0, room: vec![0; DATAGRAMS * DATAGRAM_BYTES] })
    }

    /// Sends `requests` in one system call and returns the bodies of all answers except acknowledgements, in order.
    ///
    /// The kernel handles a batch in order, reports failures even without a request for acknowledgement, and continues
    /// after them: so only the last request asks for an acknowledgement. The first failure is returned.
    pub fn transact(&mut self, requests: &[Request]) -> Result<Vec<Vec<u8>>, NetlinkError> {
        self.exchange(requests, None)
    }

    /// Sends requests to nf_tables as one batch, so that all of them take effect or none.
    pub(crate) fn commit(&mut self, requests: Vec<Request>) -> Result<(), NetlinkError> {
        let batch: Vec<Request> = iter::once(nftables::begin()).chain(requests).collect();
        self.exchange(&batch, Some(&nftables::end())).map(drop)
    }

    /// Sends `requests` and returns the bodies of the answers. For a batch that takes effect as a whole, `end` is sent
    /// last; the kernel does not answer it.
    fn exchange(&mut self, requests: &[Request], end: Option<&Request>) -> Result<Vec<Vec<u8>>, NetlinkError> {
        let Some(last) = requests.last() else { return Ok(Vec::new()) };
        let first_sequence = self.sequence.wrapping_add(1);
        let mut batch = Vec::new();
        for request in requests {
            self.sequence = self.sequence.wrapping_add(1);
            request.write(&mut batch, self.sequence, std::ptr::eq(request, last));
        }
        if let Some(end) = end {
            end.write(&mut batch, self.sequence.wrapping_add(1), false);
        }
        let failed = |call| move |source| NetlinkError::Socket { attempt: last.attempt.clone(), call, source };
        self.inner.send(&batch, 0).map_err(failed("send"))?;

        let mut answers = Vec::new();
        let mut failure = None;
        let sequence = self.sequence;
        loop {
            for reply in self.receive().map_err(failed("recvmmsg"))?.flat_map(replies) {
                if reply.kind != libc::NLMSG_ERROR as u16 {
                    answers.push(reply.body.to_vec());
                    continue;
                }
                let index = reply.sequence.wrapping_sub(first_sequence) as usize;
                failure = failure.or_else(|| refusal(requests.get(index)?, reply.flags, reply.body));
                // If nf_tables refuses to begin a batch, it answers nothing else.
                let is_refused_batch = end.is_some() && index == 0;
                if reply.sequence == sequence || is_refused_batch {
                    return failure.map_or(Ok(answers), Err);
                }
            }
        }
    }

    /// Sends a request and returns the body of its first answer.
    pub fn ask(&mut self, request: &Request) -> Result<Vec<u8>, NetlinkError> {
        let answers = self.transact(std::slice::from_ref(request))?;
        let missing = || NetlinkError::Incomplete { attempt: request.attempt.clone(), missing: "answer" };
        answers.into_iter().next().ok_or_else(missing)
    }

    /// Sends a request with `NLM_F_DUMP` and returns the bodies of all answers, in order.
    pub fn dump(&mut self, request: &Request) -> Result<Vec<Vec<u8>>, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = Vec::new();
        request.write(&mut message, self.sequence, false);
        let failed = |call| move |source| NetlinkError::Socket { attempt: request.attempt.clone(), call, source };
        self.inner.send(&message, 0).map_err(failed("send"))?;

        let mut answers = Vec::new();
        let sequence = self.sequence;
        loop {
            let received = self.receive().map_err(failed("recvmmsg"))?;
            for reply in received.flat_map(replies).filter(|reply| reply.sequence == sequence) {
                match i32::from(reply.kind) {
                    libc::NLMSG_DONE => return Ok(answers),
                    libc::NLMSG_ERROR => return refusal(request, reply.flags, reply.body).map_or(Ok(answers), Err),
                    _ => answers.push(reply.body.to_vec()),
                }
            }
        }
    }

    /// Waits for a datagram, and returns it with all others that have arrived: system calls are expensive in a guest.
    fn receive(&mut self) -> io::Result<impl Iterator<Item = &[u8]>> {
        let mut headers = MultiHeaders::<()>::preallocate(DATAGRAMS, None);
        let mut parts =
            self.room.chunks_exact_mut(DATAGRAM_BYTES).map(|part| [IoSliceMut::new(part)]).collect::<Vec<_>>();
        let received = recvmmsg(self.inner.as_raw_fd(), &mut headers, &mut parts, MsgFlags::MSG_WAITFORONE, None)?;
        let lengths: Vec<usize> = received.map(|datagram| datagram.bytes).collect();
        Ok(self.room.chunks_exact(DATAGRAM_BYTES).zip(lengths).map(|(datagram, length)| &datagram[..length]))
    }
}

/// Decodes an `NLMSG_ERROR` (`struct nlmsgerr`, the request's header, attributes); `None` if it is an acknowledgement.
fn refusal(request: &Request, flags: u16, body: &[u8]) -> Option<NetlinkError> {
    let code = u32_at(body, 0)? as i32;
    if code == 0 {
        return None;
    }
    let echoed = u32_at(body, 4)? as usize;
    let capped = flags & libc::NLM_F_CAPPED as u16 != 0;
    let tail = body.get(4 + if capped { message::HEADER_BYTES } else { echoed.next_multiple_of(4) }..);
    let detail = tail
        .and_then(|tail| attribute(tail, NLMSGERR_ATTR_MSG))
        .map(|text| String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
        .unwrap_or_default();
    Some(NetlinkError::Refused { attempt: request.attempt.clone(), errno: Errno::from_raw(-code), detail })
}
