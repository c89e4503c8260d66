//! Statistics of the arrivals of a flow, computed as by ns-3's FlowMonitor (`flow-monitor.cc`, `ReportLastRx`). Pure.

use netwarp_wire::job::Direction;
use netwarp_wire::record::{FlowStatsRecord, FlowUnit};

/// The number of quantiles: one per thousandth.
const QUANTILES: usize = 1000;

/// Statistics of arrivals, which must be added in the order in which they occur.
#[derive(Debug, Default)]
pub struct Tally {
    /// A bitmap of the numbers that have arrived.
    seen: Vec<u64>,
    /// One more than the largest number that has arrived so far: NextExp of RFC 4737.
    next_number: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    delays_ns: Vec<u64>,
    jitter_sum_ns: u64,
    rfc3550_jitter_ns: f64,
    reordered: u64,
    duplicates: u64,
}

impl Tally {
    /// Counts the arrival of a message or packet.
    ///
    /// # Arguments
    /// * `number` - its position in the order of sending, from 0.
    /// * `since_ns` - the time from which its delay counts.
    /// * `at_ns` - when it arrived, by the same clock.
    pub fn arrived(&mut self, number: u64, since_ns: u64, at_ns: u64, bytes: u64) {
        if self.is_known(number) {
            self.duplicates += 1;
            return;
        }
        let delay_ns = at_ns.saturating_sub(since_ns);
        match self.delays_ns.last() {
            Some(before_ns) => {
                let difference_ns = delay_ns.abs_diff(*before_ns);
                self.jitter_sum_ns += difference_ns;
                self.rfc3550_jitter_ns += (difference_ns as f64 - self.rfc3550_jitter_ns) / 16.0;
            }
            None => self.first_ns = at_ns,
        }
        self.reordered += u64::from(number < self.next_number);
        self.next_number = self.next_number.max(number + 1);
        self.delays_ns.push(delay_ns);
        (self.last_ns, self.bytes) = (at_ns, self.bytes + bytes);
    }

    /// Returns how many different messages or packets have arrived; duplicates do not count.
    pub fn received(&self) -> u64 {
        self.delays_ns.len() as u64
    }

    /// Counts a duplicate of a message or packet that has been counted.
    pub fn duplicate(&mut self) {
        self.duplicates += 1;
    }

    /// Marks a number as arrived. Returns whether it was marked already.
    fn is_known(&mut self, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let was_known = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        was_known
    }

    /// Returns the record of the statistics, with times since the run's epoch.
    ///
    /// # Arguments
    /// * `sent` - how many messages or packets were sent, if this end knows.
    pub fn into_record(
        mut self,
        unit: FlowUnit,
        direction: Direction,
        sent: Option<u64>,
        epoch_ns: u64,
    ) -> FlowStatsRecord {
        let has_any = !self.delays_ns.is_empty();
        let since_epoch = |at_ns: u64| has_any.then(|| at_ns.saturating_sub(epoch_ns));
        let delay_sum_ns = self.delays_ns.iter().sum();
        self.delays_ns.sort_unstable();
        FlowStatsRecord {
            unit,
            direction,
            sent,
            received: self.received(),
            received_bytes: self.bytes,
            first_received_ns: since_epoch(self.first_ns),
            last_received_ns: since_epoch(self.last_ns),
            delay_sum_ns,
            jitter_sum_ns: self.jitter_sum_ns,
            rfc3550_jitter_ns: Some(self.rfc3550_jitter_ns.round() as u64),
            reordered: Some(self.reordered),
            duplicates: Some(self.duplicates),
            delay_quantiles_ns: quantiles(&self.delays_ns),
        }
    }
}

/// Returns the quantiles of sorted values at 0, 1/1000, 2/1000, …, 1 (nearest rank); an empty list if there are no
/// values.
fn quantiles(sorted: &[u64]) -> Vec<u64> {
    if sorted.is_empty() {
        return Vec::new();
    }
    let rank = |permille: usize| (permille * sorted.len()).div_ceil(QUANTILES).max(1);
    (0..=QUANTILES).map(|permille| sorted[rank(permille) - 1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, time sent, time received and bytes of the packets that arrived: 2 is lost, 1 arrives after 3, 4 arrives
    /// twice.
    const PACKETS: [(u64, u64, u64, u64); 7] = [
        (0, 1_000, 1_500, 100),
        (3, 1_030, 1_540, 100),
        (1, 1_010, 1_550, 100),
        (4, 1_040, 1_600, 100),
        (4, 1_040, 1_605, 100),
        (5, 1_050, 1_650, 50),
        (6, 1_060, 1_665, 50),
    ];

    fn record(packets: &[(u64, u64, u64, u64)]) -> FlowStatsRecord {
        let mut tally = Tally::default();
        for (number, sent_ns, received_ns, bytes) in packets {
            tally.arrived(*number, *sent_ns, *received_ns, *bytes);
        }
        tally.into_record(FlowUnit::Packet, Direction::Up, Some(7), 1_000)
    }

    /// Delays in order of arrival: 500, 510, 540, 560, 600, 605; differences: 10, 30, 20, 40, 5.
    #[test]
    fn sums_are_those_done_by_hand() {
        let found = record(&PACKETS);
        let expected = FlowStatsRecord {
            unit: FlowUnit::Packet,
            direction: Direction::Up,
            sent: Some(7),
            received: 6,
            received_bytes: 500,
            first_received_ns: Some(500),
            last_received_ns: Some(665),
            delay_sum_ns: 500 + 510 + 540 + 560 + 600 + 605,
            jitter_sum_ns: 10 + 30 + 20 + 40 + 5,
            // 0.625, 2.4609, 3.5571, 5.8348, 5.7826.
            rfc3550_jitter_ns: Some(6),
            reordered: Some(1),
            duplicates: Some(1),
            delay_quantiles_ns: found.delay_quantiles_ns.clone(),
        };
        assert_eq!(found, expected);
        let at = |permille: usize| found.delay_quantiles_ns[permille];
        assert_eq!(found.delay_quantiles_ns.len(), 1001);
        assert_eq!([0, 166, 167, 500, 501, 950, 1000].map(at), [500, 500, 510, 540, 560, 605, 605]);
    }

    /// RFC 4737, section 3.3: a packet counts as reordered if one with a larger number has arrived before it.
    #[test]
    fn reordering_is_of_those_that_were_overtaken() {
        let sequence = |numbers: &[u64]| {
            let packets: Vec<_> = numbers.iter().zip(1..).map(|(number, at)| (*number, 0, at, 1)).collect();
            record(&packets).reordered.unwrap()
        };
        assert_eq!(sequence(&[0, 1, 2, 3]), 0);
        assert_eq!(sequence(&[1, 2, 3, 0]), 1);
        assert_eq!(sequence(&[3, 0, 1, 2]), 3);
        assert_eq!(sequence(&[0, 2, 4, 6]), 0, "losses are no reordering");
        assert_eq!(sequence(&[1, 0, 3, 2]), 2);
    }

    #[test]
    fn of_nothing_there_is_nothing_to_say_and_one_packet_has_no_jitter() {
        let nothing = record(&[]);
        assert_eq!((nothing.received, nothing.first_received_ns, nothing.delay_quantiles_ns), (0, None, vec![]));
        let one = record(&PACKETS[..1]);
        assert_eq!((one.jitter_sum_ns, one.rfc3550_jitter_ns), (0, Some(0)));
        assert_eq!(one.delay_quantiles_ns, vec![500; 1001]);
    }

    #[test]
    fn the_running_jitter_is_rfc_3550s() {
        // With a delay that alternates by 1600 ns for long, the estimate becomes the difference.
        let packets: Vec<_> = (0..1000).map(|n| (n, 10_000 * n, 10_000 * n + 5_000 + 1_600 * (n % 2), 1)).collect();
        assert_eq!(record(&packets).rfc3550_jitter_ns, Some(1_600));
    }
}
