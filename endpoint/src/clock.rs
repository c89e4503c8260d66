//! The clock both sides of a run share: `CLOCK_MONOTONIC`, and the *held clock* of virtual time.
//!
//! In a guest under `time-travel=inf-cpu` computing takes no time: the clock stands still from one blocking call to
//! the next (`arch/um/kernel/time.c`; a read alone moves it, by 256 ns, so that loops on the clock end). A time read
//! once is therefore still true until the process blocks, and a QUIC stack that asks eleven times a packet needs to
//! ask the kernel only once each time it wakes.
//!
//! The thread may also wait by an [`EventLoop`] of its own, which is called where it would call `epoll_wait`. It may know the
//! time after the wait from what has ended it, and then the clock is not asked at all.
//!
//! `build.rs` has the linker send every call of `clock_gettime` and `epoll_wait` here, tokio's and quinn's included.
//!
//! **Invariant:** the clock is held only where `epoll_wait` is the one call that blocks: a single thread, every
//! descriptor non-blocking. Any other blocking call would leave the held time behind the guest's.

use std::cell::RefCell;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use libc::{CLOCK_MONOTONIC, c_int, clockid_t, epoll_event, timespec};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_getres, clock_nanosleep};

use crate::timers;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The held time in nanoseconds, or [`NONE`].
static HELD_NS: AtomicU64 = AtomicU64::new(NONE);
static HOLDING: AtomicBool = AtomicBool::new(false);
const NONE: u64 = u64::MAX;

/// A point of `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// The present.
    pub(crate) fn now() -> Self {
        let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` outlives the call. CLOCK_MONOTONIC always exists, so the call cannot fail.
        unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut time) };
        Self(nanoseconds(&time))
    }

    /// The moment this long after the clock's zero.
    pub(crate) fn after(zero_ns: u64) -> Self {
        Self(zero_ns)
    }

    /// Nanoseconds since the run's epoch; 0 if this was before it.
    pub(crate) fn since(self, epoch_ns: u64) -> u64 {
        self.0.saturating_sub(epoch_ns)
    }
}

/// Whether this process lives in a guest's virtual time, as the guest's PID 1 says (`NETWARP_CLOCK=virtual`).
pub(crate) fn is_virtual() -> bool {
    std::env::var_os("NETWARP_CLOCK").is_some_and(|value| value == "virtual")
}

/// Switches the held clock on: from now on a time that was read stands until the next `epoll_wait`. See the invariant above.
pub(crate) fn hold() {
    HOLDING.store(true, Relaxed);
}

/// An event loop that waits in the place of a thread's `epoll_wait`.
pub(crate) trait EventLoop {
    /// Waits until something happens or a timer is due.
    ///
    /// # Arguments
    /// * `epoll` - what else is to end the wait.
    /// * `now_ns` - the held time.
    /// * `deadline_ns` - when the first timer is due, if there is one.
    ///
    /// # Errors
    /// As `epoll_wait(2)`.
    fn wait(&mut self, epoll: RawFd, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<Waited>;
}

/// What has ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waited {
    /// What the clock says now, in nanoseconds of `CLOCK_MONOTONIC`, if that is known without asking.
    pub time_ns: Option<u64>,
    /// Whether `epoll` has events.
    pub is_epoll_ready: bool,
}

thread_local! {
    static EVENT_LOOP: RefCell<Option<Box<dyn EventLoop>>> = const { RefCell::new(None) };
}

/// Has this thread wait by this event loop from now on.
pub(crate) fn wait_by(event_loop: Box<dyn EventLoop>) {
    EVENT_LOOP.set(Some(event_loop));
}

/// How far `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC`: the kernel stamps packets with the former, and moments are of the
/// latter.
pub(crate) fn realtime_lead_ns() -> u64 {
    let ask = |clock| {
        let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` outlives the call. Both clocks always exist, so the call cannot fail.
        unsafe { __real_clock_gettime(clock, &mut time) };
        nanoseconds(&time)
    };
    // In virtual time each question moves the clocks by as much: the middle of two is when the third was asked.
    let [before_ns, realtime_ns, after_ns] = [CLOCK_MONOTONIC, libc::CLOCK_REALTIME, CLOCK_MONOTONIC].map(ask);
    realtime_ns.saturating_sub(before_ns.midpoint(after_ns))
}

/// Length of the kernel's tick (1/HZ), in which some of its counters are given.
pub(crate) fn tick_ns() -> u64 {
    // The coarse clocks move once a tick (`TICK_NSEC`).
    let resolution = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("the clock is always there");
    Duration::from(resolution).as_nanos() as u64
}

/// Waits for the kernel's next tick but one, so that what was done before leaves no trace in a run.
///
/// In virtual time computing is free, but a process that reads the clock moves it by 256 ns, and so does some of what
/// builds a path or prepares a capture. Timers as coarse as the tick, such as those of retransmissions, would then
/// end earlier or later after the epoch.
pub(crate) fn await_tick() {
    let tick_ns = tick_ns();
    let then_ns = (Moment::now().since(0) / tick_ns + 2) * tick_ns;
    let then = TimeSpec::from(Duration::from_nanos(then_ns));
    // It fails only when a signal comes, and this process handles none.
    clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &then).expect("no signal comes");
}

/// Converts a time of the kernel's to nanoseconds.
pub(crate) fn nanoseconds(time: &timespec) -> u64 {
    time.tv_sec as u64 * NANOSECONDS_PER_SECOND + time.tv_nsec as u64
}

unsafe extern "C" {
    fn __real_clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
    fn __real_epoll_wait(epoll: c_int, events: *mut epoll_event, capacity: c_int, timeout_ms: c_int) -> c_int;
}

/// `clock_gettime(2)`, answered from the held time when there is one.
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

/// `epoll_wait(2)`, until this thread's next timer at most ([`crate::timers`]). Time may have passed when it returns: the
/// held time is dropped.
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
    if let Some(is_epoll_ready) = wait_elsewhere(epoll, timeout_ms) {
        // SAFETY: the arguments are the caller's but for the time-out, of which every value is valid.
        let result = if is_epoll_ready { unsafe { __real_epoll_wait(epoll, events, capacity, 0) } } else { 0 };
        timers::wake_due();
        return result;
    }
    let timeout_ms = timers::bounded_ms(timeout_ms);
    // SAFETY: the arguments are the caller's but for the time-out, of which every value is valid.
    let result = unsafe { __real_epoll_wait(epoll, events, capacity, timeout_ms) };
    // A poll that may not wait takes no virtual time.
    if timeout_ms != 0 {
        HELD_NS.store(NONE, Relaxed);
    }
    // After a failure the caller looks at `errno`, which is to stay as it is; it will be back.
    if result >= 0 {
        timers::wake_due();
    }
    result
}

/// Waits by this thread's own event loop, if it has one. Gives whether `epoll` has events.
fn wait_elsewhere(epoll: c_int, timeout_ms: c_int) -> Option<bool> {
    EVENT_LOOP.with_borrow_mut(|event_loop| {
        let event_loop = event_loop.as_mut()?;
        // Whatever has happened can be heard when the thread has nothing else to do: no time passes until then.
        if timeout_ms == 0 {
            return Some(false);
        }
        let now_ns = Moment::now().0;
        match event_loop.wait(epoll, now_ns, timers::first_deadline_ns(now_ns)) {
            Ok(waited) => {
                let known_ns = waited.time_ns.filter(|_| HOLDING.load(Relaxed));
                HELD_NS.store(known_ns.unwrap_or(NONE), Relaxed);
                Some(waited.is_epoll_ready)
            }
            // A signal: like any wait that has ended, it is begun again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                HELD_NS.store(NONE, Relaxed);
                Some(false)
            }
            Err(error) => panic!("waiting for events (io_uring_enter): {error}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// One test, because holding is global: the rest of the suite must not run on a clock that stands still.
    /// `cargo test` runs it in a process of its own through [`child`].
    #[test]
    #[ignore = "run by held_clock_stands_still_until_epoll_wait, alone in its process"]
    fn child() {
        hold();
        let first = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(Instant::now(), first, "the clock moved while it was held");
        // SAFETY: plain system calls on a descriptor made here; one event fits.
        unsafe {
            let epoll = libc::epoll_create1(0);
            let mut event = epoll_event { events: 0, u64: 0 };
            libc::epoll_wait(epoll, &mut event, 1, 0);
            assert_eq!(Instant::now(), first, "a poll that cannot wait let go of the clock");
            libc::epoll_wait(epoll, &mut event, 1, 1);
            libc::close(epoll);
        }
        assert!(Instant::now() - first >= Duration::from_millis(3), "the clock was still held after a wait");
    }

    #[test]
    fn held_clock_stands_still_until_epoll_wait() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "clock::tests::child", "--ignored"])
            .status()
            .unwrap();
        assert!(status.success());
    }

    #[test]
    fn a_clock_not_held_moves() {
        let first = Moment::now();
        std::thread::sleep(Duration::from_millis(1));
        assert!(Moment::now().since(first.0) >= 1_000_000);
    }
}
