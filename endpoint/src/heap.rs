//! The heap of a process in a guest.
//!
//! In a guest, the first touch of a page costs more than a system call: the host has to deliver it as a signal, and the kernel
//! to have the host map the page. A process that will need many pages has them mapped by the hundred.

use std::io;

use anyhow::{Context as _, Result};
use libc::{M_TOP_PAD, M_TRIM_THRESHOLD, c_int};
use nix::sys::mman::{MlockAllFlags, mlockall};

/// What the heap grows by at least: 256 pages.
const STEP_BYTES: c_int = 1 << 20;

/// From now on, lets the heap grow by large steps that are there at once (`mlockall(2)`), and keeps what is freed. For
/// processes that start no threads: the stack of each would be there at once too.
///
/// # Errors
/// As `mlockall(2)`.
pub(crate) fn grow_by_large_steps() -> Result<()> {
    for (parameter, value) in [(M_TOP_PAD, STEP_BYTES), (M_TRIM_THRESHOLD, c_int::MAX)] {
        // SAFETY: plain numbers, and no other thread.
        if unsafe { libc::mallopt(parameter, value) } == 0 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL)).context("setting how the heap grows (mallopt)");
        }
    }
    mlockall(MlockAllFlags::MCL_FUTURE).context("having the heap's pages mapped at once (mlockall)")
}
