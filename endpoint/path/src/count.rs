//! Reads the packet counters of one direction of a path, from its devices and netem, until they add up.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use netwarp_wire::job::{Direction, Impairments};
use netwarp_wire::record::CalibrationRecord;

use crate::netlink::qdisc::NetemCounters;
use crate::network::Network;
use crate::topology::Crossing;

/// The most times that counters are read while they do not add up.
const READINGS: u32 = 100;
/// The time between two readings.
const PAUSE: Duration = Duration::from_millis(1);

/// Reads counters until they balance, at most [`READINGS`] times, and returns the last reading.
///
/// Counters are read one after the other, so a packet that moves on in between may be counted in none or in two of
/// them.
pub(crate) fn read_until<T>(mut read: impl FnMut() -> Result<T>, is_balanced: impl Fn(&T) -> bool) -> Result<T> {
    let mut reading = read()?;
    for _ in 0..READINGS {
        if is_balanced(&reading) {
            break;
        }
        sleep(PAUSE);
        reading = read()?;
    }
    Ok(reading)
}

/// How many packets of one direction of a path were offered, delivered, dropped or are queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Packets that arrived at the router.
    pub offered_packets: u64,
    /// The bytes of the packets that arrived, Ethernet headers included; `None` if they are not counted before the
    /// queue.
    pub offered_bytes: Option<u64>,
    /// Packets that left the router.
    pub delivered_packets: u64,
    /// The bytes of the packets that left, Ethernet headers included.
    pub delivered_bytes: u64,
    /// The counters of the router's netem.
    pub netem: NetemCounters,
}

impl Count {
    pub(crate) fn read(network: &mut Network, Crossing { sender, bottleneck, receiver }: Crossing) -> Result<Self> {
        let sent = network.link_counters(sender)?;
        let netem = match bottleneck {
            Some(device) => network.netem_counters(device)?,
            None => NetemCounters { lost_packets: Some(0), ..NetemCounters::default() },
        };
        let delivered = network.link_counters(receiver)?;
        // If the router itself is the link's sender, its device counts packets behind the queue.
        let is_behind = bottleneck == Some(sender);
        let before_packets = if is_behind { netem.dropped_packets + netem.queued_packets } else { 0 };
        Ok(Self {
            offered_packets: sent.sent_packets + before_packets,
            offered_bytes: (!is_behind).then_some(sent.sent_bytes),
            delivered_packets: delivered.received_packets,
            delivered_bytes: delivered.received_bytes,
            netem,
        })
    }

    /// Returns how many packets were delivered, were dropped or wait in netem.
    pub(crate) fn accounted_packets(&self) -> u64 {
        self.delivered_packets + self.netem.dropped_packets + self.netem.queued_packets
    }

    /// Returns whether every packet offered was delivered, was dropped or waits in netem.
    pub(crate) fn is_balanced(&self, impairments: &Impairments) -> bool {
        self.accounts_for(self.offered_packets, impairments)
    }

    /// Returns whether `packets` packets were delivered, were dropped or wait in netem. With duplication there may be
    /// more: netem does not report how many of its duplicates were dropped again.
    pub(crate) fn accounts_for(&self, packets: u64, impairments: &Impairments) -> bool {
        let accounted = self.accounted_packets();
        if impairments.duplicate_ratio > 0.0 { accounted >= packets } else { accounted == packets }
    }

    /// Returns the calibration record of a count that covers `interval_ns`.
    pub(crate) fn record(
        &self,
        path: u16,
        direction: Direction,
        impairments: &Impairments,
        interval_ns: u64,
    ) -> CalibrationRecord {
        CalibrationRecord {
            path: path.into(),
            direction,
            interval_ns,
            offered_packets: self.offered_packets,
            offered_bytes: self.offered_bytes,
            delivered_packets: self.delivered_packets,
            delivered_bytes: self.delivered_bytes,
            dropped_packets: self.netem.dropped_packets,
            // A lost packet whose duplicate survives counts as lost in netem's statistics, but not as dropped.
            lost_packets: self.netem.lost_packets.filter(|_| impairments.duplicate_ratio == 0.0),
            left_packets: self.netem.queued_packets,
            arp_packets: 0,
            unresolved_packets: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impairments(duplicate_ratio: f64) -> Impairments {
        Impairments { duplicate_ratio, ..Impairments::nothing() }
    }

    fn count(delivered_packets: u64) -> Count {
        let netem = NetemCounters { queued_packets: 2, dropped_packets: 5, lost_packets: Some(4) };
        Count { offered_packets: 100, delivered_packets, netem, ..Count::default() }
    }

    #[test]
    fn packets_must_add_up() {
        assert!(count(93).is_balanced(&impairments(0.0)));
        assert!(!count(92).is_balanced(&impairments(0.0)));
        assert!(!count(94).is_balanced(&impairments(0.0)));
    }

    #[test]
    fn duplicates_may_only_add() {
        assert!(count(94).is_balanced(&impairments(0.01)));
        assert!(!count(92).is_balanced(&impairments(0.01)));
    }

    #[test]
    fn losses_are_told_apart_from_overflow_unless_duplicated() {
        let lost = |duplicate_ratio| {
            let record = count(93).record(0, Direction::Down, &impairments(duplicate_ratio), 1);
            (record.lost_packets, record.dropped_packets)
        };
        assert_eq!(lost(0.0), (Some(4), 5));
        assert_eq!(lost(0.01), (None, 5));
    }
}
