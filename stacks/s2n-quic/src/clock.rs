//! The held clock of virtual time, which is read anew wherever the event loop waits: in `epoll_wait` alone.

use anyhow::Result;
use libc::{c_int, epoll_event};
use netwarp_role::{Begin, Orchestrator};
use netwarp_virtual_time::held_clock;

/// Waits for the order to begin, and holds the clock if time is virtual: from then on nothing blocks but the event
/// loop.
pub(crate) fn begin(orchestrator: &mut Orchestrator) -> Result<Begin> {
    let begin = orchestrator.begin()?;
    if held_clock::is_virtual() {
        held_clock::hold();
    }
    Ok(begin)
}

unsafe extern "C" {
    fn __real_epoll_wait(epoll: c_int, events: *mut epoll_event, capacity: c_int, timeout_ms: c_int) -> c_int;
}

/// `epoll_wait(2)`, after which the clock is read anew, except after a poll that does not wait: that takes no virtual
/// time.
///
/// # Safety
/// As for the C function: `events` must be valid for `capacity` writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    capacity: c_int,
    timeout_ms: c_int,
) -> c_int {
    // SAFETY: the arguments are the caller's, unchanged.
    let result = unsafe { __real_epoll_wait(epoll, events, capacity, timeout_ms) };
    if timeout_ms != 0 {
        held_clock::waited(None);
    }
    result
}
