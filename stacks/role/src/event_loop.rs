//! tokio's event loop for roles, with the held clock of virtual time: the clock is read again only after the loop has
//! waited, in `epoll_wait`.
//!
//! A program that uses it must have the linker redirect `clock_gettime` and `epoll_wait` (`--wrap`); see the build
//! script of `stacks/quinn`.

use std::os::fd::RawFd;

use anyhow::{Context as _, Result};
use libc::{c_int, epoll_event};
use netwarp_virtual_time::held_clock;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Builder;

use crate::orchestrator::{Begin, Orchestrator};

/// Runs a future to its end on a single-threaded event loop.
///
/// # Errors
/// The error of the future, or no event loop can be created.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    Builder::new_current_thread().enable_io().enable_time().build().context("start the event loop")?.block_on(work)
}

/// Waits for the order to begin. In virtual time, then switches the held clock on: from then on only the event loop may
/// block.
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

/// The orchestrator's orders, for a server that waits for orders and connections at the same time.
#[derive(Debug)]
pub struct Orders(AsyncFd<RawFd>);

impl Orders {
    /// Makes the event loop watch the pipe with the orders.
    ///
    /// # Errors
    /// The event loop cannot watch the pipe.
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

/// Replaces `epoll_wait(2)`: after a call that waits, the clock is read again. A poll that does not wait takes no
/// virtual time.
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
