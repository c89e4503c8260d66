//! Heap settings for processes in a guest.
//!
//! In a guest, the first access to a page costs more than a system call: the host delivers it as a signal, and the
//! guest's kernel has the host map the page. A process that will need many pages has them mapped hundreds at a time.

use std::io;

use anyhow::{Context as _, Result};
use libc::{M_TOP_PAD, M_TRIM_THRESHOLD, c_int};
use nix::sys::mman::{MlockAllFlags, mlockall};

/// The smallest step in which the heap grows: 256 pages.
const STEP_BYTES: c_int = 1 << 20;

/// Makes the heap grow in large steps whose pages are mapped at once (`mlockall(2)`), and keeps freed memory. Only for
/// processes that start no threads, since each thread's stack would be mapped at once, too.
pub fn grow_by_large_steps() -> Result<()> {
    for (parameter, value) in [(M_TOP_PAD, STEP_BYTES), (M_TRIM_THRESHOLD, c_int::MAX)] {
        // SAFETY: plain numbers, and no other thread.
        if unsafe { libc::mallopt(parameter, value) } == 0 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL)).context("setting how the heap grows (mallopt)");
        }
    }
    mlockall(MlockAllFlags::MCL_FUTURE).context("having the heap's pages mapped at once (mlockall)")
}
