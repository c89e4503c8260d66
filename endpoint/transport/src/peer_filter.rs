//! A filter with which a socket receives packets from one host only: the kernel drops all others before they are
//! answered.
//!
//! It is a classic BPF program (`Documentation/networking/filter.rst`; `SO_ATTACH_FILTER`, socket(7)), which needs no
//! privilege and compares the source address in the IP header. Accepted sockets inherit the filter of the listening
//! socket.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use libc::{sock_filter, sock_fprog};

use super::error::{Context as _, Result};
use super::system_call::set_option;

/// The base for offsets relative to the IP header (`SKF_NET_OFF` in `include/uapi/linux/filter.h`).
const IP_HEADER: u32 = -0x10_0000_i32 as u32;

/// The offset of the source address in an IPv4 header (RFC 791).
const SOURCE_V4: u32 = 12;
/// The offset of the source address in an IPv6 header (RFC 8200).
const SOURCE_V6: u32 = 8;

const TAKE_ALL: u32 = u32::MAX;
const DROP: u32 = 0;

/// Makes the kernel drop packets that do not come from `peer`.
///
/// # Errors
/// The protocol's sockets take no filter.
pub(super) fn restrict(socket: &impl AsRawFd, peer: IpAddr) -> Result<()> {
    let mut program = program(peer);
    let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
        .with_context(|| format!("taking packets of {peer} only (SO_ATTACH_FILTER)"))
}

/// Returns whether a connection from this address may be accepted.
pub(super) fn is_welcome(from: Option<SocketAddr>, only_from: Option<IpAddr>) -> bool {
    only_from.is_none_or(|peer| from.is_some_and(|from| from.ip().to_canonical() == peer.to_canonical()))
}

fn program(peer: IpAddr) -> Vec<sock_filter> {
    let words: Vec<(u32, u32)> = match peer {
        IpAddr::V4(address) => vec![(SOURCE_V4, address.to_bits())],
        IpAddr::V6(address) => {
            let word = |index: u32| (address.to_bits() >> (96 - 32 * index)) as u32;
            (0..4).map(|index| (SOURCE_V6 + 4 * index, word(index))).collect()
        }
    };
    let mut program = Vec::new();
    for (index, (offset, expected)) in words.iter().enumerate() {
        let to_the_end = 2 * (words.len() - index) as u8 - 1;
        program.push(statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, IP_HEADER.wrapping_add(*offset)));
        program
            .push(sock_filter { jf: to_the_end, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, *expected) });
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, TAKE_ALL));
    program.push(statement(libc::BPF_RET | libc::BPF_K, DROP));
    program
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
    use std::time::Duration;

    use super::*;

    fn receives(from: &str, allowed: IpAddr) -> bool {
        let unspecified: IpAddr = match allowed {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let server = UdpSocket::bind((unspecified, 0)).unwrap();
        restrict(&server, allowed).unwrap();
        let client = UdpSocket::bind((from, 0)).unwrap();
        let home = if allowed.is_ipv4() { "127.0.0.1" } else { "::1" };
        client.send_to(b"x", (home, server.local_addr().unwrap().port())).unwrap();
        // Over the loopback device, a packet has been queued or dropped by the time the sender returns.
        server.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        server.recv(&mut [0]).is_ok()
    }

    #[test]
    fn packets_of_the_peer_arrive_and_no_others() {
        assert!(receives("127.0.0.2", "127.0.0.2".parse().unwrap()));
        assert!(!receives("127.0.0.3", "127.0.0.2".parse().unwrap()));
        assert!(!receives("127.0.0.1", "127.0.0.2".parse().unwrap()));
    }

    #[test]
    fn every_word_of_an_ipv6_address_counts() {
        if UdpSocket::bind("[::1]:0").is_err() {
            return; // a host without IPv6: the program below is checked all the same
        }
        assert!(receives("::1", "::1".parse().unwrap()));
        assert!(!receives("::1", "1::1".parse().unwrap()));
        assert!(!receives("::1", "::2".parse().unwrap()));
    }

    #[test]
    fn a_mismatch_leads_to_the_last_statement() {
        let program = program("2001:db8::1".parse().unwrap());
        assert_eq!(program.len(), 10);
        for (index, statement) in program.iter().enumerate().filter(|(index, _)| index % 2 == 1 && *index < 8) {
            assert_eq!(index + 1 + usize::from(statement.jf), 9);
        }
        assert_eq!((program[8].k, program[9].k), (TAKE_ALL, DROP));
    }

    #[test]
    fn strangers_are_not_welcome_where_somebody_is_meant() {
        let peer: IpAddr = "192.0.2.1".parse().unwrap();
        assert!(is_welcome(Some("192.0.2.1:5".parse().unwrap()), Some(peer)));
        assert!(is_welcome(Some("[::ffff:192.0.2.1]:5".parse().unwrap()), Some(peer)));
        assert!(!is_welcome(Some("192.0.2.2:5".parse().unwrap()), Some(peer)));
        assert!(!is_welcome(None, Some(peer)));
        assert!(is_welcome(None, None));
    }
}
