//! What each direction of a path really did, from the kernel's counters.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::clock::Moment;
use crate::job::{Direction, Impairments, Job};
use crate::netlink::qdisc::NetemCounters;
use crate::network::Network;
use crate::record::Record;
use crate::topology::{Device, bottleneck, client_device, server_device};

/// Counters are read one after the other. A packet that moves on in between is in none or in two of them, so that an
/// unbalanced reading is repeated, this often and after this pause.
const READINGS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

/// Counts both directions of every path.
pub fn measure(network: &mut Network, job: &Job, epoch_ns: u64) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for (path, path_job) in (0..=u8::MAX).zip(&job.paths) {
        for (direction, impairments) in [(Direction::Down, &path_job.down), (Direction::Up, &path_job.up)] {
            let (count, interval_ns) = balanced(network, path, direction, impairments, epoch_ns)?;
            records.push(count.record(path, direction, impairments, interval_ns));
        }
    }
    Ok(records)
}

fn balanced(
    network: &mut Network,
    path: u8,
    direction: Direction,
    impairments: &Impairments,
    epoch_ns: u64,
) -> Result<(Count, u64)> {
    for _ in 0..READINGS {
        let count = Count::read(network, path, direction)?;
        if count.is_balanced(impairments) {
            return Ok((count, Moment::now().since(epoch_ns)));
        }
        sleep(PAUSE);
    }
    let count = Count::read(network, path, direction)?;
    bail!("the packets of path {path}, {direction:?}, do not add up: {count:?}")
}

/// Counters of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    offered_packets: u64,
    offered_bytes: u64,
    delivered_packets: u64,
    delivered_bytes: u64,
    netem: NetemCounters,
}

impl Count {
    fn read(network: &mut Network, path: u8, direction: Direction) -> Result<Self> {
        let (sender, receiver): (Device, Device) = match direction {
            Direction::Down => (server_device(path), client_device(path)),
            Direction::Up => (client_device(path), server_device(path)),
        };
        let offered = network.link_counters(sender)?;
        let netem = network.netem_counters(bottleneck(path, direction))?;
        let delivered = network.link_counters(receiver)?;
        Ok(Self {
            offered_packets: offered.sent_packets,
            offered_bytes: offered.sent_bytes,
            delivered_packets: delivered.received_packets,
            delivered_bytes: delivered.received_bytes,
            netem,
        })
    }

    /// Every packet offered was delivered, was dropped, or waits. netem does not say how many duplicates it made of
    /// which some were dropped again, so that with duplication there may only be more.
    fn is_balanced(&self, impairments: &Impairments) -> bool {
        let accounted = self.delivered_packets + self.netem.dropped_packets + self.netem.queued_packets;
        if impairments.duplicate_ratio > 0.0 {
            accounted >= self.offered_packets
        } else {
            accounted == self.offered_packets
        }
    }

    fn record(&self, path: u8, direction: Direction, impairments: &Impairments, interval_ns: u64) -> Record {
        Record::Calibration {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impairments(duplicate_ratio: f64) -> Impairments {
        let job: Job =
            serde_json::from_str(include_str!("../../tests/golden/job-bulk-quic.json")).expect("the golden job");
        Impairments { duplicate_ratio, ..job.paths[0].down.clone() }
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
        let lost = |duplicate_ratio| match count(93).record(0, Direction::Down, &impairments(duplicate_ratio), 1) {
            Record::Calibration { lost_packets, dropped_packets, .. } => (lost_packets, dropped_packets),
            other => panic!("{other:?}"),
        };
        assert_eq!(lost(0.0), (Some(4), 5));
        assert_eq!(lost(0.01), (None, 5));
    }
}
