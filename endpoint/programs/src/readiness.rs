//! Detects when a server is ready: when it listens at a port, has printed a line, or has created a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netwarp_path::netlink::Socket;
use netwarp_path::netlink::sock_diag::waiting_sockets;
use netwarp_path::netns::NetNs;
use netwarp_wire::job::Ready;
use regex_lite::Regex;

use super::files_of::below_root;

/// The first pause between two checks, in nanoseconds; each pause is twice the previous one, up to
/// [`LONGEST_PAUSE_NS`].
///
/// In virtual time the length of a pause does not matter: time passes only when every program waits for something, so a
/// server that is not ready after a pause has nothing left to do before its next timer.
pub const FIRST_PAUSE_NS: u64 = 1_000_000;
/// The longest pause between two checks, in nanoseconds; see [`FIRST_PAUSE_NS`].
pub const LONGEST_PAUSE_NS: u64 = 10_000_000;

/// How to detect that a server is ready.
pub enum Readiness {
    /// A socket listens at a port.
    Port {
        /// The port; `None` for any.
        wanted: Option<u16>,
        /// The netlink socket that lists the network namespace's sockets.
        sockets: Socket,
        /// The `/proc` directory of the programs' processes, if the network namespace also has sockets of other
        /// processes.
        processes: Option<PathBuf>,
    },
    /// The server has printed a line that matches.
    Line(Regex),
    /// A file exists; its path is as seen outside the programs' file system.
    File(PathBuf),
}

impl Readiness {
    /// Prepares the detection that a job asks for. Must be called in the server's network namespace.
    ///
    /// # Errors
    /// The pattern is invalid; the kernel has no `sock_diag`.
    pub fn of(ready: &Ready) -> Result<Self> {
        Ok(match ready {
            Ready::Listening { port } => Self::Port {
                wanted: *port,
                sockets: Socket::open(NETLINK_SOCK_DIAG).context("look for the server's sockets")?,
                processes: if NetNs::current()?.is_ours()? { None } else { Some(below_root(Path::new("/proc"))?) },
            },
            Ready::Line { pattern } => {
                Self::Line(Regex::new(pattern).with_context(|| format!("read the pattern {pattern:?}"))?)
            }
            Ready::File { path } => Self::File(below_root(Path::new(path))?),
        })
    }

    /// Returns whether the awaited socket or file exists.
    pub fn is_there(&mut self) -> Result<bool> {
        Ok(match self {
            Self::Port { wanted, sockets, processes } => {
                let mut waiting = waiting_sockets(sockets).context("look for the server's sockets")?;
                waiting.retain(|each| wanted.is_none_or(|port| each.port == port));
                match processes {
                    Some(processes) if !waiting.is_empty() => {
                        let theirs = socket_inodes(processes).context("look for the server's sockets")?;
                        waiting.iter().any(|each| theirs.contains(&each.inode))
                    }
                    _ => !waiting.is_empty(),
                }
            }
            Self::Line(_) => false,
            Self::File(path) => path.exists(),
        })
    }

    /// Returns whether a line that the server printed shows that it is ready.
    pub fn is_said_by(&self, line: &str) -> bool {
        matches!(self, Self::Line(pattern) if pattern.is_match(line))
    }

    /// Returns a description of the awaited event, for the message about a server that was not ready in time.
    pub fn wanted(&self) -> String {
        match self {
            Self::Port { wanted: Some(port), .. } => format!("a socket that waits at port {port}"),
            Self::Port { wanted: None, .. } => {
                "a socket that waits for clients (of a server without one, --ready or `ready` names another sign)"
                    .to_owned()
            }
            Self::Line(pattern) => format!("a line that matches {pattern}"),
            Self::File(path) => format!("the file {}", path.display()),
        }
    }
}

/// Returns the inodes of all sockets that the processes in this `/proc` directory have open.
fn socket_inodes(processes: &Path) -> io::Result<Vec<u32>> {
    let mut inodes = Vec::new();
    for process in fs::read_dir(processes)? {
        let Ok(descriptors) = fs::read_dir(process?.path().join("fd")) else { continue };
        let targets = descriptors.filter_map(|each| fs::read_link(each.ok()?.path()).ok());
        inodes
            .extend(targets.filter_map(|target| {
                target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u32>().ok()
            }));
    }
    Ok(inodes)
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
    fn a_socket_of_somebody_else_is_none_of_the_servers() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ready = |processes| Readiness::Port {
            wanted: Some(port),
            sockets: Socket::open(NETLINK_SOCK_DIAG).unwrap(),
            processes: Some(processes),
        };
        let nobodys = std::env::temp_dir().join(format!("netwarp-nobodys-{}", std::process::id()));
        fs::create_dir_all(&nobodys).unwrap();
        let is_theirs = ready(nobodys.clone()).is_there().unwrap();
        fs::remove_dir(&nobodys).unwrap();
        assert!(!is_theirs);
        assert!(ready(PathBuf::from("/proc")).is_there().unwrap());
    }

    #[test]
    fn a_file_is_looked_for_where_programs_write() {
        let readiness = Readiness::of(&Ready::File { path: "/run/pid".into() }).unwrap();
        assert_eq!(readiness.wanted(), "the file /tmp/root/run/pid");
    }
}
