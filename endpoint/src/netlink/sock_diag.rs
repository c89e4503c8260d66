//! Sockets that wait for clients in a network namespace, as `ss -lntu` shows them (`sock_diag(7)`).

use super::message::{Attributes, Request, u16_at};
use super::{NetlinkError, Socket};

/// `SOCK_DIAG_BY_FAMILY` of `include/uapi/linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Bytes of a `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
/// `idiag_states` of the request, and the local port (`id.idiag_sport`) of a `struct inet_diag_msg`.
const STATES_OFFSET: usize = 4;
const PORT_OFFSET: usize = 4;
/// `TCP_LISTEN`, which SCTP uses as well, and `TCP_CLOSE`, the state of a UDP socket that is bound and not connected
/// (`include/net/tcp_states.h`).
const LISTENING: u32 = 1 << 10;
const UNCONNECTED: u32 = 1 << 7;

/// One request's filter: an address family's sockets of one protocol, in the states in which they wait for clients.
const WAITING: [(i32, i32, u32); 6] = [
    (libc::AF_INET, libc::IPPROTO_TCP, LISTENING),
    (libc::AF_INET6, libc::IPPROTO_TCP, LISTENING),
    (libc::AF_INET, libc::IPPROTO_UDP, UNCONNECTED),
    (libc::AF_INET6, libc::IPPROTO_UDP, UNCONNECTED),
    (libc::AF_INET, libc::IPPROTO_SCTP, LISTENING),
    (libc::AF_INET6, libc::IPPROTO_SCTP, LISTENING),
];

/// Local ports at which sockets of the socket's network namespace wait for clients: TCP and SCTP sockets that listen,
/// UDP sockets that are bound and not connected. In no order; a port may come several times.
///
/// # Arguments
/// * `socket` - of `NETLINK_SOCK_DIAG`.
///
/// # Errors
/// A kernel that does not answer. One without SCTP has no SCTP sockets, which is no error.
pub(crate) fn waiting_ports(socket: &mut Socket) -> Result<Vec<u16>, NetlinkError> {
    let mut ports = Vec::new();
    for (family, protocol, states) in WAITING {
        match socket.dump(&request(family, protocol, states)) {
            Ok(sockets) => ports.extend(sockets.iter().filter_map(|found| local_port(found))),
            Err(NetlinkError::Refused { .. }) if protocol == libc::IPPROTO_SCTP => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ports)
}

fn request(family: i32, protocol: i32, states: u32) -> Request {
    let mut structure = [0; REQUEST_BYTES];
    structure[0] = family as u8;
    structure[1] = protocol as u8;
    structure[STATES_OFFSET..STATES_OFFSET + 4].copy_from_slice(&states.to_ne_bytes());
    let attempt = format!("list the sockets of family {family} and protocol {protocol}");
    Request::new(attempt, SOCK_DIAG_BY_FAMILY, libc::NLM_F_DUMP, &structure, &Attributes::new())
}

/// Port 0 is a UDP socket that is not bound: it waits for nobody.
fn local_port(message: &[u8]) -> Option<u16> {
    u16_at(message, PORT_OFFSET).map(u16::from_be).filter(|&port| port != 0)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use netlink_sys::protocols::NETLINK_SOCK_DIAG;

    use super::*;

    #[test]
    fn sockets_that_wait_are_found_and_others_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let six = TcpListener::bind("[::1]:0").unwrap();
        let bound = UdpSocket::bind("127.0.0.1:0").unwrap();
        let connected = UdpSocket::bind("127.0.0.1:0").unwrap();
        connected.connect(bound.local_addr().unwrap()).unwrap();
        let ports = waiting_ports(&mut Socket::open(NETLINK_SOCK_DIAG).unwrap()).unwrap();
        for address in [listener.local_addr(), six.local_addr(), bound.local_addr()] {
            let port = address.unwrap().port();
            assert!(ports.contains(&port), "{port} is not among {ports:?}");
        }
        assert!(!ports.contains(&connected.local_addr().unwrap().port()));
    }

    #[test]
    fn a_socket_without_a_port_waits_for_nobody() {
        assert_eq!(local_port(&[2, 7, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(local_port(&[2, 10, 0, 0, 0x1f, 0x90, 0, 0]), Some(8080));
        assert_eq!(local_port(&[2, 10]), None);
    }
}
