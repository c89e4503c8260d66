//! A router's counters of the IP packets that it did not forward, decoded from the texts of `/proc/net/snmp` and
//! `snmp6`. Pure.

use std::iter::Sum;

use anyhow::{Context as _, Result};

/// A router's counts of the IP packets that it did not forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnPackets {
    /// Packets that the router sent itself.
    pub sent: u64,
    /// Packets that were received and not forwarded: those for the router itself, and those that it discarded.
    pub kept: u64,
    /// Packets that were too large for the next link, and were discarded and reported (RFC 1191, RFC 8201).
    pub too_large: u64,
    /// How many packets fragmentation added: the fragments made, minus the packets that were fragmented.
    pub fragments: u64,
}

impl Sum for OwnPackets {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self { sent: 0, kept: 0, too_large: 0, fragments: 0 }, |one, other| Self {
            sent: one.sent + other.sent,
            kept: one.kept + other.kept,
            too_large: one.too_large + other.too_large,
            fragments: one.fragments + other.fragments,
        })
    }
}

impl OwnPackets {
    /// Returns whether fragmentation and discarded packets explain why a router's counters do not add up.
    ///
    /// # Arguments
    /// * `surplus` - how many more packets the router sent, dropped or holds than it received or generated.
    /// * `by_number` - how many packets were dropped by their numbers. Some kernels count these, and packets that are
    ///   too large, as forwarded, others as kept.
    pub(crate) fn explain(self, surplus: i128, by_number: i128) -> bool {
        let [too_large, fragments] = [self.too_large, self.fragments].map(i128::from);
        let mut discarded = [0, by_number].into_iter().flat_map(|lost| [lost, lost - too_large]);
        discarded.any(|expected| surplus == expected + fragments)
    }
}

impl OwnPackets {
    /// Decodes `/proc/net/snmp` (`net/ipv4/proc.c`).
    ///
    /// # Errors
    /// The text lacks counters of IPv4.
    pub(crate) fn from_table(text: &str) -> Result<Self> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let (names, numbers) = lines.next().zip(lines.next()).context("/proc/net/snmp tells nothing of IPv4")?;
        Self::from_counters("ForwDatagrams", |name| {
            let place = names.split(' ').position(|each| each == name)?;
            numbers.split(' ').nth(place)?.parse::<u64>().ok()
        })
        .context("/proc/net/snmp lacks counters of IPv4")
    }

    /// Decodes `/proc/net/snmp6` (`net/ipv6/proc.c`): on each line the name and the value of a counter.
    ///
    /// # Errors
    /// The text lacks counters of IPv6.
    pub(crate) fn from_list(text: &str) -> Result<Self> {
        Self::from_counters("OutForwDatagrams", |name| {
            let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip6")?.split_once(char::is_whitespace));
            lines.find(|(each, _)| *each == name)?.1.trim().parse::<u64>().ok()
        })
        .context("/proc/net/snmp6 lacks counters of IPv6")
    }

    /// Picks the counters of one address family by name. Only the name of the counter of `forwarded` packets differs
    /// between families.
    fn from_counters(forwarded: &str, number: impl Fn(&str) -> Option<u64>) -> Option<Self> {
        let forwarded = number(forwarded)?;
        let mut sent = number("OutRequests")?;
        // Before Linux 6.7, which added this counter, forwarded packets also count as requests.
        if number("OutTransmits").is_none() {
            sent = sent.checked_sub(forwarded)?;
        }
        Some(Self {
            sent,
            kept: number("InReceives")?.checked_sub(forwarded)?,
            too_large: number("FragFails")?,
            fragments: number("FragCreates")?.checked_sub(number("FragOKs")?)?,
        })
    }
}

/// Returns whether `/proc/net/arp` has an entry that was not configured (without `ATF_PERM`, `if_arp.h`).
pub(crate) fn has_asked(text: &str) -> bool {
    const PERMANENT: u32 = 4;
    let flags = text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().nth(2)?.strip_prefix("0x"));
    flags.filter_map(|hex| u32::from_str_radix(hex, 16).ok()).any(|flags| flags & PERMANENT == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding InReceives ForwDatagrams InDelivers FragOKs FragFails FragCreates OutRequests OutTransmits\n\
         Ip: 1 100 90 8 2 3 5 7 97\nIcmp: InMsgs\nIcmp: 8\n";
    const OWN: OwnPackets = OwnPackets { sent: 7, kept: 10, too_large: 3, fragments: 3 };

    #[test]
    fn what_is_not_forwarded_is_the_routers() {
        assert_eq!(OwnPackets::from_table(SNMP).unwrap(), OWN);
        let older = SNMP.replace(" OutTransmits", "").replace(" 7 97", " 97");
        assert_eq!(OwnPackets::from_table(&older).unwrap(), OWN);
        assert!(OwnPackets::from_table("Icmp: InMsgs\n").is_err());
    }

    #[test]
    fn what_a_narrow_link_does_not_take_is_explained_whether_it_counts_as_forwarded_or_not() {
        for surplus in [-3, 0] {
            assert!(OWN.explain(surplus + 3, 0), "three fragments more than packets");
        }
        assert!(OWN.explain(8, 5) && OWN.explain(5, 5), "and five lost by number");
        assert!(!OWN.explain(1, 0) && !OWN.explain(-1, 0) && !OWN.explain(9, 5));
    }

    #[test]
    fn counters_of_ipv6_stand_one_on_a_line() {
        let list = "Ip6InReceives                   \t100\nIp6OutForwDatagrams             \t90\n\
                    Ip6FragOKs \t2\nIp6FragFails \t3\nIp6FragCreates \t5\n\
                    Ip6OutRequests                  \t7\nIp6OutTransmits                 \t97\nIcmp6InMsgs \t8\n";
        assert_eq!(OwnPackets::from_list(list).unwrap(), OWN);
        let older = list.replace("Ip6OutTransmits                 \t97\n", "").replace("\t7\n", "\t97\n");
        assert_eq!(OwnPackets::from_list(&older).unwrap(), OWN);
        assert!(OwnPackets::from_list("Icmp6InMsgs \t8\n").is_err());
    }

    #[test]
    fn an_address_that_was_not_set_was_asked_for() {
        let table =
            |flags| format!("IP address HW type Flags HW address Mask Device\n10.0.1.1 0x1 {flags} 02:00 * eth0\n");
        assert!(!has_asked(&table("0x6")));
        assert!(has_asked(&table("0x2")) && has_asked(&table("0x0")));
        assert!(!has_asked("IP address HW type Flags HW address Mask Device\n"));
    }
}
