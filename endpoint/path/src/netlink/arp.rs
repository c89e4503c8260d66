//! rtnetlink requests that count a router's ARP packets, and the other packets that it sends. Pure.
//!
//! The packets are counted by filters, because these see them before netem. A packet socket would only see packets that
//! have left netem.
//! Structures and numbers are those of `include/uapi/linux/pkt_cls.h` and `pkt_sched.h`.

use super::message::{Attributes, Request, attribute, u32_at, u64_at};
use super::redirect::{LAST, TC_H_EGRESS, TCA_MATCHALL_ACT, acted_packets, add_clsact, match_all, tcmsg};

/// `TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)`: the parent of filters for packets that arrive at a device with a
/// `clsact`.
const TC_H_INGRESS_OF_CLSACT: u32 = 0xffff_fff2;
/// The priority of the filters for ARP: they come before the filters of priority [`LAST`].
const FIRST: u32 = 1;
const TCA_MATCHALL_PCNT: u16 = 4;

/// The size of an ARP packet for addresses of IPv4, in bytes, Ethernet header included.
pub(crate) const ARP_BYTES: u64 = 14 + 28;

/// Returns the requests for filters that count a device's incoming and outgoing ARP packets, and all other outgoing
/// packets.
///
/// # Arguments
/// * `redirected` - the device through which outgoing packets are redirected, if they are
///   ([`super::redirect::redirect_egress`]).
pub(crate) fn count(index: u32, redirected: Option<u32>) -> Vec<Request> {
    let filter = |what, parent, priority, protocol, target| {
        match_all(format!("count {what} of link {index} (matchall)"), index, parent, priority, protocol, target)
    };
    let mut requests = Vec::new();
    if redirected.is_none() {
        requests.push(add_clsact(index));
        requests.push(filter("the outgoing packets", TC_H_EGRESS, LAST, libc::ETH_P_ALL, None));
    }
    requests.push(filter("the outgoing ARP packets", TC_H_EGRESS, FIRST, libc::ETH_P_ARP, redirected));
    requests.push(filter("the incoming ARP packets", TC_H_INGRESS_OF_CLSACT, FIRST, libc::ETH_P_ARP, None));
    requests
}

/// Returns the request, for [`super::Socket::dump`], for the counters of incoming or outgoing packets.
pub(crate) fn ask_counted(index: u32, incoming: bool) -> Request {
    let (parent, way) = if incoming { (TC_H_INGRESS_OF_CLSACT, "came in") } else { (TC_H_EGRESS, "left") };
    let attempt = format!("read how many packets {way} by link {index}");
    Request::new(attempt, libc::RTM_GETTFILTER, libc::NLM_F_DUMP, &tcmsg(index, parent, 0), &Attributes::new())
}

/// The packets that a router's filters have counted: ARP packets and others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// ARP packets.
    pub arp: u64,
    /// Packets of other protocols.
    pub others: u64,
}

impl Counted {
    /// Adds up the packets of each filter in the answers to [`ask_counted`]: those that matched (`struct
    /// tc_matchall_pcnt`) or, where they are redirected and so reach the filter a second time, those that its action
    /// redirected. Some answers have only the filter's kind, and are ignored.
    pub(crate) fn from_answers(answers: &[Vec<u8>]) -> Self {
        let mut counted = Self::default();
        for answer in answers {
            let Some((priority, packets)) = Self::read(answer) else { continue };
            *(if priority == FIRST { &mut counted.arp } else { &mut counted.others }) += packets;
        }
        counted
    }

    fn read(answer: &[u8]) -> Option<(u32, u64)> {
        let options = attribute(answer.get(20..)?, libc::TCA_OPTIONS)?;
        let packets = match attribute(options, TCA_MATCHALL_ACT) {
            Some(actions) => acted_packets(actions)?.packets,
            None => u64_at(attribute(options, TCA_MATCHALL_PCNT)?, 0)?,
        };
        Some((u32_at(answer, 16)? >> 16, packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::qdisc::TCA_STATS_BASIC;
    use crate::netlink::redirect::TCA_ACT_STATS;

    /// The expected bytes were written by hand from the structures, little endian: `tc filter add dev 11 egress pref 1
    /// protocol arp matchall`.
    #[test]
    fn a_counting_filter_byte_by_byte() {
        let header = "38000000 2c00 0506 01000000 00000000";
        let structure = "00000000 0b000000 00000000 f3ffffff 08060100";
        let kind = "0d000100 6d61746368616c6c00 000000";
        let expected = [header, structure, kind, "04000280"].concat().replace(' ', "");
        assert_eq!(count(11, None)[2].hex(), expected);
    }

    #[test]
    fn what_is_redirected_has_the_discipline_and_the_other_filter_already() {
        assert_eq!(count(11, None).len(), 4);
        assert_eq!(count(11, Some(12)).len(), 2);
        assert!(count(11, Some(12))[0].message().windows(6).any(|bytes| bytes == b"mirred"));
    }

    #[test]
    fn filters_are_added_up_by_their_priority() {
        let answer = |priority: u32, packets: u64| {
            let mut bytes = tcmsg(11, TC_H_EGRESS, priority << 16);
            let counter = Attributes::new().put(TCA_MATCHALL_PCNT, &packets.to_ne_bytes());
            bytes.extend_from_slice(Attributes::new().nest(libc::TCA_OPTIONS, counter).bytes());
            bytes
        };
        let answers = [answer(1, 3), answer(2, 90), tcmsg(11, TC_H_EGRESS, 2 << 16)];
        assert_eq!(Counted::from_answers(&answers), Counted { arp: 3, others: 90 });
    }

    #[test]
    fn what_is_redirected_comes_to_the_filter_twice_and_counts_once() {
        let basic = [&5_000_u64.to_ne_bytes()[..], &45_u32.to_ne_bytes(), &[0; 4]].concat();
        let action = Attributes::new().nest(TCA_ACT_STATS, Attributes::new().put(TCA_STATS_BASIC, &basic));
        let options = Attributes::new()
            .nest(TCA_MATCHALL_ACT, Attributes::new().nest(1, action))
            .put(TCA_MATCHALL_PCNT, &90_u64.to_ne_bytes());
        let mut answer = tcmsg(11, TC_H_EGRESS, LAST << 16);
        answer.extend_from_slice(Attributes::new().nest(libc::TCA_OPTIONS, options).bytes());
        assert_eq!(Counted::from_answers(&[answer]), Counted { arp: 0, others: 45 });
    }
}
