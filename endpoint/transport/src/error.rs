//! Errors of a transport: how a connection was lost, or what else failed.

use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind};

use anyhow::anyhow;
use quinn::{ConnectionError, ReadError, SendDatagramError, StoppedError, WriteError};

/// The result of a transport's operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a transport: the attempted operation, the cause, and the consequence for the connection.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    cause: anyhow::Error,
}

/// The consequence of an error for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The peer closed the connection or stream before everything was received.
    Closed,
    /// The peer, or its kernel, reset the connection.
    Reset,
    /// The peer, or the neighbour on the way to it, did not answer in time.
    TimedOut,
    /// There is no route to the peer.
    Unreachable,
    /// No connection was lost: a file cannot be read, the kernel refuses an option, the peer sent an invalid message.
    Other,
}

impl Error {
    /// Creates an error of this kind.
    pub(crate) fn new(kind: Kind, cause: impl Into<anyhow::Error>) -> Self {
        Self { kind, cause: cause.into() }
    }

    /// Creates the error for a connection that the peer closed before everything was received.
    pub(crate) fn closed(message: impl Into<String>) -> Self {
        Self::new(Kind::Closed, anyhow!(message.into()))
    }

    /// Returns the consequence for the connection.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns a copy of the error, for another task that waits on the same connection.
    pub(crate) fn shared(&self) -> Self {
        Self::new(self.kind, anyhow!("{:#}", self.cause))
    }

    /// Adds the attempted operation to an error.
    fn context(self, attempt: impl Display + Send + Sync + 'static) -> Self {
        Self { cause: self.cause.context(attempt), ..self }
    }
}

/// Prints, like [`anyhow::Error`], the last attempt that was added; with `{:#}`, the whole chain of causes.
impl Display for Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.cause.fmt(formatter)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

/// Adds the attempted operation to an error and keeps its kind.
pub trait Context<T> {
    /// Adds the attempted operation to an error.
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
        self.ok_or_else(|| Error::new(Kind::Other, anyhow!("{missing}")))
    }

    fn with_context<C: Display + Send + Sync + 'static>(self, missing: impl FnOnce() -> C) -> Result<T> {
        self.ok_or_else(|| Error::new(Kind::Other, anyhow!("{}", missing())))
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
        let has_ended = matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ESHUTDOWN));
        let kind = match error.kind() {
            _ if has_ended => Kind::Closed,
            ErrorKind::BrokenPipe | ErrorKind::NotConnected | ErrorKind::UnexpectedEof => Kind::Closed,
            ErrorKind::ConnectionReset => Kind::Reset,
            // A neighbour that three ARP requests did not find (net/ipv4/arp.c, arp_error_report), here or at a router.
            ErrorKind::TimedOut | ErrorKind::HostUnreachable => Kind::TimedOut,
            ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => Kind::Unreachable,
            _ => Kind::Other,
        };
        Self::new(kind, error)
    }
}

/// Converts a transport's error for callers that expect an [`io::Error`], such as rustls.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            Kind::Closed => ErrorKind::UnexpectedEof,
            Kind::Reset => ErrorKind::ConnectionReset,
            Kind::TimedOut => ErrorKind::TimedOut,
            Kind::Unreachable => ErrorKind::NetworkUnreachable,
            Kind::Other => ErrorKind::Other,
        };
        Self::new(kind, format!("{error:#}"))
    }
}

impl From<ConnectionError> for Error {
    fn from(error: ConnectionError) -> Self {
        Self::new(lost(&error), error)
    }
}

/// A stream that the peer has stopped, or that is closed already, counts as closed by the peer.
impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        let kind = match &error {
            WriteError::ConnectionLost(how) => lost(how),
            WriteError::Stopped(_) | WriteError::ClosedStream => Kind::Closed,
            WriteError::ZeroRttRejected => Kind::Other,
        };
        Self::new(kind, error)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::ConnectionLost(how) => lost(how),
            ReadError::Reset(_) | ReadError::ClosedStream => Kind::Closed,
            ReadError::IllegalOrderedRead | ReadError::ZeroRttRejected => Kind::Other,
        };
        Self::new(kind, error)
    }
}

impl From<SendDatagramError> for Error {
    fn from(error: SendDatagramError) -> Self {
        let kind = match &error {
            SendDatagramError::ConnectionLost(how) => lost(how),
            SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled | SendDatagramError::TooLarge => {
                Kind::Other
            }
        };
        Self::new(kind, error)
    }
}

impl From<StoppedError> for Error {
    fn from(error: StoppedError) -> Self {
        let kind = match &error {
            StoppedError::ConnectionLost(how) => lost(how),
            StoppedError::ZeroRttRejected => Kind::Closed,
        };
        Self::new(kind, error)
    }
}

fn lost(how: &ConnectionError) -> Kind {
    match how {
        ConnectionError::TimedOut => Kind::TimedOut,
        ConnectionError::Reset => Kind::Reset,
        _ => Kind::Closed,
    }
}

/// Whether the connection timed out is only known from the causes of hyper's error.
impl From<hyper::Error> for Error {
    fn from(error: hyper::Error) -> Self {
        Self::new(unless_timed_out(has_timed_out(&error)), error)
    }
}

impl From<h3::error::ConnectionError> for Error {
    fn from(error: h3::error::ConnectionError) -> Self {
        Self::new(unless_timed_out(matches!(error, h3::error::ConnectionError::Timeout { .. })), error)
    }
}

impl From<h3::error::StreamError> for Error {
    fn from(error: h3::error::StreamError) -> Self {
        use h3::error::{ConnectionError::Timeout, StreamError::ConnectionError};
        Self::new(unless_timed_out(matches!(error, ConnectionError { 0: Timeout { .. }, .. })), error)
    }
}

fn unless_timed_out(has_timed_out: bool) -> Kind {
    if has_timed_out { Kind::TimedOut } else { Kind::Other }
}

/// Returns whether a time-out of the connection is among the causes of an error. An HTTP/2 error does not list its
/// cause, but contains it.
fn has_timed_out(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.any(|cause| {
        let of_http2 = || cause.downcast_ref::<h2::Error>().and_then(h2::Error::get_io);
        let of_kernel = cause.downcast_ref::<io::Error>().or_else(of_http2);
        of_kernel.is_some_and(|of_kernel| of_kernel.kind() == ErrorKind::TimedOut)
    })
}

/// Implements conversions from errors that do not concern a connection.
macro_rules! others {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::new(Kind::Other, error)
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
        assert_eq!(of_kernel(libc::EPIPE).kind(), Kind::Closed);
        assert_eq!(of_kernel(libc::ECONNRESET).kind(), Kind::Reset);
        assert_eq!(of_kernel(libc::ESRCH).kind(), Kind::Closed);
        assert_eq!(of_kernel(libc::ESHUTDOWN).kind(), Kind::Closed);
        assert_eq!(of_kernel(libc::ETIMEDOUT).kind(), Kind::TimedOut);
        assert_eq!(of_kernel(libc::EHOSTUNREACH).kind(), Kind::TimedOut);
        assert_eq!(of_kernel(libc::ENETUNREACH).kind(), Kind::Unreachable);
        assert_eq!(of(Error::closed("the peer closed")).kind(), Kind::Closed);
        assert_eq!(of(ReadError::ConnectionLost(ConnectionError::Reset)).kind(), Kind::Reset);
        assert_eq!(of(WriteError::ConnectionLost(ConnectionError::TimedOut)).kind(), Kind::TimedOut);
        assert_eq!(of(of_kernel(libc::EPIPE).shared()).kind(), Kind::Closed);
    }

    #[test]
    fn other_errors_are_no_loss() {
        assert_eq!(of(anyhow!("the client asks for something else")).kind(), Kind::Other);
        assert_eq!(of_kernel(libc::EACCES).kind(), Kind::Other);
        // Of TCP it may say that there is no route (`Socket::explained`). SCTP has ended an association for what the
        // peer sent, against its protocol (net/sctp/sm_statefuns.c, sctp_sf_abort_violation).
        assert_eq!(of_kernel(libc::ECONNABORTED).kind(), Kind::Other);
        let unreadable = anyhow::Error::from(io::Error::from(ErrorKind::UnexpectedEof)).context("reading a file");
        assert_eq!(of(unreadable).kind(), Kind::Other, "a file that ends early is no connection that does");
    }

    #[test]
    fn all_that_was_attempted_is_said_also_by_way_of_others() {
        let message = "sending the content: the peer closed";
        assert_eq!(format!("{:#}", of(Error::closed("the peer closed"))), message);
        assert_eq!(format!("{:#}", anyhow::Error::from(of(Error::closed("the peer closed")))), message);
        assert_eq!(io::Error::from(of(Error::closed("the peer closed"))).to_string(), message);
    }
}
