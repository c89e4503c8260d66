//! rtnetlink requests that redirect the packets of a device through another device, and count them. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/pkt_cls.h`, `pkt_sched.h` and `tc_act/tc_mirred.h`.

use std::net::IpAddr;

use super::message::{Attributes, Request, attribute, u32_at, u64_at, words};
use super::qdisc::{TCA_STATS_BASIC, structure};
use super::route::{CREATE, octets};

/// The handle of a device's ingress qdisc, `ffff:`. A device has one at most.
const INGRESS: u32 = 0xffff_0000;
const TC_H_INGRESS: u32 = 0xffff_fff1;
/// `TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)`: the parent of filters for the packets that leave through a device with a
/// `clsact`.
pub(super) const TC_H_EGRESS: u32 = 0xffff_fff3;
/// The priority of filters for all packets that no other filter has matched.
pub(super) const LAST: u32 = 2;
pub(super) const TCA_MATCHALL_ACT: u16 = 2;
const TCA_FLOWER_ACT: u16 = 3;
const TCA_FLOWER_KEY_ETH_TYPE: u16 = 8;
const TCA_FLOWER_KEY_IP_PROTO: u16 = 9;
const TCA_FLOWER_KEY_IPV4_SRC: u16 = 10;
const TCA_FLOWER_KEY_IPV4_DST: u16 = 12;
const TCA_FLOWER_KEY_IPV6_SRC: u16 = 14;
const TCA_FLOWER_KEY_IPV6_DST: u16 = 16;
const TCA_FLOWER_FLAGS: u16 = 22;
const TCA_CLS_FLAGS_SKIP_HW: u32 = 1;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
pub(super) const TCA_ACT_STATS: u16 = 4;
const TCA_MIRRED_PARMS: u16 = 2;
const TCA_EGRESS_REDIR: u32 = 1;
const TC_ACT_STOLEN: u32 = 4;
const FIRST_ACTION: u16 = 1;

/// The protocols with ports: the IP protocol number of each, and the types of flower's attributes for its source and
/// destination port.
const PROTOCOLS: [(i32, u16, u16); 3] =
    [(libc::IPPROTO_TCP, 18, 19), (libc::IPPROTO_UDP, 20, 21), (libc::IPPROTO_SCTP, 41, 42)];

/// Describes the incoming packets of a run, for the filters that match them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incoming {
    /// The source address: the other host's.
    pub peer: IpAddr,
    /// The destination address: this host's.
    pub address: IpAddr,
    /// The server's data port, as source or destination.
    pub port: DataPort,
}

/// The server's data port: as the source or the destination port of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataPort {
    /// The port is the packets' source port: the peer is the server.
    Source(u16),
    /// The port is the packets' destination port: the peer is the client.
    Destination(u16),
}

/// Returns the request that adds an ingress qdisc to a device. It fails if the device has one, or a `clsact`,
/// already.
pub fn add_ingress(index: u32) -> Request {
    add_classifying(format!("put an ingress qdisc on link {index}"), index, "ingress")
}

/// Returns the request that adds a `clsact` to a device: it passes incoming packets, and outgoing ones before they are
/// queued, to filters.
pub(super) fn add_clsact(index: u32) -> Request {
    add_classifying(format!("put a clsact qdisc on link {index}"), index, "clsact")
}

/// Returns the requests that redirect all packets that leave through a device through another one (an ifb), which
/// returns them to the first.
pub(crate) fn redirect_egress(index: u32, target: u32) -> [Request; 2] {
    let attempt = format!("send what leaves by link {index} through link {target} (matchall, mirred)");
    [add_clsact(index), match_all(attempt, index, TC_H_EGRESS, LAST, libc::ETH_P_ALL, Some(target))]
}

/// Returns the request that adds a filter to a device with a `clsact`; it takes and counts all packets of a protocol.
///
/// # Arguments
/// * `parent` - `TC_H_EGRESS`, or `TC_H_INGRESS_OF_CLSACT`.
/// * `priority` - the filter's place in the order of filters: a packet that one takes does not reach later ones.
/// * `target` - the device through which the packets are redirected, if they are.
pub(super) fn match_all(
    attempt: String,
    index: u32,
    parent: u32,
    priority: u32,
    protocol: i32,
    target: Option<u32>,
) -> Request {
    let options = target.into_iter().fold(Attributes::new(), |options, target| {
        options.nest(TCA_MATCHALL_ACT, Attributes::new().nest(FIRST_ACTION, mirred_action(target)))
    });
    let information = (priority << 16) | u32::from((protocol as u16).to_be());
    add_filter(attempt, &tcmsg(index, parent, information), "matchall", options)
}

/// Returns the request that removes a device's ingress qdisc with its filters.
pub fn remove_ingress(index: u32) -> Request {
    let attempt = format!("remove the ingress qdisc of link {index}");
    Request::new(attempt, libc::RTM_DELQDISC, 0, &structure(index, INGRESS, TC_H_INGRESS), &Attributes::new())
}

/// Returns the requests that add filters, one for each protocol, that redirect a run's incoming packets through the
/// device `target`.
pub fn redirect(index: u32, incoming: Incoming, target: u32) -> Vec<Request> {
    let action = mirred_action(target);
    let filter = |(place, (protocol, source, destination)): (u32, (i32, u16, u16))| {
        let options = addresses(incoming)
            .put(TCA_FLOWER_KEY_IP_PROTO, &[protocol as u8])
            .nest(TCA_FLOWER_ACT, Attributes::new().nest(FIRST_ACTION, action.clone()))
            .put_u32(TCA_FLOWER_FLAGS, TCA_CLS_FLAGS_SKIP_HW);
        let options = match incoming.port {
            DataPort::Source(port) => options.put(source, &port.to_be_bytes()),
            DataPort::Destination(port) => options.put(destination, &port.to_be_bytes()),
        };
        add_filter(
            format!("redirect what comes in at link {index} to link {target} (flower, mirred)"),
            &tcmsg(index, INGRESS, (place << 16) | u32::from(ethernet_type(incoming.peer).to_be())),
            "flower",
            options,
        )
    };
    (1..).zip(PROTOCOLS).map(filter).collect()
}

/// Returns the request, for [`super::Socket::dump`], for a device's ingress filters with the counters of their actions.
pub fn ask_redirected(index: u32) -> Request {
    let attempt = format!("read the filters of link {index}");
    Request::new(attempt, libc::RTM_GETTFILTER, libc::NLM_F_DUMP, &tcmsg(index, INGRESS, 0), &Attributes::new())
}

/// How many packets and bytes filters have redirected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redirected {
    /// The number of packets. Each segment of a merged packet (GRO) counts as one.
    pub packets: u64,
    /// The size of the redirected packets, in bytes from the IP header on.
    pub bytes: u64,
}

impl Redirected {
    /// Adds up the `struct gnet_stats_basic` of each filter's action in the answers to [`ask_redirected`]. Some answers
    /// have only the filter's kind, and are ignored.
    pub fn from_answers(answers: &[Vec<u8>]) -> Self {
        answers.iter().filter_map(|answer| Self::read(answer)).fold(Self::default(), |sum, each| Self {
            packets: sum.packets + each.packets,
            bytes: sum.bytes + each.bytes,
        })
    }

    fn read(answer: &[u8]) -> Option<Self> {
        let options = attribute(answer.get(20..)?, libc::TCA_OPTIONS)?;
        acted_packets(attribute(options, TCA_FLOWER_ACT)?)
    }
}

/// Returns how many packets and bytes a filter's only action was applied to.
pub(super) fn acted_packets(actions: &[u8]) -> Option<Redirected> {
    let action = attribute(actions, FIRST_ACTION)?;
    let basic = attribute(attribute(action, TCA_ACT_STATS)?, TCA_STATS_BASIC)?;
    Some(Redirected { bytes: u64_at(basic, 0)?, packets: u32_at(basic, 8)?.into() })
}

/// Returns the request that adds a qdisc of this kind, which only classifies packets, to a device.
fn add_classifying(attempt: String, index: u32, kind: &str) -> Request {
    let attributes = Attributes::new().put_string(libc::TCA_KIND, kind);
    Request::new(attempt, libc::RTM_NEWQDISC, CREATE, &structure(index, INGRESS, TC_H_INGRESS), &attributes)
}

fn add_filter(attempt: String, tcmsg: &[u8], kind: &str, options: Attributes) -> Request {
    let attributes = Attributes::new().put_string(libc::TCA_KIND, kind).nest(libc::TCA_OPTIONS, options);
    Request::new(attempt, libc::RTM_NEWTFILTER, CREATE, tcmsg, &attributes)
}

fn addresses(incoming: Incoming) -> Attributes {
    let ethernet_type = ethernet_type(incoming.peer).to_be_bytes();
    let (source, destination) = match incoming.peer {
        IpAddr::V4(_) => (TCA_FLOWER_KEY_IPV4_SRC, TCA_FLOWER_KEY_IPV4_DST),
        IpAddr::V6(_) => (TCA_FLOWER_KEY_IPV6_SRC, TCA_FLOWER_KEY_IPV6_DST),
    };
    Attributes::new()
        .put(TCA_FLOWER_KEY_ETH_TYPE, &ethernet_type)
        .put(source, &octets(incoming.peer))
        .put(destination, &octets(incoming.address))
}

fn ethernet_type(address: IpAddr) -> u16 {
    (if address.is_ipv4() { libc::ETH_P_IP } else { libc::ETH_P_IPV6 }) as u16
}

/// Returns an action that redirects packets to another device.
fn mirred_action(target: u32) -> Attributes {
    Attributes::new()
        .put_string(TCA_ACT_KIND, "mirred")
        .nest(TCA_ACT_OPTIONS, Attributes::new().put(TCA_MIRRED_PARMS, &mirred(target)))
}

/// Returns a `struct tc_mirred`: index, capabilities, action, two reference counts, kind of redirection, device.
fn mirred(target: u32) -> Vec<u8> {
    words(&[0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, target])
}

/// Returns the `struct tcmsg` of a filter, whose `information` is its priority and its protocol.
pub(super) fn tcmsg(index: u32, parent: u32, information: u32) -> Vec<u8> {
    words(&[0, index, 0, parent, information])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected bytes were written by hand from the structures, little endian: `tc filter add dev 11 egress pref 2
    /// protocol all matchall action mirred egress redirect dev 12`.
    #[test]
    fn a_redirect_of_all_that_leaves_byte_by_byte() {
        let header = "70000000 2c00 0506 01000000 00000000";
        let structure = "00000000 0b000000 00000000 f3ffffff 00030200";
        let kind = "0d000100 6d61746368616c6c00 000000";
        let parameters = "00000000 00000000 04000000 00000000 00000000 01000000 0c000000";
        let action = ["38000280 34000180 0b000100 6d6972726564 0000 24000280 20000200", parameters].concat();
        let expected = [header, structure, kind, "3c000280", &action].concat().replace(' ', "");
        assert_eq!(redirect_egress(11, 12)[1].hex(), expected);
    }

    /// The expected bytes were written by hand from the structures, little endian: `tc filter add dev 11 parent ffff:
    /// pref 1 protocol ip flower skip_hw ip_proto tcp src_ip 192.0.2.7 dst_ip 192.0.2.9 src_port 4433 action mirred
    /// egress redirect dev 12`.
    #[test]
    fn a_redirect_byte_by_byte() {
        let address = |last| IpAddr::from([192, 0, 2, last]);
        let incoming = Incoming { peer: address(7), address: address(9), port: DataPort::Source(4433) };
        let header = "9c000000 2c00 0506 01000000 00000000";
        let structure = "00000000 0b000000 00000000 0000ffff 08000100";
        let kind = "0b000100 666c6f776572 0000";
        let keys = "06000800 0800 0000 08000a00 c0000207 08000c00 c0000209 05000900 06 000000";
        let parameters = "00000000 00000000 04000000 00000000 00000000 01000000 0c000000";
        let action = ["38000380 34000180 0b000100 6d6972726564 0000 24000280 20000200", parameters].concat();
        let rest = "08001600 01000000 06001200 1151 0000";
        let options = ["6c000280", keys, &action, rest].concat();
        let expected = [header, structure, kind, &options].concat().replace(' ', "");
        assert_eq!(redirect(11, incoming, 12)[0].hex(), expected);
    }

    #[test]
    fn each_protocol_has_a_filter_and_only_the_named_end_of_it_is_looked_at() {
        let address = IpAddr::from([0; 16]);
        for (port, ports) in [(DataPort::Source(7), [18, 20, 41]), (DataPort::Destination(7), [19, 21, 42])] {
            let requests = redirect(11, Incoming { peer: address, address, port }, 12);
            for (request, kind) in requests.iter().zip(ports) {
                let options = attribute(&request.message()[36..], libc::TCA_OPTIONS).unwrap().to_vec();
                for other in [18, 19, 20, 21, 41, 42] {
                    let expected = (other == kind).then_some(&[0, 7][..]);
                    assert_eq!(attribute(&options, other), expected, "{port:?}, attribute {other}");
                }
                assert_eq!(attribute(&options, TCA_FLOWER_KEY_IPV6_SRC).map(<[u8]>::len), Some(16));
            }
        }
    }
}
