//! The *held clock* of virtual time: a clock that is read once at each wake-up.
//!
//! In a guest under `time-travel=inf-cpu` computing takes no time: the clock stands still from one blocking call to the
//! next (`arch/um/kernel/time.c`; only reading it moves it, by 256 ns, so that loops which wait for a time end). So a
//! time that was read stays valid until the process blocks, and a QUIC stack that reads the clock eleven times for each
//! packet needs to ask the kernel only once at each wake-up.
//!
//! **Invariant:** the clock is held only in a process with one thread and non-blocking descriptors, in which a single
//! call blocks, and [`waited`] is called after it. After any other blocking call the held time would be behind the
//! guest's clock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, c_int, clockid_t, timespec};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The held time in nanoseconds of `CLOCK_MONOTONIC`; [`NONE`] if the clock must be read next time.
static HELD_NS: AtomicU64 = AtomicU64::new(NONE);
static HOLDING: AtomicBool = AtomicBool::new(false);
const NONE: u64 = u64::MAX;

/// Returns whether this process runs in a guest's virtual time. The guest's PID 1 says so in the environment
/// (`NETWARP_CLOCK=virtual`).
pub fn is_virtual() -> bool {
    std::env::var_os("NETWARP_CLOCK").is_some_and(|value| value == "virtual")
}

/// Switches the held clock on: from now on, a time that was read is used until the next wait. See the invariant above.
pub fn hold() {
    HOLDING.store(true, Relaxed);
}

/// Must be called when a wait has ended: time may have passed, so the held time is replaced or discarded.
///
/// # Arguments
/// * `time_ns` - the current time in nanoseconds of `CLOCK_MONOTONIC`, if it is known without reading the clock.
pub fn waited(time_ns: Option<u64>) {
    let known_ns = time_ns.filter(|_| HOLDING.load(Relaxed));
    HELD_NS.store(known_ns.unwrap_or(NONE), Relaxed);
}

/// Returns the time of `CLOCK_MONOTONIC`, in nanoseconds.
pub fn now_ns() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call. CLOCK_MONOTONIC always exists, so the call cannot fail.
    unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut time) };
    nanoseconds(&time)
}

/// Returns how far `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC`, in nanoseconds: the kernel's time stamps of packets
/// use the former, programs use the latter.
pub fn realtime_lead_ns() -> u64 {
    let ask = |clock| {
        let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` outlives the call. Both clocks always exist, so the call cannot fail.
        unsafe { __real_clock_gettime(clock, &mut time) };
        nanoseconds(&time)
    };
    // In virtual time each reading advances the clocks by the same amount, so the second reading was made at the mean
    // of the first and the third.
    let [before_ns, realtime_ns, after_ns] = [CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_MONOTONIC].map(ask);
    realtime_ns.saturating_sub(before_ns.midpoint(after_ns))
}

/// Converts a `timespec` to nanoseconds.
pub fn nanoseconds(time: &timespec) -> u64 {
    time.tv_sec as u64 * NANOSECONDS_PER_SECOND + time.tv_nsec as u64
}

unsafe extern "C" {
    fn __real_clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
}

/// Replaces `clock_gettime(2)`: returns the held time if there is one.
///
/// # Safety
/// As for the C function: `time` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let held_ns = HELD_NS.load(Relaxed);
    if clock == CLOCK_MONOTONIC && held_ns != NONE {
        let seconds = (held_ns / NANOSECONDS_PER_SECOND) as i64;
        let rest_ns = (held_ns % NANOSECONDS_PER_SECOND) as i64;
        // SAFETY: the caller vouches for `time`.
        unsafe { time.write(timespec { tv_sec: seconds, tv_nsec: rest_ns }) };
        return 0;
    }
    // SAFETY: the arguments are the caller's, unchanged.
    let result = unsafe { __real_clock_gettime(clock, time) };
    if result == 0 && clock == CLOCK_MONOTONIC && HOLDING.load(Relaxed) {
        // SAFETY: the call succeeded, so it filled `time`.
        HELD_NS.store(nanoseconds(unsafe { &*time }), Relaxed);
    }
    result
}
