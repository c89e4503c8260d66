//! Errors of a transport: how a connection was lost, or what else failed.

use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind};

use anyhow::anyhow;
use quinn::{ConnectionError, ReadError, SendDatagramError, StoppedError, WriteError};

/// The result of an operation of a transport, which workloads pass on.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a transport. Each variant holds what was attempted, and why that failed.
#[derive(Debug)]
pub enum Error {
    /// The peer ended the connection or its stream before all was received.
    Closed(anyhow::Error),
    /// The peer, or its kernel, reset the connection.
    Reset(anyhow::Error),
    /// The peer did not answer in time.
    TimedOut(anyhow::Error),
    /// There is no route to the peer.
    Unreachable(anyhow::Error),
    /// An error other than a lost connection: a file that cannot be read, an option that the kernel refuses, an invalid
    /// message of the peer.
    Other(anyhow::Error),
}

impl Error {
    /// Creates the error for a connection that the peer ended before all was received.
    pub fn closed(message: impl Into<String>) -> Self {
        Self::Closed(anyhow!(message.into()))
    }

    /// Returns a copy of the error, for another task that waits on the same connection.
    pub fn shared(&self) -> Self {
        let message = anyhow!("{:#}", self.cause());
        match self {
            Self::Closed(_) => Self::Closed(message),
            Self::Reset(_) => Self::Reset(message),
            Self::TimedOut(_) => Self::TimedOut(message),
            Self::Unreachable(_) => Self::Unreachable(message),
            Self::Other(_) => Self::Other(message),
        }
    }

    fn cause(&self) -> &anyhow::Error {
        let (Self::Closed(cause)
        | Self::Reset(cause)
        | Self::TimedOut(cause)
        | Self::Unreachable(cause)
        | Self::Other(cause)) = self;
        cause
    }

    /// Adds what was attempted.
    fn context(self, attempt: impl Display + Send + Sync + 'static) -> Self {
        match self {
            Self::Closed(cause) => Self::Closed(cause.context(attempt)),
            Self::Reset(cause) => Self::Reset(cause.context(attempt)),
            Self::TimedOut(cause) => Self::TimedOut(cause.context(attempt)),
            Self::Unreachable(cause) => Self::Unreachable(cause.context(attempt)),
            Self::Other(cause) => Self::Other(cause.context(attempt)),
        }
    }
}

/// Like [`anyhow::Error`]: prints what was attempted last; with `{:#}`, the whole chain.
impl Display for Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.cause().fmt(formatter)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().source()
    }
}

/// Adds what was attempted to an error and keeps its kind.
pub trait Context<T> {
    /// Adds what was attempted.
    fn context(self, attempt: impl Display + Send + Sync + 'static) -> Result<T>;

    /// Like [`Self::context`], but builds the text only if there is an error.
    fn with_context<C: Display + Send + Sync + 'static>(self, attempt: impl FnOnce() -> C) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, attempt: impl Display + Send + Sync + 'static) -> Result<T> {
        self.map_err(|error| error.into().context(attempt))
    }

    fn with_context<C: Display + Send + Sync + 'static>(self, attempt: impl FnOnce() -> C) -> Result<T> {
        self.map_err(|error| error.into().context(attempt()))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, missing: impl Display + Send + Sync + 'static) -> Result<T> {
        self.ok_or_else(|| Error::Other(anyhow!("{missing}")))
    }

    fn with_context<C: Display + Send + Sync + 'static>(self, missing: impl FnOnce() -> C) -> Result<T> {
        self.ok_or_else(|| Error::Other(anyhow!("{}", missing())))
    }
}

/// [`anyhow::bail`] with an [`Error`].
#[macro_export]
macro_rules! bail {
    ($($message:tt)*) => { return Err(anyhow::anyhow!($($message)*).into()) };
}

/// [`anyhow::ensure`] with an [`Error`].
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(anyhow::anyhow!($($message)*).into());
        }
    };
}

pub use crate::{bail, ensure};

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        // SCTP's errors for a send on an association that has ended (net/sctp/socket.c, sctp_sendmsg_check_sflags), and
        // on one that is shutting down (net/sctp/sm_statefuns.c, sctp_sf_error_shutdown).
        if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ESHUTDOWN)) {
            return Self::Closed(error.into());
        }
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::NotConnected | ErrorKind::UnexpectedEof => Self::Closed(error.into()),
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Self::Reset(error.into()),
            ErrorKind::TimedOut => Self::TimedOut(error.into()),
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::AddrNotAvailable => {
                Self::Unreachable(error.into())
            }
            _ => Self::Other(error.into()),
        }
    }
}

/// For callers that know only the kernel's errors, such as rustls.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Closed(_) => ErrorKind::UnexpectedEof,
            Error::Reset(_) => ErrorKind::ConnectionReset,
            Error::TimedOut(_) => ErrorKind::TimedOut,
            Error::Unreachable(_) => ErrorKind::NetworkUnreachable,
            Error::Other(_) => ErrorKind::Other,
        };
        Self::new(kind, format!("{error:#}"))
    }
}

impl From<ConnectionError> for Error {
    fn from(error: ConnectionError) -> Self {
        lost(&error.clone(), error.into())
    }
}

/// A QUIC stream ends when its owner drops it.
impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match &error {
            WriteError::ConnectionLost(how) => lost(&how.clone(), error.into()),
            WriteError::Stopped(_) | WriteError::ClosedStream => Self::Closed(error.into()),
            WriteError::ZeroRttRejected => Self::Other(error.into()),
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match &error {
            ReadError::ConnectionLost(how) => lost(&how.clone(), error.into()),
            ReadError::Reset(_) | ReadError::ClosedStream => Self::Closed(error.into()),
            ReadError::IllegalOrderedRead | ReadError::ZeroRttRejected => Self::Other(error.into()),
        }
    }
}

impl From<SendDatagramError> for Error {
    fn from(error: SendDatagramError) -> Self {
        match &error {
            SendDatagramError::ConnectionLost(how) => lost(&how.clone(), error.into()),
            SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled | SendDatagramError::TooLarge => {
                Self::Other(error.into())
            }
        }
    }
}

impl From<StoppedError> for Error {
    fn from(error: StoppedError) -> Self {
        match &error {
            StoppedError::ConnectionLost(how) => lost(&how.clone(), error.into()),
            StoppedError::ZeroRttRejected => Self::Closed(error.into()),
        }
    }
}

fn lost(how: &ConnectionError, cause: anyhow::Error) -> Error {
    match how {
        ConnectionError::TimedOut => Error::TimedOut(cause),
        ConnectionError::Reset => Error::Reset(cause),
        _ => Error::Closed(cause),
    }
}

/// hyper says how a connection was lost by what caused its own error.
impl From<hyper::Error> for Error {
    fn from(error: hyper::Error) -> Self {
        unless_timed_out(has_timed_out(&error), error.into())
    }
}

impl From<h3::error::ConnectionError> for Error {
    fn from(error: h3::error::ConnectionError) -> Self {
        unless_timed_out(matches!(error, h3::error::ConnectionError::Timeout { .. }), error.into())
    }
}

impl From<h3::error::StreamError> for Error {
    fn from(error: h3::error::StreamError) -> Self {
        use h3::error::{ConnectionError::Timeout, StreamError::ConnectionError};
        unless_timed_out(matches!(error, ConnectionError { 0: Timeout { .. }, .. }), error.into())
    }
}

fn unless_timed_out(has_timed_out: bool, cause: anyhow::Error) -> Error {
    if has_timed_out { Error::TimedOut(cause) } else { Error::Other(cause) }
}

/// Returns whether a time-out of the connection caused an error, which may be hidden below others; HTTP/2's names no
/// cause, but has it.
fn has_timed_out(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.any(|cause| {
        let of_http2 = || cause.downcast_ref::<h2::Error>().and_then(h2::Error::get_io);
        let of_kernel = cause.downcast_ref::<io::Error>().or_else(of_http2);
        of_kernel.is_some_and(|of_kernel| of_kernel.kind() == ErrorKind::TimedOut)
    })
}

/// Converts errors that do not concern a connection.
macro_rules! others {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Other(error.into())
            }
        })+
    };
}

others!(
    anyhow::Error,
    http::header::InvalidHeaderValue,
    http::status::InvalidStatusCode,
    nix::errno::Errno,
    quinn::ClosedStream,
    quinn::ConnectError,
    quinn::crypto::rustls::NoInitialCipherSuite,
    rustls::Error,
    rustls::pki_types::InvalidDnsNameError,
    std::num::TryFromIntError,
    tokio::sync::watch::error::RecvError,
    tokio::task::JoinError,
);

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: impl Into<Error>) -> Error {
        Err::<(), Error>(error.into()).context("sending the content").unwrap_err()
    }

    fn of_kernel(number: i32) -> Error {
        of(io::Error::from_raw_os_error(number))
    }

    #[test]
    fn a_loss_stays_what_it_is_whatever_was_attempted() {
        assert!(matches!(of_kernel(libc::EPIPE), Error::Closed(_)));
        assert!(matches!(of_kernel(libc::ECONNRESET), Error::Reset(_)));
        assert!(matches!(of_kernel(libc::ESRCH), Error::Closed(_)));
        assert!(matches!(of_kernel(libc::ESHUTDOWN), Error::Closed(_)));
        assert!(matches!(of_kernel(libc::ETIMEDOUT), Error::TimedOut(_)));
        assert!(matches!(of_kernel(libc::ENETUNREACH), Error::Unreachable(_)));
        assert!(matches!(of(Error::closed("the peer closed")), Error::Closed(_)));
        assert!(matches!(of(ReadError::ConnectionLost(ConnectionError::Reset)), Error::Reset(_)));
        assert!(matches!(of(WriteError::ConnectionLost(ConnectionError::TimedOut)), Error::TimedOut(_)));
        assert!(matches!(of(of_kernel(libc::EPIPE).shared()), Error::Closed(_)));
    }

    #[test]
    fn other_errors_are_no_loss() {
        assert!(matches!(of(anyhow!("the client asks for something else")), Error::Other(_)));
        assert!(matches!(of_kernel(libc::EACCES), Error::Other(_)));
        let unreadable = anyhow::Error::from(io::Error::from(ErrorKind::UnexpectedEof)).context("reading a file");
        assert!(matches!(of(unreadable), Error::Other(_)), "a file that ends early is no connection that does");
    }

    #[test]
    fn all_that_was_attempted_is_said_also_by_way_of_others() {
        let message = "sending the content: the peer closed";
        assert_eq!(format!("{:#}", of(Error::closed("the peer closed"))), message);
        assert_eq!(format!("{:#}", anyhow::Error::from(of(Error::closed("the peer closed")))), message);
        assert_eq!(io::Error::from(of(Error::closed("the peer closed"))).to_string(), message);
    }
}
