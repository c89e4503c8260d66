//! rtnetlink requests for links, addresses, neighbours and routes, and the counters of a link. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/rtnetlink.h`, `if_link.h`, `veth.h` and `neighbour.h`.

use std::net::Ipv4Addr;
use std::os::fd::RawFd;

use super::NetlinkError;
use super::message::{Attributes, Request, attribute, u64_at};

/// A MAC address.
pub type Mac = [u8; 6];

/// Every network of a path is a /24.
const PREFIX_BITS: u8 = 24;
const VETH_INFO_PEER: u16 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_INITRWND: u16 = 14;
const AF_INET: u8 = libc::AF_INET as u8;
const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;

/// One end of a veth pair, as it shall be.
#[derive(Debug)]
pub struct VethEnd<'a> {
    /// The namespace it goes to.
    pub namespace: RawFd,
    /// Interface name.
    pub name: &'a str,
    /// Interface index, chosen so that nothing need be looked up.
    pub index: u32,
    /// Fixed, so that neighbours can be permanent.
    pub mac: Mac,
}

/// Creates a veth pair, each end in its namespace.
pub fn create_veth(ends: [&VethEnd<'_>; 2], mtu_bytes: u32) -> Request {
    let attributes = |end: &VethEnd<'_>, before: Attributes| {
        before
            .put_string(libc::IFLA_IFNAME, end.name)
            .put(libc::IFLA_ADDRESS, &end.mac)
            .put_u32(libc::IFLA_MTU, mtu_bytes)
            .put_u32(libc::IFLA_NET_NS_FD, end.namespace as u32)
    };
    let peer = attributes(ends[1], Attributes::after(&link_structure(ends[1].index, 0)));
    let veth = Attributes::new()
        .put_string(libc::IFLA_INFO_KIND, "veth")
        .nest(libc::IFLA_INFO_DATA, Attributes::new().put(VETH_INFO_PEER, peer.bytes()));
    Request::new(
        format!("create the veth pair {}, {}", ends[0].name, ends[1].name),
        libc::RTM_NEWLINK,
        CREATE,
        &link_structure(ends[0].index, 0),
        &attributes(ends[0], Attributes::new()).nest(libc::IFLA_LINKINFO, veth),
    )
}

/// Sets a link up.
pub fn set_up(index: u32) -> Request {
    Request::new(
        format!("set link {index} up"),
        libc::RTM_SETLINK,
        0,
        &link_structure(index, libc::IFF_UP as u32),
        &Attributes::new(),
    )
}

/// Gives a link an address.
pub fn add_address(index: u32, address: Ipv4Addr) -> Request {
    let mut structure = vec![AF_INET, PREFIX_BITS, 0, libc::RT_SCOPE_UNIVERSE];
    structure.extend_from_slice(&index.to_ne_bytes());
    Request::new(
        format!("give link {index} the address {address}"),
        libc::RTM_NEWADDR,
        CREATE,
        &structure,
        &Attributes::new().put(libc::IFA_LOCAL, &address.octets()).put(libc::IFA_ADDRESS, &address.octets()),
    )
}

/// Adds a permanent neighbour: no ARP.
pub fn add_neighbour(index: u32, address: Ipv4Addr, mac: Mac) -> Request {
    let mut structure = vec![AF_INET, 0, 0, 0];
    structure.extend_from_slice(&index.to_ne_bytes());
    structure.extend_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
    structure.extend_from_slice(&[0, 0]);
    Request::new(
        format!("make {address} a permanent neighbour on link {index}"),
        libc::RTM_NEWNEIGH,
        libc::NLM_F_CREATE | libc::NLM_F_REPLACE,
        &structure,
        &Attributes::new().put(libc::NDA_DST, &address.octets()).put(libc::NDA_LLADDR, &mac),
    )
}

/// Adds a route whose connections begin with the given window, in packets, both ways (RFC 6928).
pub fn add_route(index: u32, network: Ipv4Addr, gateway: Ipv4Addr, initial_window_packets: u32) -> Request {
    let structure = [
        AF_INET,
        PREFIX_BITS,
        0,
        0,
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_UNIVERSE,
        libc::RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    let metrics =
        Attributes::new().put_u32(RTAX_INITCWND, initial_window_packets).put_u32(RTAX_INITRWND, initial_window_packets);
    Request::new(
        format!("route {network}/{PREFIX_BITS} by {gateway}"),
        libc::RTM_NEWROUTE,
        CREATE,
        &structure,
        &Attributes::new()
            .put(libc::RTA_DST, &network.octets())
            .put(libc::RTA_GATEWAY, &gateway.octets())
            .put_u32(libc::RTA_OIF, index)
            .nest(libc::RTA_METRICS, metrics),
    )
}

/// Asks for a link and its counters.
pub fn ask_link(index: u32) -> Request {
    Request::new(
        format!("read the counters of link {index}"),
        libc::RTM_GETLINK,
        0,
        &link_structure(index, 0),
        &Attributes::new(),
    )
}

/// What a link has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets received.
    pub received_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes received, Ethernet headers included.
    pub received_bytes: u64,
    /// Bytes sent, Ethernet headers included.
    pub sent_bytes: u64,
    /// Packets it was given to send and dropped: for veth, those that found the receiving CPU's backlog full.
    pub send_dropped_packets: u64,
}

impl LinkCounters {
    /// Reads the answer to [`ask_link`]: `struct rtnl_link_stats64` in `IFLA_STATS64`.
    pub fn from_answer(answer: &[u8]) -> Result<Self, NetlinkError> {
        let number = |index: usize| u64_at(attribute(answer.get(16..)?, libc::IFLA_STATS64)?, 8 * index);
        let read = || {
            Some(Self {
                received_packets: number(0)?,
                sent_packets: number(1)?,
                received_bytes: number(2)?,
                sent_bytes: number(3)?,
                send_dropped_packets: number(7)?,
            })
        };
        read()
            .ok_or(NetlinkError::Incomplete { attempt: "read the counters of a link".into(), missing: "IFLA_STATS64" })
    }
}

/// `struct ifinfomsg`.
fn link_structure(index: u32, flags: u32) -> Vec<u8> {
    [0, index, flags, flags].iter().flat_map(|word| word.to_ne_bytes()).collect()
}
