//! Sends or receives several messages of an association in one system call: `sendmmsg(2)`, `recvmmsg(2)`.
//!
//! In a guest a system call costs as much as the kernel's work on a packet, and a message is a dozen packets at most.
//! The kernel handles each message of a call at the same time as it would without the others.

use std::io::{self, IoSlice};
use std::os::fd::RawFd;

use libc::{c_uint, c_void, iovec, mmsghdr, msghdr};

use super::api::SendControl;

/// How many bytes of content are passed in one call: enough that few calls are needed, and little enough for a CPU's
/// cache.
const BATCH_BYTES: usize = 128 << 10;

/// The largest number of messages in a call: messages may be small.
const BATCH_MESSAGES: usize = 64;

/// Returns how many messages of this size are passed in one call, at least one.
pub(super) fn messages_of(message_bytes: usize) -> usize {
    (BATCH_BYTES / message_bytes.max(1)).clamp(1, BATCH_MESSAGES)
}

/// Sends messages in order, waiting for buffer space for each. Returns how many were sent: fewer than all if a later
/// one failed; the next call returns its error.
///
/// # Errors
/// As `sendmmsg(2)`, for the first message; a message was not sent completely.
pub(super) fn send(socket: RawFd, messages: &[IoSlice<'_>], control: &SendControl) -> io::Result<usize> {
    // IoSlice is a struct iovec by its own guarantee; sendmmsg writes to neither parts nor control messages.
    let header = |message| header(std::ptr::from_ref::<IoSlice<'_>>(message).cast_mut().cast(), Some(control));
    let mut headers: Vec<mmsghdr> = messages.iter().map(header).collect();
    // SAFETY: all pointers outlive the call; each part is valid for reads of its length.
    let sent =
        unsafe { libc::sendmmsg(socket, headers.as_mut_ptr(), headers.len() as c_uint, libc::MSG_NOSIGNAL as _) };
    let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
    let is_whole = |(header, message): (&mmsghdr, &IoSlice<'_>)| header.msg_len as usize == message.len();
    if !headers.iter().zip(messages).take(sent).all(is_whole) {
        return Err(io::Error::other("the kernel took a part of a message"));
    }
    Ok(sent)
}

/// Receives messages into `block`, which is divided into slots of `slot_bytes`, one message each, and waits until all
/// slots are used. A message larger than a slot continues in the next slot. Returns the number of bytes in each slot; 0
/// means the end of the association.
///
/// # Errors
/// As `recvmmsg(2)`, for the first message; the next call returns the error of a later one.
pub(super) fn receive(socket: RawFd, block: &mut [u8], slot_bytes: usize) -> io::Result<Vec<usize>> {
    let mut parts: Vec<iovec> = block
        .chunks_exact_mut(slot_bytes)
        .map(|slot| iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() })
        .collect();
    let mut headers: Vec<mmsghdr> = parts.iter_mut().map(|part| header(part, None)).collect();
    // SAFETY: the parts outlive the call, and are valid for writes of their lengths; no names and controls are asked
    // for, and no time-out is given.
    let received =
        unsafe { libc::recvmmsg(socket, headers.as_mut_ptr(), headers.len() as c_uint, 0, std::ptr::null_mut()) };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    Ok(headers[..received].iter().map(|header| header.msg_len as usize).collect())
}

/// Returns the `mmsghdr` of a message that consists of one part.
fn header(part: *mut iovec, control: Option<&SendControl>) -> mmsghdr {
    // SAFETY: all-zero is a valid msghdr.
    let mut header: msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (part, 1);
    if let Some(control) = control {
        header.msg_control = std::ptr::from_ref(control).cast_mut().cast::<c_void>();
        header.msg_controllen = control.length_bytes();
    }
    mmsghdr { msg_hdr: header, msg_len: 0 }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn calls_are_of_some_messages_whatever_their_size() {
        assert_eq!([9, 1452, 16 << 10, 128 << 10, 1 << 20].map(messages_of), [64, 64, 8, 1, 1]);
    }

    #[test]
    fn messages_keep_their_ends() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let messages = [&b"one"[..], b"four", b"last"].map(IoSlice::new);
        // A socket of another family ignores the control message.
        assert_eq!(send(ours.as_raw_fd(), &messages, &SendControl::on_stream(3, true)).unwrap(), 3);
        let mut block = [0; 11];
        assert_eq!(receive(theirs.as_raw_fd(), &mut block[..10], 5).unwrap(), [3, 4]);
        assert_eq!((&block[..3], &block[5..9]), (&b"one"[..], &b"four"[..]));
        assert_eq!(receive(theirs.as_raw_fd(), &mut block[..5], 5).unwrap(), [4]);
    }
}
