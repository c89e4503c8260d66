//! Helpers for system calls on descriptors: results as [`io::Result`], repetition after signals, and socket options
//! that are plain C values.

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;

use libc::{c_int, c_void, socklen_t};

/// Converts the result of a system call that returns a number of bytes.
pub(crate) fn size(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Repeats a system call for as long as a signal interrupts it (`EINTR`).
pub(crate) fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// A C type for which any bytes are a valid value.
///
/// # Safety
/// Only for `repr(C)` types of integers and arrays of them.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for c_int {}

/// Reads a socket option (`getsockopt(2)`). The kernel reads the request from `value` and fills its fields; those that
/// it does not fill keep their values.
pub(crate) fn get_option<T: Plain>(socket: RawFd, level: c_int, option: c_int, mut value: T) -> io::Result<T> {
    let address = std::ptr::from_mut(&mut value).cast::<c_void>();
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: `value` is valid for writes of `length` bytes, and any bytes make a `T`.
    let result = unsafe { libc::getsockopt(socket, level, option, address, &mut length) };
    size(result as isize).map(|_| value)
}

/// Sets a socket option (`setsockopt(2)`).
pub(crate) fn set_option<T: Copy>(socket: RawFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let address = std::ptr::from_ref(value).cast::<c_void>();
    // SAFETY: `value` is valid for reads of its size.
    let result = unsafe { libc::setsockopt(socket, level, option, address, size_of::<T>() as socklen_t) };
    size(result as isize).map(drop)
}
