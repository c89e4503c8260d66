//! A router's IPv4 counters of packets that it did not forward, from `/proc/net`. Pure.

use anyhow::{Context as _, Result};

/// IPv4 packets that a router did not forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnPackets {
    /// Packets that it sent itself.
    pub sent: u64,
    /// Packets that came in and went no further: those for itself, and those it discarded.
    pub kept: u64,
}

impl OwnPackets {
    /// Reads `/proc/net/snmp` (`net/ipv4/proc.c`).
    ///
    /// # Errors
    /// It has no counters of IPv4.
    pub(crate) fn from_table(text: &str) -> Result<Self> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let (names, numbers) = lines.next().zip(lines.next()).context("/proc/net/snmp tells nothing of IPv4")?;
        let number = |name: &str| {
            let place = names.split(' ').position(|each| each == name)?;
            numbers.split(' ').nth(place)?.parse::<u64>().ok()
        };
        let read = || {
            let forwarded = number("ForwDatagrams")?;
            let mut sent = number("OutRequests")?;
            // Before Linux 6.7, which has this column too, forwarded packets count as requests.
            if number("OutTransmits").is_none() {
                sent = sent.checked_sub(forwarded)?;
            }
            Some(Self { sent, kept: number("InReceives")?.checked_sub(forwarded)? })
        };
        read().context("/proc/net/snmp lacks counters of IPv4")
    }
}

/// Returns whether `/proc/net/arp` has an address that was not set from outside (`ATF_PERM`, `if_arp.h`).
pub(crate) fn has_asked(text: &str) -> bool {
    const PERMANENT: u32 = 4;
    let flags = text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().nth(2)?.strip_prefix("0x"));
    flags.filter_map(|hex| u32::from_str_radix(hex, 16).ok()).any(|flags| flags & PERMANENT == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding InReceives ForwDatagrams InDelivers OutRequests OutTransmits\n\
                        Ip: 1 100 90 8 7 97\nIcmp: InMsgs\nIcmp: 8\n";

    #[test]
    fn what_is_not_forwarded_is_the_routers() {
        assert_eq!(OwnPackets::from_table(SNMP).unwrap(), OwnPackets { sent: 7, kept: 10 });
        let older = SNMP.replace(" OutTransmits", "").replace(" 7 97", " 97");
        assert_eq!(OwnPackets::from_table(&older).unwrap(), OwnPackets { sent: 7, kept: 10 });
        assert!(OwnPackets::from_table("Icmp: InMsgs\n").is_err());
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
