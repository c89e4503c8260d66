//! Recognises connections that were lost because of a time-out or a missing route, where the kernel reports another
//! error.

use std::io::{self, ErrorKind};

use socket2::Protocol;

use super::connection_errors::{lost_subflows, no_route, timed_out};
use super::socket::Socket;
use super::tcp::info::TcpInfo;

impl Socket {
    /// Returns the real reason for a socket's error: replaces the kernel's error if the cause is one of two time-outs
    /// or a missing route.
    ///
    /// The first time-out is that of a handshake: a kernel that has answered a SYN waits about a minute for the
    /// client's ACK (`net.ipv4.tcp_synack_retries`). Then it forgets the connection, and answers what arrives later
    /// with a reset. The second is that of an MPTCP connection without subflows ([`Self::has_lost_its_subflows`]).
    ///
    /// A missing route is hidden by Fast Open: if it has deferred a SYN for which there is no route, the kernel reports
    /// only ECONNABORTED (`tcp_sendmsg_fastopen` in `net/ipv4/tcp.c`), which means something else for SCTP.
    pub(crate) fn explained(&self, error: io::Error) -> io::Error {
        match error.kind() {
            ErrorKind::ConnectionReset if TcpInfo::read(self).is_ok_and(|info| info.has_received_nothing()) => {
                timed_out("the peer had given the connection up before it was set up, and reset it", &error)
            }
            ErrorKind::ConnectionAborted if self.has_protocol(Protocol::TCP) => no_route(&error),
            ErrorKind::NotConnected | ErrorKind::BrokenPipe if self.has_lost_its_subflows() => lost_subflows(&error),
            _ => error,
        }
    }

    /// Returns whether this is an MPTCP connection that the kernel has closed a minute after its last subflow ended,
    /// although the peer had not ended the connection. The kernel has no specific error for that
    /// (`mptcp_close_tout_expired` in `net/mptcp/protocol.c`): receiving fails with ENOTCONN, sending with EPIPE.
    pub(super) fn has_lost_its_subflows(&self) -> bool {
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        let is_closed = || self.receive_or_reset(&mut [0], flags).is_err_and(|of| of.kind() == ErrorKind::NotConnected);
        self.has_protocol(Protocol::MPTCP) && is_closed()
    }

    fn has_protocol(&self, wanted: Protocol) -> bool {
        self.protocol().is_ok_and(|protocol| protocol == Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    use super::*;
    use crate::system_call::set_option;

    /// Returns the kind of error that a client sees if its peer sends `sent_before` and then resets the connection.
    fn seen_of_a_reset(sent_before: &[u8]) -> ErrorKind {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = Socket::from(socket2::Socket::from(ours));
        let (mut theirs, _) = listener.accept().unwrap();
        theirs.write_all(sent_before).unwrap();
        let mut received = vec![0; sent_before.len()];
        socket.receive_exact(&mut received).unwrap();
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        set_option(theirs.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &at_once).unwrap();
        drop(theirs);
        socket.receive(&mut [0], 0).unwrap_err().kind()
    }

    #[test]
    fn an_aborted_connection_has_no_route_if_it_is_of_tcp() {
        let aborted = || io::Error::from_raw_os_error(libc::ECONNABORTED);
        let kind = |kind| {
            let socket = socket2::Socket::new(socket2::Domain::UNIX, kind, None).unwrap();
            Socket::from(socket).explained(aborted()).kind()
        };
        assert_eq!(kind(socket2::Type::STREAM), ErrorKind::ConnectionAborted, "SCTP's association, or any other");
        let tcp = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let error = crate::error::Error::from(Socket::from(tcp).explained(aborted()));
        assert_eq!(error.kind(), crate::error::Kind::Unreachable);
    }

    #[test]
    fn a_reset_before_anything_came_is_a_peer_that_did_not_hear_in_time() {
        assert_eq!(seen_of_a_reset(b""), ErrorKind::TimedOut);
        assert_eq!(seen_of_a_reset(b"answer"), ErrorKind::ConnectionReset);
    }
}
