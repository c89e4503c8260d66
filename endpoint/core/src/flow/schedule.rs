//! When the messages of a flow are due. Pure: a job gives the same times at both ends.

use netwarp_wire::job::{Arrivals, Flow};
use netwarp_wire::seeded::splitmix64;

/// The times at which messages are due, in nanoseconds after the flow's start.
#[derive(Debug, Clone)]
pub struct Schedule {
    arrivals: Arrivals,
    draws: Draws,
    /// How many due times have been returned so far.
    given: u64,
    messages: u64,
    last_ns: u64,
    at_ns: u64,
    /// With bursts: when the current on-period ends, in nanoseconds after the flow's start.
    on_until_ns: u64,
}

impl Schedule {
    /// Creates the schedule of a flow, from its first message on.
    pub fn of(flow: &Flow) -> Self {
        let mut draws = Draws { seed: flow.seed, drawn: 0 };
        let on_until_ns = match flow.arrivals {
            Arrivals::Onoff { on_ns, .. } => draws.exponential_ns(on_ns),
            _ => 0,
        };
        let messages = flow.messages.unwrap_or(u64::MAX);
        let last_ns = flow.duration_ns.unwrap_or(u64::MAX);
        Self { arrivals: flow.arrivals.clone(), draws, given: 0, messages, last_ns, at_ns: 0, on_until_ns }
    }

    /// Returns the number of messages, and when the last is due, in nanoseconds after the flow's start.
    pub fn extent(self) -> (u64, u64) {
        self.fold((0, 0), |(count, _), due_ns| (count + 1, due_ns))
    }

    /// Returns when the message after one due at `at_ns` is due; `None` if the job lists the due times and that was the
    /// last.
    fn after(&mut self, at_ns: u64) -> Option<u64> {
        match &self.arrivals {
            Arrivals::Constant { interval_ns } => Some(at_ns.saturating_add(*interval_ns)),
            Arrivals::Poisson { interval_ns } => Some(at_ns.saturating_add(self.draws.exponential_ns(*interval_ns))),
            Arrivals::Onoff { interval_ns, on_ns, off_ns } => {
                let next_ns = at_ns.saturating_add(*interval_ns);
                if next_ns < self.on_until_ns {
                    return Some(next_ns);
                }
                let begun_ns = self.on_until_ns.max(at_ns).saturating_add(self.draws.exponential_ns(*off_ns));
                self.on_until_ns = begun_ns.saturating_add(self.draws.exponential_ns(*on_ns));
                Some(begun_ns)
            }
            Arrivals::Trace { at_ns } => at_ns.get(usize::try_from(self.given).ok()?).copied(),
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    /// Returns when the next message is due. The first is due at the flow's start, or at the first time that the job
    /// lists.
    fn next(&mut self) -> Option<u64> {
        let is_drawn = !matches!(self.arrivals, Arrivals::Trace { .. });
        let due_ns = if self.given == 0 && is_drawn { 0 } else { self.after(self.at_ns)? };
        if self.given == self.messages || due_ns > self.last_ns {
            return None;
        }
        (self.at_ns, self.given) = (due_ns, self.given + 1);
        Some(due_ns)
    }
}

/// A generator of random numbers, started with a seed.
#[derive(Debug, Clone)]
struct Draws {
    seed: u64,
    drawn: u64,
}

impl Draws {
    /// Draws an exponentially distributed time, by inverting the distribution at a uniform random number of 53 bits.
    fn exponential_ns(&mut self, mean_ns: u64) -> u64 {
        let share = (splitmix64(self.seed, self.drawn) >> 11) as f64 / (1_u64 << 53) as f64;
        self.drawn += 1;
        (-(1.0 - share).ln() * mean_ns as f64).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::Direction;

    use super::*;

    fn flow(arrivals: Arrivals, messages: Option<u64>, duration_ns: Option<u64>) -> Flow {
        let direction = Direction::Down;
        Flow { seed: 7, direction, message_bytes: 100, arrivals, messages, duration_ns, packet_table: false }
    }

    fn gaps(arrivals: Arrivals, count: u64) -> Vec<f64> {
        let times: Vec<u64> = Schedule::of(&flow(arrivals, Some(count), None)).collect();
        times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn constant_arrivals_are_as_many_as_asked_for() {
        let arrivals = Arrivals::Constant { interval_ns: 20 };
        let by_count = Schedule::of(&flow(arrivals.clone(), Some(4), None));
        assert_eq!(by_count.clone().collect::<Vec<_>>(), [0, 20, 40, 60]);
        assert_eq!(by_count.extent(), (4, 60));
        let by_duration: Vec<u64> = Schedule::of(&flow(arrivals, None, Some(59))).collect();
        assert_eq!(by_duration, [0, 20, 40], "one at 60 would be too late");
    }

    #[test]
    fn times_that_are_given_are_kept() {
        let arrivals = Arrivals::Trace { at_ns: vec![5, 5, 90] };
        assert_eq!(Schedule::of(&flow(arrivals, None, None)).collect::<Vec<_>>(), [5, 5, 90]);
    }

    /// The gaps of a Poisson process have a standard deviation equal to their mean, and a fraction of 1/e is longer
    /// than the mean.
    #[test]
    fn poisson_arrivals_have_exponential_gaps() {
        let count = 100_000;
        let gaps = gaps(Arrivals::Poisson { interval_ns: 1_000_000 }, count);
        let mean = mean(&gaps);
        // Four standard errors.
        let tolerance = 4.0 / (count as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < tolerance, "{mean}");
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        // The variance of an exponential sample's standard deviation is 2 sigma^2 / n.
        assert!((deviation / 1e6 - 1.0).abs() < tolerance * 1.5, "{deviation}");
        let longer = gaps.iter().filter(|gap| **gap > 1e6).count() as f64 / gaps.len() as f64;
        assert!((longer - (-1.0_f64).exp()).abs() < 4.0 * (0.2325 / count as f64).sqrt(), "{longer}");
        // The gaps are uncorrelated.
        let lagged = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        assert!((lagged / gaps.len() as f64 / deviation.powi(2)).abs() < tolerance);
    }

    /// Periods are on for 10 ms and off for 30 ms on average, with a message every millisecond. A period that lasts x
    /// has ceil(x) messages, on average 1 / (1 - exp(-1/10)), in 40 ms.
    #[test]
    fn bursts_take_their_share_of_the_time() {
        let arrivals = Arrivals::Onoff { interval_ns: 1_000_000, on_ns: 10_000_000, off_ns: 30_000_000 };
        let gaps = gaps(arrivals, 200_000);
        let expected = 40e6 * (1.0 - (-0.1_f64).exp());
        assert!((mean(&gaps) / expected - 1.0).abs() < 0.03, "{} for {expected}", mean(&gaps));
        let within = gaps.iter().filter(|gap| **gap == 1e6).count() as f64 / gaps.len() as f64;
        assert!((within - (-0.1_f64).exp()).abs() < 0.01, "{within}");
    }

    #[test]
    fn another_seed_gives_other_times_and_the_same_seed_the_same() {
        let flow = |seed| Flow { seed, ..flow(Arrivals::Poisson { interval_ns: 1000 }, Some(50), None) };
        let times = |seed| Schedule::of(&flow(seed)).collect::<Vec<_>>();
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
    }
}
