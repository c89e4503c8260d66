//! Decides when the next sample is due. Pure.

use netwarp_wire::job::Sampling;

/// How many samples are taken at the initial interval, even if there are few packets.
const FIRST_SAMPLES: u32 = 24;

/// The number of packets that should pass between two samples: they cost about thirty times as much as a sample.
const PACKETS: u64 = 1024;

/// Counts samples and packets, and decides when the next sample is due.
#[derive(Debug)]
pub(crate) struct Pace {
    first_ns: u64,
    interval_ns: u64,
    is_thinned: bool,
    next_ns: u64,
    taken: u32,
    carried_packets: u64,
}

impl Pace {
    pub(crate) fn new(sampling: &Sampling) -> Self {
        let &Sampling { interval_ns, is_thinned } = sampling;
        Self { first_ns: interval_ns, interval_ns, is_thinned, next_ns: interval_ns, taken: 0, carried_packets: 0 }
    }

    /// Returns when the next sample is due, in nanoseconds after the run's epoch.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Records that a sample was taken at `at_ns`, when the path had carried `carried_packets` since the run began.
    pub(crate) fn taken(&mut self, at_ns: u64, carried_packets: u64) {
        let since_last = carried_packets.saturating_sub(self.carried_packets);
        (self.taken, self.carried_packets) = (self.taken.saturating_add(1), carried_packets);
        if self.is_thinned && self.taken >= FIRST_SAMPLES {
            if since_last < PACKETS {
                self.interval_ns = self.interval_ns.saturating_mul(2);
            } else if since_last > 4 * PACKETS {
                self.interval_ns = (self.interval_ns / 2).max(self.first_ns);
            }
        }
        self.next_ns = at_ns.saturating_add(self.interval_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many samples are taken until `until_ns` on a path that carries one packet every `ns_per_packet`.
    fn samples(sampling: &Sampling, until_ns: u64, ns_per_packet: u64) -> u64 {
        let (mut pace, mut taken) = (Pace::new(sampling), 0);
        while pace.next_ns() <= until_ns {
            let at_ns = pace.next_ns();
            pace.taken(at_ns, at_ns / ns_per_packet);
            taken += 1;
        }
        taken
    }

    #[test]
    fn a_long_run_has_no_more_samples_for_its_packets_than_a_fast_one() {
        let thinned = Sampling { interval_ns: 20_000_000, is_thinned: true };
        let (second_ns, packets) = (1_000_000_000, 100_000);
        for run_ns in [9 * second_ns, 90 * second_ns, 1700 * second_ns] {
            let taken = samples(&thinned, run_ns, run_ns / packets);
            assert!((50..=24 + 16 + packets / PACKETS).contains(&taken), "{taken} samples in {run_ns} ns");
        }
    }

    #[test]
    fn an_interval_that_is_asked_for_is_kept() {
        let fixed = Sampling { interval_ns: 1_000_000, is_thinned: false };
        assert_eq!(samples(&fixed, 1_000_000_000, 1_000_000_000), 1000);
    }

    #[test]
    fn samples_come_sooner_again_where_packets_do() {
        let mut pace = Pace::new(&Sampling { interval_ns: 1000, is_thinned: true });
        (0..40).for_each(|number| pace.taken(1000 * number, 0));
        let idle_ns = pace.next_ns() - 39_000;
        assert!(idle_ns > 1000);
        (1..60).for_each(|number| pace.taken(1_000_000, number * 5 * PACKETS));
        assert_eq!(pace.next_ns(), 1_001_000);
    }
}
