//! Roles over tokio: its event loop, and the held clock of virtual time, which is read anew wherever the loop waits: in
//! `epoll_wait` alone.
//!
//! A program that uses it has the linker redirect `clock_gettime` and `epoll_wait` (`--wrap`), see the build script of
//! `stacks/quinn`.

use std::os::fd::RawFd;

use anyhow::{Context as _, Result};
use libc::{c_int, epoll_event};
use netwarp_virtual_time::held_clock;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Builder;

use crate::orchestrator::{Begin, Orchestrator};

/// Runs a future to its end on an event loop of one thread.
///
/// # Errors
/// The future's, or no event loop can be made.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    Builder::new_current_thread().enable_io().enable_time().build().context("start the event loop")?.block_on(work)
}

/// Waits for the order to begin, and holds the clock if time is virtual: from then on nothing blocks but the event
/// loop.
///
/// # Errors
/// As [`Orchestrator::begin`].
pub fn begin(orchestrator: &mut Orchestrator) -> Result<Begin> {
    let begin = orchestrator.begin()?;
    if held_clock::is_virtual() {
        held_clock::hold();
    }
    Ok(begin)
}

/// The orders, for a server that waits for them beside its connections.
#[derive(Debug)]
pub struct Orders(AsyncFd<RawFd>);

impl Orders {
    /// Watches the orchestrator's orders.
    ///
    /// # Errors
    /// The event loop cannot watch them.
    pub fn of(orchestrator: &Orchestrator) -> Result<Self> {
        // SAFETY: standard input stays open and in its place.
        let watched = unsafe { AsyncFd::register_with_interest(orchestrator.descriptor(), Interest::READABLE) };
        Ok(Self(watched.context("wait for orders")?))
    }

    /// Waits until there is an order to read.
    ///
    /// # Errors
    /// The event loop has ended.
    pub async fn readable(&self) -> Result<()> {
        self.0.readable().await.context("wait for orders")?.retain_ready();
        Ok(())
    }
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
