//! Reads the sockets of a network namespace (`sock_diag(7)`): listening ones, as `ss -lntu` shows them, and connections
//! of TCP and SCTP, as `ss -tin` and `ss -Sin` do.

use netwarp_core::addresses::Family;
use netwarp_core::connection_sample::{ConnectionSample, ConnectionState};
use netwarp_transport::{SctpInfo, TcpInfo};

use super::message::{Attributes, Request, attribute, u16_at};
use super::{NetlinkError, Socket};

/// `SOCK_DIAG_BY_FAMILY` of `include/uapi/linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// The size of a `struct inet_diag_req_v2`, in bytes.
const REQUEST_BYTES: usize = 56;
/// The offset of `idiag_states` in the request.
const STATES_OFFSET: usize = 4;
/// The offset of the local port (`id.idiag_sport`) in a `struct inet_diag_msg`.
const PORT_OFFSET: usize = 4;
/// The state `TCP_LISTEN`, which SCTP uses as well (`include/net/tcp_states.h`).
const LISTENING: u32 = 1 << 10;
/// The state `TCP_CLOSE`, in which a UDP socket is bound but not connected.
const UNCONNECTED: u32 = 1 << 7;
/// The states `TCP_ESTABLISHED`, `TCP_FIN_WAIT1` and `TCP_CLOSE_WAIT`, in which connections may still have data to
/// send.
const CONNECTED: u32 = 1 << 1 | 1 << 4 | 1 << 8;
/// The offset of `idiag_ext` in the request: a bit for each additional attribute that the answer is to have.
const EXTENSIONS_OFFSET: usize = 2;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SKMEMINFO: u16 = 7;
/// The index of the memory allocated to the send queue in `INET_DIAG_SKMEMINFO` (`include/uapi/linux/sock_diag.h`),
/// whose numbers have four bytes each.
const SK_MEMINFO_WMEM_ALLOC: usize = 2;
/// The index of the send buffer's size in `INET_DIAG_SKMEMINFO`.
const SK_MEMINFO_SNDBUF: usize = 3;
/// The size of a `struct inet_diag_msg`, in bytes.
const MESSAGE_BYTES: usize = 72;
/// The offset of the socket's inode in a `struct inet_diag_msg`.
const INODE_OFFSET: usize = 68;
/// The offset of the other end's port (`id.idiag_dport`) in a `struct inet_diag_msg`.
const PEER_PORT_OFFSET: usize = 6;

/// The filter of each request for listening sockets: address family, protocol, and the states in which a socket waits
/// for clients.
const WAITING: [(i32, i32, u32); 6] = [
    (libc::AF_INET, libc::IPPROTO_TCP, LISTENING),
    (libc::AF_INET6, libc::IPPROTO_TCP, LISTENING),
    (libc::AF_INET, libc::IPPROTO_UDP, UNCONNECTED),
    (libc::AF_INET6, libc::IPPROTO_UDP, UNCONNECTED),
    (libc::AF_INET, libc::IPPROTO_SCTP, LISTENING),
    (libc::AF_INET6, libc::IPPROTO_SCTP, LISTENING),
];

/// A listening socket, or a UDP socket that waits for datagrams of any client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The local port.
    pub port: u16,
    /// The socket's inode, by which processes with the socket are found in `/proc/PID/fd`.
    pub inode: u32,
}

/// Returns the sockets of a network namespace that wait for clients, unsorted: listening TCP and SCTP sockets, and UDP
/// sockets that are bound and not connected. Without SCTP in the kernel there are no SCTP sockets.
///
/// # Arguments
/// * `socket` - a socket of `NETLINK_SOCK_DIAG` in that namespace.
pub fn waiting_sockets(socket: &mut Socket) -> Result<Vec<Waiting>, NetlinkError> {
    let mut waiting = Vec::new();
    for (family, protocol, states) in WAITING {
        match socket.dump(&request(family, protocol, states, &[])) {
            Ok(sockets) => waiting.extend(sockets.iter().filter_map(|found| waiting_socket(found))),
            Err(NetlinkError::Refused { .. }) if protocol == libc::IPPROTO_SCTP => {}
            Err(error) => return Err(error),
        }
    }
    Ok(waiting)
}

/// Returns the TCP connections of a network namespace in one address family, including MPTCP's subflows.
///
/// # Arguments
/// * `socket` - a socket of `NETLINK_SOCK_DIAG` in that namespace.
pub fn tcp_connections(socket: &mut Socket, family: Family) -> Result<Vec<ConnectionSample>, NetlinkError> {
    let state = |message: &[u8]| Some(TcpInfo::from_bytes(attribute(message, INET_DIAG_INFO)?)?.state());
    connections(socket, family, libc::IPPROTO_TCP, &[INET_DIAG_INFO], state)
}

/// Returns the SCTP associations of a network namespace in one address family.
///
/// # Arguments
/// * `socket` - a socket of `NETLINK_SOCK_DIAG` in that namespace.
///
/// # Errors
/// The kernel does not answer, or lacks `CONFIG_INET_SCTP_DIAG`.
pub fn sctp_associations(socket: &mut Socket, family: Family) -> Result<Vec<ConnectionSample>, NetlinkError> {
    let state = |message: &[u8]| {
        let memory = attribute(message, INET_DIAG_SKMEMINFO)?;
        let word = |place: usize| Some(u32::from_ne_bytes(*memory.get(4 * place..)?.first_chunk()?));
        let send_room_bytes = word(SK_MEMINFO_SNDBUF)?.saturating_sub(word(SK_MEMINFO_WMEM_ALLOC)?);
        Some(SctpInfo::from_bytes(attribute(message, INET_DIAG_INFO)?)?.state(send_room_bytes))
    };
    connections(socket, family, libc::IPPROTO_SCTP, &[INET_DIAG_INFO, INET_DIAG_SKMEMINFO], state)
}

/// Returns a sample of each connection of a protocol. `state` reads it from the attributes of the kernel's answer;
/// connections for which it returns `None` are left out.
fn connections(
    socket: &mut Socket,
    family: Family,
    protocol: i32,
    extensions: &[u16],
    state: impl Fn(&[u8]) -> Option<ConnectionState>,
) -> Result<Vec<ConnectionSample>, NetlinkError> {
    let seen = |message: &[u8]| {
        let port = u16_at(message, PORT_OFFSET).map(u16::from_be)?;
        let peer_port = u16_at(message, PEER_PORT_OFFSET).map(u16::from_be)?;
        Some(ConnectionSample { port, peer_port, number: 0, state: state(message.get(MESSAGE_BYTES..)?)? })
    };
    let family = match family {
        Family::Ipv4 => libc::AF_INET,
        Family::Ipv6 => libc::AF_INET6,
    };
    let messages = socket.dump(&request(family, protocol, CONNECTED, extensions))?;
    Ok(messages.iter().filter_map(|message| seen(message)).collect())
}

fn request(family: i32, protocol: i32, states: u32, extensions: &[u16]) -> Request {
    let mut structure = [0; REQUEST_BYTES];
    structure[0] = family as u8;
    structure[1] = protocol as u8;
    structure[EXTENSIONS_OFFSET] = extensions.iter().map(|extension| 1 << (extension - 1)).sum();
    structure[STATES_OFFSET..STATES_OFFSET + 4].copy_from_slice(&states.to_ne_bytes());
    let attempt = format!("list the sockets of family {family} and protocol {protocol}");
    Request::new(attempt, SOCK_DIAG_BY_FAMILY, libc::NLM_F_DUMP, &structure, &Attributes::new())
}

/// Decodes a listening socket; `None` if it waits for no client: a UDP socket that is not bound (port 0).
fn waiting_socket(message: &[u8]) -> Option<Waiting> {
    let port = u16_at(message, PORT_OFFSET).map(u16::from_be).filter(|&port| port != 0)?;
    let inode = u32::from_ne_bytes(*message.get(INODE_OFFSET..)?.first_chunk()?);
    Some(Waiting { port, inode })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use netlink_sys::protocols::NETLINK_SOCK_DIAG;

    use super::*;

    #[test]
    fn sockets_that_wait_are_found_and_others_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let six = TcpListener::bind("[::1]:0").unwrap();
        let bound = UdpSocket::bind("127.0.0.1:0").unwrap();
        let connected = UdpSocket::bind("127.0.0.1:0").unwrap();
        connected.connect(bound.local_addr().unwrap()).unwrap();
        let waiting = waiting_sockets(&mut Socket::open(NETLINK_SOCK_DIAG).unwrap()).unwrap();
        let ports: Vec<_> = waiting.iter().map(|each| each.port).collect();
        for address in [listener.local_addr(), six.local_addr(), bound.local_addr()] {
            let port = address.unwrap().port();
            assert!(ports.contains(&port), "{port} is not among {ports:?}");
        }
        assert!(!ports.contains(&connected.local_addr().unwrap().port()));
    }

    #[test]
    fn a_socket_without_a_port_waits_for_nobody() {
        let mut message = [0; MESSAGE_BYTES];
        assert_eq!(waiting_socket(&message), None);
        message[PORT_OFFSET..][..2].copy_from_slice(&8080_u16.to_be_bytes());
        message[INODE_OFFSET..].copy_from_slice(&7_u32.to_ne_bytes());
        assert_eq!(waiting_socket(&message), Some(Waiting { port: 8080, inode: 7 }));
        assert_eq!(waiting_socket(&message[..10]), None);
    }

    #[test]
    fn a_connection_is_seen_with_what_was_acknowledged() {
        for (address, family) in [("127.0.0.1:0", Family::Ipv4), ("[::1]:0", Family::Ipv6)] {
            let listener = TcpListener::bind(address).unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_server, _) = listener.accept().unwrap();
            client.write_all(&[0; 1000]).unwrap();
            let ports = [client.local_addr(), client.peer_addr()].map(|address| address.unwrap().port());
            let seen = tcp_connections(&mut Socket::open(NETLINK_SOCK_DIAG).unwrap(), family).unwrap();
            let ours = seen.iter().find(|each| [each.port, each.peer_port] == ports).expect("the client's end");
            assert!(ours.state.cwnd_bytes > 0);
            assert!(ours.state.acked_bytes.is_some_and(|bytes| bytes <= 1001));
        }
    }
}
