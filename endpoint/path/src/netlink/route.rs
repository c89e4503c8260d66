//! rtnetlink requests that create, change and read links, addresses, neighbours, routes and rules. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/rtnetlink.h`, `if_link.h`, `veth.h`, `neighbour.h` and
//! `fib_rules.h`.

use std::net::IpAddr;
use std::os::fd::RawFd;

use netwarp_core::addresses::prefix_bits;

use super::NetlinkError;
use super::message::{Attributes, Request, attribute, u32_at, u64_at, words};
use crate::topology::Route;

/// A MAC address.
pub(crate) type Mac = [u8; 6];

const VETH_INFO_PEER: u16 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_INITRWND: u16 = 14;
const RTNH_F_ONLINK: u32 = 4;
const FRA_SRC: u16 = 2;
const FR_ACT_TO_TBL: u8 = 1;
const NDTA_NAME: u16 = 1;
const NDTA_PARMS: u16 = 6;
const NDTPA_IFINDEX: u16 = 1;
const NDTPA_QUEUE_LEN: u16 = 8;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;
pub(super) const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
const REPLACE: i32 = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;

/// One end of a veth pair to be created.
#[derive(Debug)]
pub(crate) struct VethEnd<'a> {
    /// The namespace to which the device is moved.
    pub namespace: RawFd,
    /// The interface's name.
    pub name: &'a str,
    /// The interface index. It is chosen in advance, so that it need not be looked up.
    pub index: u32,
    /// The MAC address. It is chosen in advance, so that permanent neighbour entries can name it.
    pub mac: Mac,
}

/// Returns the request that creates a veth pair, each end in its namespace.
pub(crate) fn create_veth(ends: [&VethEnd<'_>; 2], mtu_bytes: u32) -> Request {
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
    let attempt = format!("create the veth pair {}, {}", ends[0].name, ends[1].name);
    let attributes = attributes(ends[0], Attributes::new()).nest(libc::IFLA_LINKINFO, veth);
    link_request(attempt, libc::RTM_NEWLINK, CREATE, ends[0].index, &attributes)
}

/// Returns the request that creates an intermediate functional block (ifb): a device that returns the packets sent
/// through it to where they were redirected from. With an index of 0 the kernel chooses the index.
pub fn create_ifb(name: &str, index: u32, mtu_bytes: u32) -> Request {
    let attributes = Attributes::new()
        .put_string(libc::IFLA_IFNAME, name)
        .put_u32(libc::IFLA_MTU, mtu_bytes)
        .nest(libc::IFLA_LINKINFO, Attributes::new().put_string(libc::IFLA_INFO_KIND, "ifb"));
    link_request(format!("create the ifb {name}"), libc::RTM_NEWLINK, CREATE, index, &attributes)
}

/// Returns the request that keeps the kernel from assigning IPv6 addresses to a link and sending packets because of
/// them.
pub fn keep_silent(index: u32) -> Request {
    let mode = Attributes::new().put(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE]);
    let attributes = Attributes::new().nest(libc::IFLA_AF_SPEC, Attributes::new().nest(libc::AF_INET6 as u16, mode));
    link_request(format!("keep link {index} without IPv6 addresses"), libc::RTM_SETLINK, 0, index, &attributes)
}

/// Returns the request that deletes a link.
pub fn delete_link(index: u32) -> Request {
    link_request(format!("delete link {index}"), libc::RTM_DELLINK, 0, index, &Attributes::new())
}

/// Returns the request that sets a link up.
pub fn set_up(index: u32) -> Request {
    let structure = link_structure(index, libc::IFF_UP as u32);
    Request::new(format!("set link {index} up"), libc::RTM_SETLINK, 0, &structure, &Attributes::new())
}

/// Returns the request that sets a link up without neighbour resolution (`IFF_NOARP`) and without multicast. Then IPv6
/// joins neither the solicited-node group (`addrconf_join_solict`) nor, on a router, the all-routers groups
/// (`dev_forward_change`), and no multicast listener reports (RFC 3810) are sent.
pub(crate) fn set_up_silently(index: u32) -> Request {
    let (set, changed) = (libc::IFF_UP | libc::IFF_NOARP, libc::IFF_UP | libc::IFF_NOARP | libc::IFF_MULTICAST);
    let structure = words(&[0, index, set as u32, changed as u32]);
    Request::new(format!("set link {index} up, silently"), libc::RTM_SETLINK, 0, &structure, &Attributes::new())
}

/// Returns the request that limits how many packets TCP may pass to a link as one large segment (`gso_max_segs`).
pub(crate) fn bound_bursts(index: u32, packets: u32) -> Request {
    let attributes = Attributes::new().put_u32(libc::IFLA_GSO_MAX_SEGS, packets);
    link_request(format!("bound the bursts of link {index}"), libc::RTM_SETLINK, 0, index, &attributes)
}

/// Returns the request that adds an address to a link.
pub(crate) fn add_address(index: u32, address: IpAddr) -> Request {
    let attempt = format!("give link {index} the address {address}");
    address_request(attempt, libc::RTM_NEWADDR, CREATE, index, address)
}

/// Returns the request that removes an address from a link.
pub(crate) fn remove_address(index: u32, address: IpAddr) -> Request {
    let attempt = format!("take the address {address} from link {index}");
    address_request(attempt, libc::RTM_DELADDR, 0, index, address)
}

fn address_request(attempt: String, kind: u16, flags: i32, index: u32, address: IpAddr) -> Request {
    // Nobody else can have an IPv6 address of ours, so that duplicate address detection is not needed (RFC 4862, 5.4).
    let at_once = if address.is_ipv6() { libc::IFA_F_NODAD as u8 } else { 0 };
    let mut structure = vec![family(address), prefix_bits(address), at_once, libc::RT_SCOPE_UNIVERSE];
    structure.extend_from_slice(&index.to_ne_bytes());
    let octets = octets(address);
    let attributes = Attributes::new().put(libc::IFA_LOCAL, &octets).put(libc::IFA_ADDRESS, &octets);
    Request::new(attempt, kind, flags, &structure, &attributes)
}

/// Returns the request that adds a permanent neighbour, for which neither ARP nor neighbour discovery is needed.
pub(crate) fn add_neighbour(index: u32, address: IpAddr, mac: Mac) -> Request {
    let mut structure = vec![family(address), 0, 0, 0];
    structure.extend_from_slice(&index.to_ne_bytes());
    structure.extend_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
    structure.extend_from_slice(&[0, 0]);
    let attempt = format!("make {address} a permanent neighbour on link {index}");
    let attributes = Attributes::new().put(libc::NDA_DST, &octets(address)).put(libc::NDA_LLADDR, &mac);
    Request::new(attempt, libc::RTM_NEWNEIGH, REPLACE, &structure, &attributes)
}

/// Returns the request that limits how many packets of a link wait for the MAC address of each neighbour.
pub(crate) fn bound_neighbour_queue(index: u32, packets: u32) -> Request {
    let parameters = Attributes::new().put_u32(NDTPA_IFINDEX, index).put_u32(NDTPA_QUEUE_LEN, packets);
    let attempt = format!("have {packets} packets wait for a neighbour on link {index}");
    let attributes = Attributes::new().put_string(NDTA_NAME, "arp_cache").nest(NDTA_PARMS, parameters);
    Request::new(attempt, libc::RTM_SETNEIGHTBL, 0, &[libc::AF_INET as u8, 0, 0, 0], &attributes)
}

/// Returns the request that adds a route, or replaces an existing route to the same network in the same table. The
/// route also sets the initial congestion window and receive window of its connections, in packets (RFC 6928).
pub(crate) fn replace_route(route: &Route) -> Request {
    let Route { device, network, prefix_bits, gateway, gateway_is_local, table, initial_window_packets } = route;
    let (protocol, scope, kind) = (libc::RTPROT_STATIC, libc::RT_SCOPE_UNIVERSE, libc::RTN_UNICAST);
    let mut structure = vec![family(*network), *prefix_bits, 0, 0, *table, protocol, scope, kind];
    let flags = if *gateway_is_local { 0 } else { RTNH_F_ONLINK };
    structure.extend_from_slice(&flags.to_ne_bytes());
    let mut attributes = Attributes::new()
        .put(libc::RTA_DST, &octets(*network))
        .put(libc::RTA_GATEWAY, &octets(*gateway))
        .put_u32(libc::RTA_OIF, device.index);
    if let Some(packets) = *initial_window_packets {
        let metrics = Attributes::new().put_u32(RTAX_INITCWND, packets).put_u32(RTAX_INITRWND, packets);
        attributes = attributes.nest(libc::RTA_METRICS, metrics);
    }
    let attempt = format!("route {network}/{prefix_bits} by {gateway} in table {table}");
    Request::new(attempt, libc::RTM_NEWROUTE, REPLACE, &structure, &attributes)
}

/// Returns the request that adds a rule: routes of packets from `source` are looked up in `table` before the main
/// table.
pub(crate) fn add_rule(source: IpAddr, table: u8) -> Request {
    let octets = octets(source);
    // struct fib_rule_hdr, with 32-bit flags at its end.
    let structure = [family(source), 0, 8 * octets.len() as u8, 0, table, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
    let attempt = format!("have what is sent from {source} look in table {table}");
    Request::new(attempt, libc::RTM_NEWRULE, CREATE, &structure, &Attributes::new().put(FRA_SRC, &octets))
}

/// Returns the request that reads a link, with its counters.
pub fn ask_link(index: u32) -> Request {
    link_request(format!("read the counters of link {index}"), libc::RTM_GETLINK, 0, index, &Attributes::new())
}

/// Returns the request that reads the link of this name.
pub fn find_link(name: &str) -> Request {
    let attributes = Attributes::new().put_string(libc::IFLA_IFNAME, name);
    link_request(format!("find the link {name}"), libc::RTM_GETLINK, 0, 0, &attributes)
}

/// Returns the request, for [`super::Socket::dump`], for all addresses.
pub fn ask_addresses() -> Request {
    let attempt = "read this host's addresses".to_owned();
    Request::new(attempt, libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; 8], &Attributes::new())
}

/// Returns the index of the link that has an address, from the answers to [`ask_addresses`]: each is a `struct
/// ifaddrmsg` and attributes. On a point-to-point link, `IFA_LOCAL` is its own address and `IFA_ADDRESS` the peer's.
pub fn link_with(address: IpAddr, answers: &[Vec<u8>]) -> Option<u32> {
    let octets = octets(address);
    let has_it = |answer: &&Vec<u8>| {
        let attributes = answer.get(8..).unwrap_or_default();
        let own = attribute(attributes, libc::IFA_LOCAL).or_else(|| attribute(attributes, libc::IFA_ADDRESS));
        own == Some(&octets[..])
    };
    answers.iter().find(has_it).and_then(|answer| u32_at(answer, 4))
}

/// Returns whether a device has a carrier but is not operational yet (`operstate`), from the answer to [`ask_link`]:
/// until then the kernel drops packets that are sent through it.
pub fn is_not_active_yet(answer: &[u8]) -> bool {
    /// `IF_OPER_UP` of RFC 2863.
    const UP: u8 = 6;
    let flags = u32_at(answer, 8).unwrap_or(0);
    let has_carrier = flags & libc::IFF_UP as u32 != 0 && flags & libc::IFF_LOWER_UP as u32 != 0;
    let state = answer.get(16..).and_then(|attributes| attribute(attributes, libc::IFLA_OPERSTATE));
    has_carrier && state.is_some_and(|state| state != [UP])
}

/// A link, from the answer to [`ask_link`] or [`find_link`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The interface index.
    pub index: u32,
    /// The name of the device.
    pub name: String,
    /// The size of the largest IP packet that the link carries, in bytes.
    pub mtu_bytes: u32,
    /// Whether the link is the loopback device.
    pub is_loopback: bool,
}

impl Link {
    /// Decodes a `struct ifinfomsg` and its attributes.
    pub fn from_answer(answer: &[u8]) -> Result<Self, NetlinkError> {
        let read = || {
            let attributes = answer.get(16..)?;
            let name = String::from_utf8_lossy(attribute(attributes, libc::IFLA_IFNAME)?);
            Some(Self {
                index: u32_at(answer, 4)?,
                name: name.trim_end_matches('\0').to_owned(),
                mtu_bytes: u32_at(attribute(attributes, libc::IFLA_MTU)?, 0)?,
                is_loopback: u32_at(answer, 8)? & libc::IFF_LOOPBACK as u32 != 0,
            })
        };
        read().ok_or(NetlinkError::Incomplete { attempt: "read a link".into(), missing: "name or MTU" })
    }
}

/// The counters of a link.
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
    /// Packets dropped instead of sent: by veth, because the backlog of the receiving CPU was full.
    pub send_dropped_packets: u64,
}

impl LinkCounters {
    /// Decodes the answer to [`ask_link`]: `struct rtnl_link_stats64` in `IFLA_STATS64`.
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

/// Returns an address as bytes on the wire.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Returns the address family of an address, as netlink numbers it.
fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn link_request(attempt: String, kind: u16, flags: i32, index: u32, attributes: &Attributes) -> Request {
    Request::new(attempt, kind, flags, &link_structure(index, 0), attributes)
}

/// Returns the `struct ifinfomsg` of a link.
fn link_structure(index: u32, flags: u32) -> Vec<u8> {
    words(&[0, index, flags, flags])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Device, SERVER};

    /// The expected bytes were written by hand from `rtnetlink.h`, little endian.
    #[test]
    fn a_route_by_a_gateway_out_of_sight_byte_by_byte() {
        let device = Device { node: SERVER, index: 11 };
        let route = Route::new(device, IpAddr::from([10, 1, 1, 0]), IpAddr::from([10, 1, 2, 254])).with_window(10);
        let header = "48000000 1800 0505 01000000 00000000";
        let structure = "02 18 00 00 65 04 00 01 04000000";
        let attributes = "08000100 0a010100 08000500 0a0102fe 08000400 0b000000";
        let metrics = "14000880 08000b00 0a000000 08000e00 0a000000";
        let built = replace_route(&Route { gateway_is_local: false, table: 101, ..route });
        assert_eq!(built.hex(), [header, structure, attributes, metrics].concat().replace(' ', ""));
        let plain = replace_route(&Route { initial_window_packets: None, ..route });
        let header = "34000000 1800 0505 01000000 00000000";
        let structure = "02 18 00 00 fe 04 00 01 00000000";
        assert_eq!(plain.hex(), [header, structure, attributes].concat().replace(' ', ""));
    }

    /// The expected bytes were written by hand from `if_addr.h`, `rtnetlink.h` and `if_link.h`, little endian.
    #[test]
    fn requests_of_ipv6_byte_by_byte() {
        let own: IpAddr = "2001:db8:0:1::1".parse().unwrap();
        let octets = "20010db8 00000001 00000000 00000001";
        // No duplicate address detection: IFA_F_NODAD, 0x02.
        let address =
            ["40000000 1400 0506 01000000 00000000 0a 40 02 00 0b000000 14000200", octets, "14000100", octets];
        assert_eq!(add_address(11, own).hex(), address.concat().replace(' ', ""));
        let device = Device { node: SERVER, index: 11 };
        let gateway: IpAddr = "2001:db8:0:1::fe".parse().unwrap();
        let route = Route::new(device, "2001:db8:0:2::".parse().unwrap(), gateway);
        let header = "4c000000 1800 0505 01000000 00000000 0a 40 00 00 fe 04 00 01 00000000";
        let to = "14000100 20010db8 00000002 00000000 00000000 14000500 20010db8 00000001 00000000 000000fe";
        assert_eq!(replace_route(&route).hex(), [header, to, "08000400 0b000000"].concat().replace(' ', ""));
        // IFF_UP 0x1, IFF_NOARP 0x80; of these and IFF_MULTICAST, 0x1000.
        let up = "20000000 1300 0500 01000000 00000000 00000000 0b000000 81000000 81100000";
        assert_eq!(set_up_silently(11).hex(), up.replace(' ', ""));
        let rule = "30000000 2000 0506 01000000 00000000 0a 00 80 00 65 00 00 01 00000000 14000200";
        assert_eq!(add_rule(own, 101).hex(), [rule, octets].concat().replace(' ', ""));
    }

    /// The expected bytes were written by hand from `fib_rules.h`, little endian.
    #[test]
    fn a_rule_byte_by_byte() {
        let header = "24000000 2000 0506 01000000 00000000";
        let body = "02 00 20 00 65 00 00 01 00000000 08000200 0a010101";
        let built = add_rule(IpAddr::from([10, 1, 1, 1]), 101);
        assert_eq!(built.hex(), [header, body].concat().replace(' ', ""));
    }

    /// The expected bytes were written by hand from `if_addr.h`, little endian.
    #[test]
    fn an_address_comes_and_goes_byte_by_byte() {
        let body = "02 18 00 00 0b000000 08000200 0a010101 08000100 0a010101";
        for (built, header) in [
            (add_address(11, IpAddr::from([10, 1, 1, 1])), "28000000 1400 0506 01000000 00000000"),
            (remove_address(11, IpAddr::from([10, 1, 1, 1])), "28000000 1500 0500 01000000 00000000"),
        ] {
            assert_eq!(built.hex(), [header, body].concat().replace(' ', ""));
        }
    }
}
