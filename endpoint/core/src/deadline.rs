//! Waits until an exact time with a kernel timer (`timerfd`): tokio's own timers are late by up to a millisecond.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A kernel timer, for waiting until an exact time.
pub struct Deadline(AsyncFd<Timer>);

struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Deadline {
    /// Creates the timer, which is not set. Must be called inside the tokio runtime.
    ///
    /// # Errors
    /// As `timerfd_create(2)` and `epoll_ctl(2)`.
    pub fn new() -> Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).context("making a timer (timerfd_create)")?;
        // SAFETY: a Timer owns its descriptor and never gives it up or changes it.
        let watched = unsafe { AsyncFd::register_with_interest(Timer(timer), Interest::READABLE) };
        Ok(Self(watched.map_err(io::Error::from).context("watching a timer")?))
    }

    /// Waits until `at_ns` of `CLOCK_MONOTONIC`; forever if that is `None`. Cancelling the wait has no side effect.
    ///
    /// # Errors
    /// As `timerfd_settime(2)`.
    pub async fn wait_until(&self, at_ns: Option<u64>) -> Result<()> {
        let Some(at_ns) = at_ns else { return std::future::pending().await };
        // A timer set to zero would be disarmed.
        let at = Expiration::OneShot(TimeSpec::from(Duration::from_nanos(at_ns.max(1))));
        // Setting the timer discards an expiration of an earlier time.
        let timer = &self.0.get_ref().0;
        timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME).context("setting a timer (timerfd_settime)")?;
        self.0
            .async_io(Interest::READABLE, |timer| timer.0.wait().map_err(io::Error::from))
            .await
            .context("reading a timer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;

    #[tokio::test]
    async fn it_rings_no_earlier_and_once() {
        let deadline = Deadline::new().unwrap();
        deadline.wait_until(Some(0)).await.unwrap();
        let later_ns = Moment::now().since(0) + 3_000_000;
        deadline.wait_until(Some(later_ns)).await.unwrap();
        assert!(Moment::now().since(0) >= later_ns);
    }

    #[tokio::test]
    async fn a_ring_nobody_heard_is_forgotten() {
        let deadline = Deadline::new().unwrap();
        tokio::select! {
            biased;
            () = std::future::ready(()) => {}
            _ = deadline.wait_until(Some(1)) => {}
        }
        deadline.wait_until(Some(1)).await.unwrap();
        let later_ns = Moment::now().since(0) + 3_000_000;
        deadline.wait_until(Some(later_ns)).await.unwrap();
        assert!(Moment::now().since(0) >= later_ns);
    }
}
