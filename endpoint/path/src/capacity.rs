//! The most bytes that each direction of a path can have delivered at its rates, as a check of the counters. Pure.

use std::time::Duration;

use netwarp_wire::job::{Change, Direction, Event, Impairments, Job, Path};
use netwarp_wire::record::CalibrationRecord;

use crate::topology::ETHERNET_HEADER_BYTES;

/// The most bytes that each direction of each path can have delivered at its rates so far.
#[derive(Debug)]
pub struct Capacities(Vec<[Capacity; 2]>);

impl Capacities {
    /// Returns the capacities of a job's paths at the run's epoch.
    pub fn new(job: &Job) -> Self {
        let capacity = |impairments: &Impairments, mtu_bytes| {
            // A policer's bucket is full at the start, and what is in it passes at once.
            let bucket_bytes = impairments.policer_bytes.map_or(0, u64::from);
            Capacity::new(impairments.rate_bit_s, mtu_bytes, bucket_bytes)
        };
        let both = |path: &Path| [capacity(&path.down, path.mtu_bytes), capacity(&path.up, path.mtu_bytes)];
        Self(job.paths.iter().map(both).collect())
    }

    /// Applies an event that took effect between `from_ns` and `until_ns`, in nanoseconds since the run's epoch.
    pub fn apply(&mut self, event: &Event, from_ns: u64, until_ns: u64) {
        if let Change::Rate { direction, rate_bit_s } = event.change {
            let capacity = &mut self.0[event.path as usize][place(direction)];
            // A change that is due at the run's epoch takes effect before anything is sent.
            if event.at_ns == 0 {
                capacity.rate_bit_s.get_or_insert(rate_bit_s);
            }
            capacity.change(rate_bit_s, from_ns, until_ns);
        }
    }

    /// Returns a message about the first direction that has delivered more than its rates allow, by the calibration
    /// records; `None` if none has.
    pub fn excess(&self, records: &[CalibrationRecord]) -> Option<String> {
        records.iter().find_map(|record| {
            let CalibrationRecord { path, direction, interval_ns, delivered_packets, delivered_bytes, .. } = record;
            let capacity = &self.0[*path as usize][place(*direction)];
            let most_bytes = capacity.bytes(*interval_ns, *delivered_packets)?;
            (*delivered_bytes > most_bytes).then(|| {
                format!(
                    "path {path} delivered {delivered_bytes} bytes {direction:?} in {} s, but its rate allows no more \
                     than {most_bytes}: packets by-passed the bottleneck",
                    Duration::from_nanos(*interval_ns).as_secs_f64()
                )
            })
        })
    }
}

fn place(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// The most data that one direction of a path can have delivered.
#[derive(Debug)]
struct Capacity {
    /// The rate in bit/s; `None` if it is unlimited or was so at any time.
    rate_bit_s: Option<u64>,
    peak_bit_s: u64,
    /// When the current rate took effect, in nanoseconds since the run's epoch.
    since_ns: u64,
    /// How much data could pass at earlier rates, in billionths of a bit (bit/s times nanoseconds).
    billionths: u128,
    burst_bytes: u64,
    frame_bytes: u64,
}

impl Capacity {
    /// Returns the capacity at the run's epoch. One frame more than the rate allows may be counted, as the counters are
    /// read one after the other.
    fn new(rate_bit_s: Option<u64>, mtu_bytes: u32, bucket_bytes: u64) -> Self {
        let frame_bytes = u64::from(mtu_bytes + ETHERNET_HEADER_BYTES);
        let (peak_bit_s, burst_bytes) = (rate_bit_s.unwrap_or(0), frame_bytes + bucket_bytes);
        Self { rate_bit_s, peak_bit_s, since_ns: 0, billionths: 0, burst_bytes, frame_bytes }
    }

    /// Accounts for a change of the rate at an unknown time between `from_ns` and `until_ns`. The packet that is being
    /// sent then still leaves at the old rate.
    fn change(&mut self, rate_bit_s: u64, from_ns: u64, until_ns: u64) {
        let Some(old_bit_s) = self.rate_bit_s else { return };
        self.billionths += u128::from(old_bit_s) * u128::from(from_ns.saturating_sub(self.since_ns));
        self.billionths += u128::from(old_bit_s.max(rate_bit_s)) * u128::from(until_ns - from_ns);
        self.rate_bit_s = Some(rate_bit_s);
        self.peak_bit_s = self.peak_bit_s.max(rate_bit_s);
        self.since_ns = until_ns;
        self.burst_bytes += self.frame_bytes;
    }

    /// Returns the most bytes that can have passed until `until_ns`; `None` if the rate is unlimited. The kernel rounds
    /// the transmission time of each of the `packets` down to whole nanoseconds.
    fn bytes(&self, until_ns: u64, packets: u64) -> Option<u64> {
        let rest = u128::from(self.rate_bit_s?) * u128::from(until_ns.saturating_sub(self.since_ns));
        let rounding = u128::from(self.peak_bit_s) * u128::from(packets);
        let bytes = (self.billionths + rest + rounding) / 8 / 1_000_000_000;
        Some(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(self.burst_bytes))
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;
    use crate::count::Count;

    /// Returns the result of [`Capacities::excess`] for `delivered_bytes` on the first path in one second, after some
    /// changes of rate.
    fn excess(rate_bit_s: Option<u64>, changes: &[(u64, u64)], delivered_bytes: u64) -> Option<String> {
        let mut job = golden::job("bulk-quic");
        job.paths[0].down.rate_bit_s = rate_bit_s;
        let mut capacities = Capacities::new(&job);
        for &(at_ns, rate_bit_s) in changes {
            let change = Change::Rate { direction: Direction::Down, rate_bit_s };
            capacities.apply(&Event { at_ns, path: 0, change }, at_ns, at_ns);
        }
        let counted = Count { delivered_packets: 700, delivered_bytes, ..Count::default() };
        capacities.excess(&[counted.record(0, Direction::Down, &job.paths[0].down, 1_000_000_000)])
    }

    #[test]
    fn no_direction_delivers_more_than_its_rate() {
        let (rate_bit_s, second_bytes) = (8_000_000, 1_000_000);
        assert_eq!(excess(Some(rate_bit_s), &[], second_bytes + 1514), None);
        let message = excess(Some(rate_bit_s), &[], second_bytes + 2 * 1514).expect("more than the rate");
        assert!(message.contains("by-passed the bottleneck"), "{message}");
        assert_eq!(excess(None, &[], u64::MAX), None);
    }

    #[test]
    fn a_full_bucket_passes_beside_the_rate() {
        let mut job = golden::job("bulk-quic");
        job.paths[0].down.rate_bit_s = Some(8_000_000);
        job.paths[0].down.policer_bytes = Some(4608);
        let capacities = Capacities::new(&job);
        let excess = |delivered_bytes| {
            let counted = Count { delivered_packets: 700, delivered_bytes, ..Count::default() };
            capacities.excess(&[counted.record(0, Direction::Down, &job.paths[0].down, 1_000_000_000)])
        };
        assert_eq!(excess(1_000_000 + 4608 + 1514), None);
        assert!(excess(1_000_000 + 4608 + 2 * 1514).is_some());
    }

    #[test]
    fn a_rate_that_changes_counts_for_as_long_as_it_holds() {
        let half_ns = 500_000_000;
        let changes = [(0, 8_000_000), (half_ns, 80_000)];
        let (halves_bytes, bursts_bytes) = (500_000 + 5_000, 3 * 1514);
        for rate_bit_s in [None, Some(8_000_000)] {
            assert_eq!(excess(rate_bit_s, &changes, halves_bytes + bursts_bytes), None);
            assert!(excess(rate_bit_s, &changes, halves_bytes + bursts_bytes + 1514).is_some());
        }
        assert_eq!(excess(None, &changes[1..], u64::MAX), None, "it was unlimited at first");
    }
}
