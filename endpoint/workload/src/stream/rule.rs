//! The rules by which a player chooses the quality of the next segment. Pure.

use std::collections::VecDeque;

use netwarp_path::timeline::link_delay::LinkDelay;
use netwarp_wire::job::{self, Job, Rule};

const NANOSECONDS_PER_SECOND: f64 = 1e9;

/// γ·p of BOLA-BASIC, as its authors set it: how much uninterrupted playback is worth, in the unit of the utilities
/// (Spiteri, Urgaonkar, Sitaraman: BOLA, INFOCOM 2016, section V).
const BOLA_GAMMA_P: f64 = 5.0;

/// The size of a fetched segment, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fetched {
    pub bytes: u64,
    /// The time from the request to the first byte of the answer, in nanoseconds.
    pub first_byte_delay_ns: u64,
    /// The time from the request to the last byte, in nanoseconds.
    pub duration_ns: u64,
}

impl Fetched {
    fn throughput_bit_s(&self) -> f64 {
        self.bytes as f64 * 8.0 * NANOSECONDS_PER_SECOND / self.duration_ns.max(1) as f64
    }
}

/// A rule for the choice of qualities, with its measurements.
#[derive(Debug)]
pub(super) struct Chooser<'a> {
    rule: Rule,
    link_delay: LinkDelay<'a>,
    segment_ns: u64,
    buffer_ns: u64,
    segments_bytes: Vec<u64>,
    /// The last fetched segments, as many as the rule uses.
    fetched: VecDeque<Fetched>,
    /// Whether the next choice is the first over a new connection or after a seek.
    starts: bool,
}

impl<'a> Chooser<'a> {
    /// Creates the rule that a job asks for, without measurements.
    pub(super) fn new(requested: &job::Stream, job: &'a Job) -> Self {
        Self {
            rule: requested.rule.clone(),
            link_delay: LinkDelay::new(job),
            segment_ns: requested.segment_ns,
            buffer_ns: requested.buffer_ns,
            segments_bytes: requested.qualities.iter().map(|quality| quality.segment_bytes).collect(),
            fetched: VecDeque::new(),
            starts: true,
        }
    }

    /// Makes the next choice the lowest quality, as it must be over a new connection and after a seek.
    pub(super) fn start_over(&mut self) {
        self.starts = true;
    }

    /// Records the size and the times of a segment that has arrived, for later choices.
    pub(super) fn record(&mut self, fetched: Fetched) {
        let window = match self.rule {
            Rule::Throughput { window, .. } => window as usize,
            Rule::Delay { .. } | Rule::LinkDelay { .. } | Rule::Bola {} => 1,
        };
        self.fetched.push_back(fetched);
        while self.fetched.len() > window {
            self.fetched.pop_front();
        }
    }

    /// Returns the index of the quality to request when `ahead_ns` of playback is buffered.
    ///
    /// # Arguments
    /// * `now_ns` - the time in nanoseconds since the run's epoch; must not decrease from call to call.
    pub(super) fn choose(&mut self, ahead_ns: u64, now_ns: u64) -> usize {
        let link_delay_ns = self.link_delay.at(now_ns);
        if std::mem::take(&mut self.starts) {
            return 0;
        }
        match &self.rule {
            Rule::Delay { bounds_ns } => match self.fetched.back() {
                Some(before) => {
                    let bounds = bounds_ns.iter().filter(|bound_ns| **bound_ns <= before.first_byte_delay_ns);
                    self.highest() - bounds.count()
                }
                None => 0,
            },
            Rule::LinkDelay { bounds_ns } => self.highest() - bounds_reached(bounds_ns, link_delay_ns),
            Rule::Throughput { safety_ratio, .. } => self.by_throughput(*safety_ratio),
            Rule::Bola {} => self.by_buffer(ahead_ns),
        }
    }

    fn highest(&self) -> usize {
        self.segments_bytes.len() - 1
    }

    fn by_throughput(&self, safety_ratio: f64) -> usize {
        let inverse: f64 = self.fetched.iter().map(|fetched| fetched.throughput_bit_s().recip()).sum();
        let harmonic_mean_bit_s = self.fetched.len() as f64 / inverse;
        let usable_bytes = safety_ratio * harmonic_mean_bit_s * self.segment_ns as f64 / NANOSECONDS_PER_SECOND / 8.0;
        let fits = |bytes: &u64| *bytes as f64 <= usable_bytes;
        self.segments_bytes.iter().rposition(fits).unwrap_or(0)
    }

    /// BOLA-BASIC: chooses the quality m with the largest (V·(υ_m + γp) − Q) / S_m, where Q is the buffer's level in
    /// segments, S_m the size of a segment, υ_m = ln(S_m / S_1) its utility, and V = (Q_max − 1) / (υ_M + γp) the
    /// largest with which the buffer never exceeds Q_max (section III, theorem 1).
    ///
    /// With that V no score is positive, and the algorithm waits, above Q_max − 1: exactly when the player waits
    /// because another segment would not fit.
    fn by_buffer(&self, ahead_ns: u64) -> usize {
        let lowest_bytes = self.segments_bytes[0] as f64;
        let utility = |bytes: u64| (bytes as f64 / lowest_bytes).ln();
        let level = ahead_ns as f64 / self.segment_ns as f64;
        let most = self.buffer_ns as f64 / self.segment_ns as f64;
        let v = (most - 1.0) / (utility(self.segments_bytes[self.highest()]) + BOLA_GAMMA_P);
        let score = |bytes: u64| (v * (utility(bytes) + BOLA_GAMMA_P) - level) / bytes as f64;
        let mut best = 0;
        for (quality, &bytes) in self.segments_bytes.iter().enumerate() {
            if score(bytes) > score(self.segments_bytes[best]) {
                best = quality;
            }
        }
        best
    }
}

/// Returns how many of the bounds a link's delay has reached. The first is reached by an equal delay, the others only
/// by a longer one (Nam et al. 2021, section 4.1: the highest quality below 100 ms, the lowest above 200 ms).
fn bounds_reached(bounds_ns: &[u64], delay_ns: u64) -> usize {
    let reached = |(index, bound_ns): &(usize, &u64)| delay_ns > **bound_ns || *index == 0 && delay_ns == **bound_ns;
    bounds_ns.iter().enumerate().filter(reached).count()
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::Quality;

    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns a job whose link has a round-trip delay of `delay_ms`, and of `later_ms` from one second on.
    fn job(delay_ms: u64, later_ms: u64) -> &'static Job {
        let mut job = golden::job("stream-handovers");
        (job.paths[0].down.delay_ns, job.paths[0].up.delay_ns) = (delay_ms * MS, 0);
        let change = job::Change::Delay { down_ns: 0, up_ns: later_ms * MS };
        let events = vec![job::Event { at_ns: 1000 * MS, path: 0, change }];
        job.timeline = job::Timeline { events, ..job::Timeline::default() };
        Box::leak(Box::new(job))
    }

    fn chooser(rule: Rule, segments_bytes: &[u64]) -> Chooser<'static> {
        chooser_over(rule, segments_bytes, job(0, 0))
    }

    fn chooser_over(rule: Rule, segments_bytes: &[u64], job: &'static Job) -> Chooser<'static> {
        let qualities = segments_bytes.iter().map(|&segment_bytes| Quality { name: "some".to_owned(), segment_bytes });
        let requested = job::Stream {
            seed: 1,
            segments: 10,
            segment_ns: 1000 * MS,
            qualities: qualities.collect(),
            rule,
            viewer_clock: job::ViewerClock::Play,
            watch_ns: 10_000 * MS,
            start_buffer_ns: 1000 * MS,
            buffer_ns: 10_000 * MS,
            seek_ratio: 0.0,
            verify: false,
        };
        let mut chooser = Chooser::new(&requested, job);
        assert_eq!(chooser.choose(0, 0), 0, "the lowest after connecting");
        chooser
    }

    fn fetched(bytes: u64, first_byte_delay_ns: u64, duration_ns: u64) -> Fetched {
        Fetched { bytes, first_byte_delay_ns, duration_ns }
    }

    #[test]
    fn the_delay_rule_goes_by_the_first_byte_of_the_last_segment() {
        let bounds_ns = vec![100 * MS, 200 * MS];
        let mut chooser = chooser(Rule::Delay { bounds_ns }, &[4_000_000, 4_500_000, 5_000_000]);
        let cases = [(0, 2), (99, 2), (100, 1), (199, 1), (200, 0), (5000, 0), (50, 2)];
        for (delay_ms, expected) in cases {
            chooser.record(fetched(4_000_000, delay_ms * MS, 1000 * MS));
            assert_eq!(chooser.choose(0, 0), expected, "{delay_ms} ms");
        }
        chooser.start_over();
        assert_eq!(chooser.choose(0, 0), 0, "the lowest after a seek");
        assert_eq!(chooser.choose(0, 0), 2, "which did not forget the link");
    }

    #[test]
    fn the_link_delay_rule_is_that_of_the_source() {
        let rule = Rule::LinkDelay { bounds_ns: vec![100 * MS, 200 * MS] };
        let cases = [(0, 2), (99, 2), (100, 1), (150, 1), (200, 1), (201, 0), (5000, 0)];
        for (delay_ms, expected) in cases {
            let mut chooser = chooser_over(rule.clone(), &[4, 5, 6], job(delay_ms, 150));
            // The rule uses no measurements, and works without any.
            assert_eq!(chooser.choose(0, 10 * MS), expected, "{delay_ms} ms");
            chooser.record(fetched(4, 150 * MS, 1000 * MS));
            assert_eq!(chooser.choose(0, 999 * MS), expected, "{delay_ms} ms");
            assert_eq!(chooser.choose(0, 1000 * MS), 1, "{delay_ms} ms, and another delay");
            chooser.start_over();
            assert_eq!(chooser.choose(0, 1500 * MS), 0, "the lowest after a seek");
        }
    }

    #[test]
    fn one_quality_leaves_no_choice() {
        let mut delay = chooser(Rule::Delay { bounds_ns: vec![] }, &[4_000_000]);
        delay.record(fetched(4_000_000, 1, 1));
        assert_eq!(delay.choose(0, 0), 0);
        let mut throughput = chooser(Rule::Throughput { safety_ratio: 0.9, window: 2 }, &[4_000_000]);
        throughput.record(fetched(4_000_000, 1, 60_000 * MS));
        assert_eq!(throughput.choose(0, 0), 0);
    }

    #[test]
    fn the_throughput_rule_takes_the_harmonic_mean_of_a_window() {
        // Qualities of 8, 16 and 32 Mbit/s.
        let mut chooser =
            chooser(Rule::Throughput { safety_ratio: 0.8, window: 2 }, &[1_000_000, 2_000_000, 4_000_000]);
        // 8 Mbit in 1 s and 8 Mbit in 250 ms: 8 and 32 Mbit/s, mean 2 / (1/8 + 1/32) = 12.8; 80 % of it 10.24.
        chooser.record(fetched(1_000_000, 1, 1000 * MS));
        chooser.record(fetched(1_000_000, 1, 250 * MS));
        assert_eq!(chooser.choose(0, 0), 0);
        // 32 and 16 Mbit/s: 2 / (1/32 + 1/16) = 21.33; 80 %: 17.07. (The arithmetic mean of all three would do too.)
        chooser.record(fetched(2_000_000, 1, 1000 * MS));
        assert_eq!(chooser.choose(0, 0), 1);
        // 16 and 40.1 Mbit/s: 2 / (1/16 + 1/40.1) = 22.87; 80 %: 18.3. The arithmetic mean, 28.05 · 0.8 = 22.4, agrees.
        chooser.record(fetched(4_010_000, 1, 800 * MS));
        assert_eq!(chooser.choose(0, 0), 1);
        // 40.1 and 40 Mbit/s: 40.05; 80 %: 32.04.
        chooser.record(fetched(5_000_000, 1, 1000 * MS));
        assert_eq!(chooser.choose(0, 0), 2);
        // 40 and 2 Mbit/s: 2 / (1/40 + 1/2) = 3.8. The arithmetic mean, 21 · 0.8 = 16.8, would choose the second.
        chooser.record(fetched(250_000, 1, 1000 * MS));
        assert_eq!(chooser.choose(0, 0), 0);
    }

    #[test]
    fn bola_goes_by_the_buffer_alone() {
        // υ = 0, ln 2 = 0.6931, ln 4 = 1.3863; Q_max = 10; V = 9 / 6.3863 = 1.4093.
        // V·(υ + 5): 7.0464, 8.0232, 9.
        // Equal scores of 1 and 2: 2·(7.0464 − Q) = 8.0232 − Q at Q = 6.0696.
        // Of 2 and 3: 2·(8.0232 − Q) = 9 − Q at Q = 7.0464.
        let mut chooser = chooser(Rule::Bola {}, &[1_000_000, 2_000_000, 4_000_000]);
        chooser.record(fetched(1_000_000, 1, 1));
        for (ahead_ms, expected) in [(0, 0), (6069, 0), (6070, 1), (7046, 1), (7047, 2), (9000, 2)] {
            assert_eq!(chooser.choose(ahead_ms * MS, 0), expected, "{ahead_ms} ms");
        }
        chooser.start_over();
        assert_eq!(chooser.choose(9000 * MS, 0), 0);
    }

    #[test]
    fn bola_with_the_source_s_qualities() {
        // υ = 0, ln 1.125 = 0.11778, ln 1.25 = 0.22314; V = 9 / 5.22314 = 1.72310.
        // V·(υ + 5): 8.61551, 8.81846, 9.
        // 4.5·(8.61551 − Q) = 4·(8.81846 − Q): Q = (38.76980 − 35.27384) / 0.5 = 6.99192.
        // 5·(8.81846 − Q) = 4.5·(9 − Q): Q = (44.09230 − 40.5) / 0.5 = 7.18460.
        let mut chooser = chooser(Rule::Bola {}, &[4_000_000, 4_500_000, 5_000_000]);
        for (ahead_ms, expected) in [(6991, 0), (6993, 1), (7184, 1), (7185, 2)] {
            assert_eq!(chooser.choose(ahead_ms * MS, 0), expected, "{ahead_ms} ms");
        }
    }
}
