//! The clock that both sides of a run share: `CLOCK_MONOTONIC`. In virtual time it is a *held clock*: it is read when a
//! wait ends, and keeps that value until the next wait.
//!
//! A thread may wait in a separate [`EventLoop`] instead of in `epoll_wait`. If that returns the time as well, the
//! clock is not read at all.
//!
//! `build.rs` has the linker redirect every call of `clock_gettime` to [`held_clock`] and every call of `epoll_wait` to
//! this file, including those of tokio and quinn. `epoll_wait` is the only call that blocks while the clock is held.

use std::cell::RefCell;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use libc::{c_int, epoll_event};
use netwarp_virtual_time::Waited;
use netwarp_virtual_time::held_clock;
pub use netwarp_virtual_time::held_clock::{hold, is_virtual, nanoseconds, realtime_lead_ns};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_getres, clock_nanosleep};

use crate::timers;

/// A point in time of `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// Returns the current time.
    pub fn now() -> Self {
        Self(held_clock::now_ns())
    }

    /// Returns the point in time at which `CLOCK_MONOTONIC` shows `zero_ns`.
    pub fn after(zero_ns: u64) -> Self {
        Self(zero_ns)
    }

    /// Returns the nanoseconds since the run's epoch; 0 for a time before it.
    pub fn since(self, epoch_ns: u64) -> u64 {
        self.0.saturating_sub(epoch_ns)
    }
}

/// An event loop in which a thread waits instead of in `epoll_wait`.
pub trait EventLoop {
    /// Waits until an event occurs or a timer is due.
    ///
    /// # Arguments
    /// * `epoll` - an epoll descriptor whose events end the wait as well.
    /// * `now_ns` - the current time, as the held clock has it.
    /// * `deadline_ns` - when the thread's next timer is due, if there is one.
    fn wait(&mut self, epoll: RawFd, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<Waited>;
}

thread_local! {
    static EVENT_LOOP: RefCell<Option<Box<dyn EventLoop>>> = const { RefCell::new(None) };
}

/// Makes this thread wait in `event_loop` from now on.
pub fn wait_by(event_loop: Box<dyn EventLoop>) {
    EVENT_LOOP.set(Some(event_loop));
}

/// Returns the length of the kernel's tick (1/HZ), the unit of some of its counters.
pub fn tick_ns() -> u64 {
    // The coarse clocks move once a tick (`TICK_NSEC`).
    let resolution = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("the clock is always there");
    Duration::from(resolution).as_nanos() as u64
}

/// Waits for the kernel's second timer tick from now, so that the duration of the setup does not influence the run.
///
/// In virtual time computing takes no time, but each reading of the clock advances it by 256 ns, and some steps of
/// building a path or preparing a capture advance it too. Timers as coarse as the tick, such as the RTO, would then
/// expire earlier or later relative to the run's epoch.
pub fn await_tick() {
    let tick_ns = tick_ns();
    let then_ns = (Moment::now().since(0) / tick_ns + 2) * tick_ns;
    let then = TimeSpec::from(Duration::from_nanos(then_ns));
    // It fails only on a signal, and this process handles none.
    clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &then).expect("no signal comes");
}

unsafe extern "C" {
    fn __real_epoll_wait(epoll: c_int, events: *mut epoll_event, capacity: c_int, timeout_ms: c_int) -> c_int;
}

/// Wraps `epoll_wait(2)`: waits no longer than until this thread's next timer ([`crate::timers`]). Time may pass while
/// it waits, so the held clock is read again afterwards.
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
        // SAFETY: the arguments are the caller's, except for the time-out, of which every value is valid.
        let result = if is_epoll_ready { unsafe { __real_epoll_wait(epoll, events, capacity, 0) } } else { 0 };
        timers::wake_due();
        return result;
    }
    let timeout_ms = timers::bounded_ms(timeout_ms);
    // SAFETY: the arguments are the caller's but for the time-out, of which every value is valid.
    let result = unsafe { __real_epoll_wait(epoll, events, capacity, timeout_ms) };
    // A poll with a time-out of zero takes no virtual time.
    if timeout_ms != 0 {
        held_clock::waited(None);
    }
    // After a failure the caller reads `errno`, which must not change; it will call again.
    if result >= 0 {
        timers::wake_due();
    }
    result
}

/// Waits in this thread's [`EventLoop`], and returns whether `epoll` has events; `None` if the thread has no such loop.
fn wait_elsewhere(epoll: c_int, timeout_ms: c_int) -> Option<bool> {
    EVENT_LOOP.with_borrow_mut(|event_loop| {
        let event_loop = event_loop.as_mut()?;
        // Events are handled when the thread has nothing else to do; no time passes until then.
        if timeout_ms == 0 {
            return Some(false);
        }
        let now_ns = Moment::now().0;
        match event_loop.wait(epoll, now_ns, timers::first_deadline_ns(now_ns)) {
            Ok(waited) => {
                held_clock::waited(waited.time_ns);
                Some(waited.is_ready)
            }
            // A signal interrupted the wait. The caller begins it again, like any wait that has ended.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                held_clock::waited(None);
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

    /// Tests the held clock. Run by [`held_clock_stands_still_until_epoll_wait`] in a separate process, because holding
    /// the clock affects all tests of a process.
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
