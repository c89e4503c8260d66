//! Counts the packets of one direction of a path with cold neighbours, whose MAC addresses are not known at the start:
//! the router sends and receives ARP packets itself, and packets that wait there for an ARP reply may never leave.

use anyhow::{Result, ensure};
use netwarp_wire::job::{Direction, Impairments, Path};
use netwarp_wire::record::CalibrationRecord;

use crate::count::{Count, read_until};
use crate::netlink::arp::{ARP_BYTES, Counted};
use crate::network::Network;
use crate::topology::Topology;

/// The counters of one direction of a path with cold neighbours: how many packets were offered, delivered, dropped, or
/// not sent for lack of an ARP reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Asking {
    /// The counters of the links and of netem, ARP included.
    count: Count,
    /// ARP packets that the sender sent to the router.
    arp_of_sender: u64,
    /// Packets that the router sent in this direction, counted before netem.
    sent: Counted,
    /// Packets that were dropped by number (nf_tables), before the router looked up the next hop's MAC address.
    by_number: u64,
}

impl Asking {
    /// Reads the counters, repeatedly if necessary, until every packet that the router has sent is counted as
    /// delivered, dropped or waiting in netem.
    ///
    /// # Errors
    /// The counters do not add up.
    pub(crate) fn balanced(
        network: &mut Network,
        topology: &Topology<'_>,
        path: u16,
        path_job: &Path,
        direction: Direction,
    ) -> Result<Self> {
        let impairments = path_job.toward(direction);
        let count =
            read_until(|| Self::read(network, topology, path, direction), |count| count.has_sent_all(impairments))?;
        let mut own_packets = 0;
        if let Some(router) = topology.crossing(path, direction).bottleneck {
            own_packets = network.own_packets(router.node, path_job)?.sent;
        }
        ensure!(
            count.has_sent_all(impairments) && count.surplus() <= own_packets,
            "the packets of path {path}, {direction:?}, whose neighbours are cold, do not add up: {count:?}"
        );
        Ok(count)
    }

    fn read(network: &mut Network, topology: &Topology<'_>, path: u16, direction: Direction) -> Result<Self> {
        let mut asking = Self::default();
        if let Some(bottleneck) = topology.crossing(path, direction.opposite()).bottleneck {
            asking.arp_of_sender = network.counted_packets(bottleneck, true)?.arp;
        }
        let crossing = topology.crossing(path, direction);
        if let Some(bottleneck) = crossing.bottleneck {
            asking.by_number = network.lost_by_number(bottleneck)?;
            asking.sent = network.counted_packets(bottleneck, false)?;
        }
        Ok(Self { count: Count::read(network, crossing)?, ..asking })
    }

    /// Returns whether every packet that the router sent is counted as delivered, dropped or waiting in netem.
    fn has_sent_all(&self, impairments: &Impairments) -> bool {
        self.count.accounts_for(self.sent.arp + self.sent.others + self.by_number, impairments)
    }

    /// Returns how many packets other than ARP packets arrived at the router.
    fn came(&self) -> u64 {
        self.count.offered_packets.saturating_sub(self.arp_of_sender)
    }

    /// Returns how many more packets the router sent or dropped by number than arrived: its own ICMP errors, for
    /// addresses that no host has.
    fn surplus(&self) -> u64 {
        (self.sent.others + self.by_number).saturating_sub(self.came())
    }

    /// Returns the calibration record of a count that covers `interval_ns`.
    pub(crate) fn record(
        &self,
        path: u16,
        direction: Direction,
        impairments: &Impairments,
        interval_ns: u64,
    ) -> CalibrationRecord {
        let answers = self.surplus();
        let with_arp = |bytes: u64| (bytes + self.sent.arp * ARP_BYTES).saturating_sub(self.arp_of_sender * ARP_BYTES);
        CalibrationRecord {
            offered_packets: self.came() + self.sent.arp + answers,
            // The size of the router's ICMP errors is not counted before netem.
            offered_bytes: self.count.offered_bytes.filter(|_| answers == 0).map(with_arp),
            arp_packets: self.sent.arp,
            unresolved_packets: self.came().saturating_sub(self.sent.others + self.by_number),
            ..self.count.record(path, direction, impairments, interval_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::qdisc::NetemCounters;

    /// Of 102 frames that arrived, 2 ask for the router's address. Of the other 100, 4 are lost by number, 3 wait in
    /// vain, and 93 are sent, with 2 that ask for the receiver's address.
    const ASKING: Asking = Asking {
        count: Count {
            offered_packets: 102,
            offered_bytes: Some(100 * 1000 + 2 * ARP_BYTES),
            delivered_packets: 88,
            delivered_bytes: 86 * 1000 + 2 * ARP_BYTES,
            netem: NetemCounters { queued_packets: 1, dropped_packets: 10, lost_packets: Some(10) },
        },
        arp_of_sender: 2,
        sent: Counted { arp: 2, others: 93 },
        by_number: 4,
    };

    fn impairments(duplicate_ratio: f64) -> Impairments {
        Impairments { duplicate_ratio, ..Impairments::nothing() }
    }

    #[test]
    fn offered_packets_are_delivered_dropped_left_or_unresolved() {
        assert!(ASKING.has_sent_all(&impairments(0.0)));
        let record = ASKING.record(0, Direction::Down, &impairments(0.0), 1);
        assert_eq!((record.offered_packets, record.arp_packets, record.unresolved_packets), (102, 2, 3));
        assert_eq!(
            record.offered_packets,
            record.delivered_packets + record.dropped_packets + record.left_packets + record.unresolved_packets
        );
        assert_eq!(record.offered_bytes, Some(100 * 1000 + 2 * ARP_BYTES));
    }

    #[test]
    fn what_the_router_sent_does_not_vanish() {
        let fewer = Asking { count: Count { delivered_packets: 87, ..ASKING.count }, ..ASKING };
        assert!(!fewer.has_sent_all(&impairments(0.0)));
        let more = Asking { count: Count { delivered_packets: 89, ..ASKING.count }, ..ASKING };
        assert!(!more.has_sent_all(&impairments(0.0)) && more.has_sent_all(&impairments(0.1)));
    }

    #[test]
    fn what_the_router_answers_is_offered_too() {
        assert_eq!(ASKING.surplus(), 0);
        let answers = Asking { sent: Counted { arp: 2, others: 97 }, ..ASKING };
        assert_eq!(answers.surplus(), 1);
        let record = answers.record(0, Direction::Down, &impairments(0.0), 1);
        assert_eq!((record.offered_packets, record.unresolved_packets, record.offered_bytes), (103, 0, None));
    }
}
