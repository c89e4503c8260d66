//! Reads the kernel's time stamps of arrived packets (`SO_TIMESTAMPNS`) from the control messages that come with them.

use libc::{msghdr, timespec};
use netwarp_core::clock;

/// A buffer for one control message: header and time stamp.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct Control([u8; 64]);

impl Control {
    pub(crate) const EMPTY: Self = Self([0; 64]);
}

/// Returns when the kernel received the last packet of a message, in nanoseconds of `CLOCK_REALTIME`; `None` for
/// packets that arrived before time stamps were switched on.
///
/// # Safety
/// The message is one that the kernel has filled, and its control buffer is still valid.
pub(crate) unsafe fn stamp_ns(message: &msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled the control buffer as far as the header now says. A control message that is not
    // null is whole, and one of this type holds a timespec, aligned or not.
    let stamp = unsafe {
        let control = libc::CMSG_FIRSTHDR(message).as_ref()?;
        let is_stamp = (control.cmsg_level, control.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);
        is_stamp.then(|| libc::CMSG_DATA(control).cast::<timespec>().read_unaligned())
    };
    stamp.map(|stamp| clock::nanoseconds(&stamp))
}
