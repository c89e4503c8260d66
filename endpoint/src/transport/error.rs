//! Errors that say that a connection is gone, told apart from those that say that something else is wrong.

use std::io::{self, ErrorKind};

use quinn::{ConnectionError, ReadError, ReadExactError, StoppedError, WriteError};

/// How a connection was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The peer, or its kernel, ended it.
    Closed,
    /// Nobody answered for too long.
    TimedOut,
    /// There is no way to the peer from here.
    Unreachable,
}

/// The peer ended a connection on which more was to come.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Ended(pub String);

/// How a connection was lost, if that is what the error says.
pub fn lost(error: &anyhow::Error) -> Option<Lost> {
    error.chain().find_map(|cause| {
        let quic = cause.downcast_ref().map(of_quic);
        let kernel = cause.downcast_ref().and_then(of_kernel);
        // Streams of QUIC end when those who hold them go.
        let closed = cause.is::<Ended>()
            || matches!(cause.downcast_ref(), Some(WriteError::Stopped(_) | WriteError::ClosedStream))
            || matches!(cause.downcast_ref(), Some(ReadError::Reset(_) | ReadError::ClosedStream))
            || matches!(cause.downcast_ref(), Some(ReadExactError::FinishedEarly(_)))
            || matches!(cause.downcast_ref(), Some(StoppedError::ZeroRttRejected));
        quic.or(kernel).or(closed.then_some(Lost::Closed))
    })
}

/// As [`lost`], in the kernel's terms; an error that is none of those is `Other`.
pub fn kind(error: &anyhow::Error) -> ErrorKind {
    match lost(error) {
        Some(Lost::Closed) => ErrorKind::UnexpectedEof,
        Some(Lost::TimedOut) => ErrorKind::TimedOut,
        Some(Lost::Unreachable) => ErrorKind::NetworkUnreachable,
        None => ErrorKind::Other,
    }
}

fn of_kernel(error: &io::Error) -> Option<Lost> {
    // What SCTP answers a send on an association that has ended (net/sctp/socket.c, sctp_sendmsg_check_sflags), and on one
    // that is about to (net/sctp/sm_statefuns.c, sctp_sf_error_shutdown).
    if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ESHUTDOWN)) {
        return Some(Lost::Closed);
    }
    match error.kind() {
        ErrorKind::BrokenPipe
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::UnexpectedEof => Some(Lost::Closed),
        ErrorKind::TimedOut => Some(Lost::TimedOut),
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::AddrNotAvailable => {
            Some(Lost::Unreachable)
        }
        _ => None,
    }
}

fn of_quic(error: &ConnectionError) -> Lost {
    match error {
        ConnectionError::TimedOut => Lost::TimedOut,
        _ => Lost::Closed,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, Error, anyhow};

    use super::*;

    fn of(error: impl Into<Error>) -> Option<Lost> {
        lost(&Err::<(), Error>(error.into()).context("sending the content").unwrap_err())
    }

    #[test]
    fn it_is_found_under_what_was_attempted() {
        assert_eq!(of(io::Error::from_raw_os_error(libc::EPIPE)), Some(Lost::Closed));
        assert_eq!(of(io::Error::from_raw_os_error(libc::ECONNRESET)), Some(Lost::Closed));
        assert_eq!(of(io::Error::from_raw_os_error(libc::ESRCH)), Some(Lost::Closed));
        assert_eq!(of(io::Error::from_raw_os_error(libc::ESHUTDOWN)), Some(Lost::Closed));
        assert_eq!(of(io::Error::from_raw_os_error(libc::ETIMEDOUT)), Some(Lost::TimedOut));
        assert_eq!(of(io::Error::from_raw_os_error(libc::ENETUNREACH)), Some(Lost::Unreachable));
        assert_eq!(of(Ended("the peer closed".to_owned())), Some(Lost::Closed));
        assert_eq!(of(ReadExactError::ReadError(ConnectionError::Reset.into())), Some(Lost::Closed));
        assert_eq!(of(WriteError::ConnectionLost(ConnectionError::TimedOut)), Some(Lost::TimedOut));
        assert_eq!(of(ReadExactError::FinishedEarly(3)), Some(Lost::Closed));
    }

    #[test]
    fn other_errors_are_no_loss() {
        assert_eq!(of(anyhow!("the client asks for something else")), None);
        assert_eq!(of(io::Error::from_raw_os_error(libc::EACCES)), None);
    }
}
