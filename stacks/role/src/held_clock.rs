//! A clock that is read once at each wake-up. In virtual time none passes between two waits, and reading it is a system call,
//! which costs as much there as the rest of a packet. A program that has the linker send `clock_gettime` here
//! (`-Wl,--wrap=clock_gettime`) holds the time from its first reading until it lets go before it waits.

use std::cell::Cell;

use libc::{CLOCK_MONOTONIC, c_int, clockid_t, timespec};

thread_local! {
    static IS_HELD: Cell<bool> = const { Cell::new(false) };
    static TIME: Cell<Option<timespec>> = const { Cell::new(None) };
}

unsafe extern "C" {
    fn __real_clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
}

/// Holds the time from now on, in a run of virtual time.
pub fn hold_clock() {
    IS_HELD.set(std::env::var_os("NETWARP_CLOCK").is_some_and(|clock| clock == "virtual"));
}

/// Lets go of the time: what is read next is read anew. To be called before every wait.
pub fn release_clock() {
    TIME.set(None);
}

/// `clock_gettime(2)`, answered from the held time when there is one.
///
/// # Safety
/// As the call's.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if clock == CLOCK_MONOTONIC
        && let Some(held) = TIME.get()
    {
        // SAFETY: the caller's pointer is valid for writes, as the call asks for.
        unsafe { *time = held };
        return 0;
    }
    // SAFETY: the caller's arguments.
    let result = unsafe { __real_clock_gettime(clock, time) };
    if result == 0 && clock == CLOCK_MONOTONIC && IS_HELD.get() {
        // SAFETY: the call has filled it.
        TIME.set(Some(unsafe { *time }));
    }
    result
}
