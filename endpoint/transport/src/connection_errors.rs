//! Errors of lost connections whose messages say more than the kernel's error number.

use std::io::{self, ErrorKind};

/// Returns the error of an MPTCP connection whose subflows have all ended.
pub(super) fn lost_subflows(error: &io::Error) -> io::Error {
    timed_out("all subflows of the MPTCP connection had ended, and the kernel closed it", error)
}

/// Returns the error of a connection that failed because there was no route for its first packet.
pub(super) fn no_route(error: &io::Error) -> io::Error {
    io::Error::new(ErrorKind::NetworkUnreachable, format!("the connection's SYN had no route ({error})"))
}

/// Returns the error of a connection whose peer did not answer in time.
pub(super) fn timed_out(reason: &str, error: &io::Error) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, format!("{reason} ({error})"))
}
