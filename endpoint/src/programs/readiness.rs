//! When a server can be asked: it waits for clients at a port, has printed a line, or has made a file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use regex_lite::Regex;

use super::root::below_root;
use crate::job::Ready;
use crate::netlink::Socket;
use crate::netlink::sock_diag::waiting_ports;

/// The first pause between two looks, in nanoseconds, and the longest; each is twice the one before.
///
/// In virtual time a pause is no waste and no guess: time passes only when every program waits for something, so that a
/// server which is not ready after a pause has nothing left to do before its next timer.
pub(crate) const FIRST_PAUSE_NS: u64 = 1_000_000;
/// See [`FIRST_PAUSE_NS`].
pub(crate) const LONGEST_PAUSE_NS: u64 = 10_000_000;

/// What is waited for.
pub(crate) enum Readiness {
    /// A socket at this port, at any if there is none.
    Port(Option<u16>, Socket),
    /// A line that matches.
    Line(Regex),
    /// A file, as it is seen from outside.
    File(PathBuf),
}

impl Readiness {
    /// What a job's server is waited for. Must be called in the server's network namespace.
    ///
    /// # Errors
    /// A pattern that is none; a kernel without `sock_diag`.
    pub(crate) fn of(ready: &Ready) -> Result<Self> {
        Ok(match ready {
            Ready::Listening { port } => {
                Self::Port(*port, Socket::open(NETLINK_SOCK_DIAG).context("look for the server's sockets")?)
            }
            Ready::Line { pattern } => {
                Self::Line(Regex::new(pattern).with_context(|| format!("read the pattern {pattern:?}"))?)
            }
            Ready::File { path } => Self::File(below_root(Path::new(path))?),
        })
    }

    /// Whether the server is ready, as far as a look can tell.
    ///
    /// # Errors
    /// A kernel that does not answer.
    pub(crate) fn is_there(&mut self) -> Result<bool> {
        Ok(match self {
            Self::Port(wanted, socket) => {
                let ports = waiting_ports(socket).context("look for the server's sockets")?;
                wanted.map_or(!ports.is_empty(), |port| ports.contains(&port))
            }
            Self::Line(_) => false,
            Self::File(path) => path.exists(),
        })
    }

    /// Whether a line that the server printed says that it is ready.
    pub(crate) fn is_said_by(&self, line: &str) -> bool {
        matches!(self, Self::Line(pattern) if pattern.is_match(line))
    }

    /// In words, for a server that never was.
    pub(crate) fn wanted(&self) -> String {
        match self {
            Self::Port(Some(port), _) => format!("a socket that waits at port {port}"),
            Self::Port(None, _) => "a socket that waits for clients".to_owned(),
            Self::Line(pattern) => format!("a line that matches {pattern}"),
            Self::File(path) => format!("the file {}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_that_matches_says_so() {
        let readiness = Readiness::of(&Ready::Line { pattern: "^listening on [0-9]+$".to_owned() }).unwrap();
        assert!(readiness.is_said_by("listening on 80"));
        assert!(!readiness.is_said_by("not listening on 80"));
        assert_eq!(readiness.wanted(), "a line that matches ^listening on [0-9]+$");
    }

    #[test]
    fn a_listening_socket_is_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(Readiness::of(&Ready::Listening { port: Some(port) }).unwrap().is_there().unwrap());
        drop(listener);
        assert!(!Readiness::of(&Ready::Listening { port: Some(port) }).unwrap().is_there().unwrap());
    }

    #[test]
    fn a_file_is_looked_for_where_programs_write() {
        let readiness = Readiness::of(&Ready::File { path: "/run/pid".into() }).unwrap();
        assert_eq!(readiness.wanted(), "the file /tmp/root/run/pid");
    }
}
