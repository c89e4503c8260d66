//! The order of a run's path changes: a timeline's events, random delays (redraws) and rate traces, merged by time.
//! Pure.

use netwarp_wire::job::{self, Change, Event, Redraw, Trace};

use super::draw::Normal;

/// The changes of a run's paths that are still to come, in order. Redraws and traces have no end, so each change is
/// computed when it is asked for.
#[derive(Debug)]
pub(super) struct Schedule<'a> {
    /// The sources of changes. If several have a change due at the same time, the source listed first comes first.
    sources: Vec<Source<'a>>,
}

#[derive(Debug)]
enum Source<'a> {
    Fixed(&'a [Event]),
    Drawn { redraw: &'a Redraw, normal: Normal, count: u64 },
    Traced { trace: &'a Trace, step: Option<u64> },
}

impl<'a> Schedule<'a> {
    /// Creates the schedule of a job's timeline.
    pub(super) fn new(timeline: &'a job::Timeline) -> Self {
        let drawn = |redraw: &'a Redraw| Source::Drawn { redraw, normal: Normal::new(redraw.seed), count: 0 };
        let traced = |trace: &'a Trace| Source::Traced { trace, step: Some(0) };
        let mut sources = vec![Source::Fixed(&timeline.events)];
        sources.extend(timeline.redraws.iter().map(drawn));
        sources.extend(timeline.traces.iter().map(traced));
        Self { sources }
    }

    /// Returns when the next change is due, in nanoseconds after the run's epoch; `None` if none is left.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.sources.iter().filter_map(Source::next_ns).min()
    }

    /// Removes and returns the next change if it is due by `elapsed_ns` after the run's epoch.
    pub(super) fn pop_due(&mut self, elapsed_ns: u64) -> Option<Event> {
        let due_ns = self.next_ns().filter(|&due_ns| due_ns <= elapsed_ns)?;
        // If several sources are due at the same time, the first is used.
        self.sources.iter_mut().find(|source| source.next_ns() == Some(due_ns))?.pop()
    }

    /// Returns the rate to set for a change of rate; `None` for another change. Usually that is the new rate. But a
    /// packet is sent at the rate at which its transmission began, so where a trace changes the rate again before a
    /// frame of `frame_bytes` could be sent, it is the mean of the rates until then.
    pub(super) fn sending_rate_bit_s(&self, event: &Event, frame_bytes: u32) -> Option<u64> {
        let Change::Rate { direction, rate_bit_s } = event.change else { return None };
        let trace = self.sources.iter().find_map(|source| match source {
            Source::Traced { trace, .. } if (trace.path, trace.direction) == (event.path, direction) => Some(*trace),
            _ => None,
        });
        Some(trace.map_or(rate_bit_s, |trace| mean_rate_bit_s(trace, event.at_ns / trace.step_ns, frame_bytes)))
    }
}

impl Source<'_> {
    fn next_ns(&self) -> Option<u64> {
        match self {
            Self::Fixed(events) => events.first().map(|event| event.at_ns),
            // Without a deviation all draws are the same, so only the first changes anything.
            Self::Drawn { redraw, count: 1.., .. } if redraw.deviation_ns == 0 => None,
            Self::Drawn { redraw, count, .. } => count.checked_mul(redraw.period_ns),
            Self::Traced { trace, step } => (*step)?.checked_mul(trace.step_ns),
        }
    }

    fn pop(&mut self) -> Option<Event> {
        let at_ns = self.next_ns()?;
        match self {
            Self::Fixed(events) => {
                let (event, later) = events.split_first()?;
                *events = later;
                Some(event.clone())
            }
            Self::Drawn { redraw, normal, count } => {
                *count += 1;
                Some(Event { at_ns, path: redraw.path, change: delay(redraw, normal.draw()) })
            }
            Self::Traced { trace, step } => {
                let current = (*step)?;
                let rate_bit_s = rate(trace, current);
                *step = next_step(trace, current);
                let change = Change::Rate { direction: trace.direction, rate_bit_s };
                Some(Event { at_ns, path: trace.path, change })
            }
        }
    }
}

/// Returns the change of delays for a draw from the standard normal distribution: half of the drawn round-trip time in
/// each direction, at least 0.
fn delay(redraw: &Redraw, deviate: f64) -> Change {
    let round_trip_ns = (redraw.mean_ns as f64 + redraw.deviation_ns as f64 * deviate).round().max(0.0) as u64;
    let down_ns = round_trip_ns / 2;
    Change::Delay { down_ns, up_ns: round_trip_ns - down_ns }
}

fn rate(trace: &Trace, step: u64) -> u64 {
    trace.rates_bit_s[(step % trace.rates_bit_s.len() as u64) as usize]
}

/// Returns the mean rate of a trace from the beginning of `step` until a frame of `frame_bytes` has been sent, or until
/// a step whose rate is 0.
fn mean_rate_bit_s(trace: &Trace, step: u64, frame_bytes: u32) -> u64 {
    let frame_billionths = u128::from(frame_bytes) * 8 * 1_000_000_000;
    let (mut sent_billionths, mut ns) = (0, 0);
    for later in 0..trace.rates_bit_s.len() as u64 {
        let step_rate_bit_s = u128::from(rate(trace, step + later));
        let left = frame_billionths - sent_billionths;
        if step_rate_bit_s == 0 {
            break;
        }
        if left <= step_rate_bit_s * u128::from(trace.step_ns) {
            (sent_billionths, ns) = (frame_billionths, ns + left / step_rate_bit_s);
            break;
        }
        sent_billionths += step_rate_bit_s * u128::from(trace.step_ns);
        ns += u128::from(trace.step_ns);
    }
    let first_bit_s = rate(trace, step);
    match sent_billionths.checked_div(ns) {
        Some(mean_bit_s) if ns > u128::from(trace.step_ns) => u64::try_from(mean_bit_s).unwrap_or(first_bit_s),
        _ => first_bit_s,
    }
}

/// Returns the first step after `step` with a different rate; `None` if the trace has only one rate.
fn next_step(trace: &Trace, step: u64) -> Option<u64> {
    let current = rate(trace, step);
    (1..trace.rates_bit_s.len() as u64).map(|later| step + later).find(|&later| rate(trace, later) != current)
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::Direction;

    use super::*;

    const MS: u64 = 1_000_000;

    fn redraw(mean_ns: u64, deviation_ns: u64, seed: u64) -> Redraw {
        Redraw { path: 0, period_ns: 100 * MS, mean_ns, deviation_ns, seed }
    }

    fn trace(rates_bit_s: &[u64]) -> Trace {
        Trace { path: 1, direction: Direction::Down, step_ns: 50 * MS, rates_bit_s: rates_bit_s.to_vec() }
    }

    fn first(count: usize, timeline: &job::Timeline) -> Vec<Event> {
        let mut schedule = Schedule::new(timeline);
        (0..count).map_while(|_| schedule.pop_due(u64::MAX)).collect()
    }

    /// Returns the round-trip times of the first draws.
    fn round_trips_ns(count: usize, redraw: Redraw) -> Vec<f64> {
        let timeline = job::Timeline { redraws: vec![redraw], ..job::Timeline::default() };
        let round_trip = |event: Event| match event.change {
            Change::Delay { down_ns, up_ns } => {
                assert!(up_ns - down_ns <= 1, "half to each direction");
                (down_ns + up_ns) as f64
            }
            other => panic!("{other:?}"),
        };
        first(count, &timeline).into_iter().map(round_trip).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn draws_have_the_mean_and_the_deviation_asked_for() {
        let draws = round_trips_ns(40_000, redraw(100 * MS, 20 * MS, 3));
        let (mean, deviation) = moments(&draws);
        assert!((mean / 100e6 - 1.0).abs() < 0.005, "{mean}");
        assert!((deviation / 20e6 - 1.0).abs() < 0.02, "{deviation}");
        assert_eq!(draws, round_trips_ns(40_000, redraw(100 * MS, 20 * MS, 3)));
        assert_ne!(draws, round_trips_ns(40_000, redraw(100 * MS, 20 * MS, 4)));
    }

    /// Half of the draws of a normal variable with mean 0 are below 0. With those set to 0, the mean is the density at
    /// 0: 1 / sqrt(2 pi).
    #[test]
    fn draws_below_0_are_0() {
        let draws = round_trips_ns(40_000, redraw(0, 100 * MS, 3));
        let zeros = draws.iter().filter(|&&draw| draw == 0.0).count() as f64 / draws.len() as f64;
        assert!((zeros - 0.5).abs() < 0.01, "{zeros}");
        let (mean, _) = moments(&draws);
        assert!((mean / 100e6 - 1.0 / std::f64::consts::TAU.sqrt()).abs() < 0.01, "{mean}");
    }

    #[test]
    fn draws_without_a_deviation_are_one_change() {
        assert_eq!(round_trips_ns(3, redraw(0, 0, 1)), [0.0]);
        assert_eq!(round_trips_ns(3, redraw(60 * MS, 0, 1)), [60e6]);
    }

    #[test]
    fn a_trace_repeats_and_tells_only_what_changes() {
        let timeline = job::Timeline { traces: vec![trace(&[8, 8, 0, 16, 8])], ..job::Timeline::default() };
        let told: Vec<(u64, u64)> = first(7, &timeline)
            .into_iter()
            .map(|event| match event.change {
                Change::Rate { direction: Direction::Down, rate_bit_s } => (event.at_ns / MS, rate_bit_s),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, [(0, 8), (100, 0), (150, 16), (200, 8), (350, 0), (400, 16), (450, 8)]);
        let steady = job::Timeline { traces: vec![trace(&[8, 8])], ..job::Timeline::default() };
        assert_eq!(first(3, &steady).len(), 1);
    }

    /// A frame of 1 000 bytes takes 8 ms at 1 Mbit/s; in a step of 50 ms, 6 250 bytes can be sent.
    #[test]
    fn a_frame_that_a_step_has_no_time_for_is_sent_at_the_mean_of_the_steps_it_takes() {
        let sending = |rates_bit_s: &[u64], frame_bytes| {
            let timeline = job::Timeline { traces: vec![trace(rates_bit_s)], ..job::Timeline::default() };
            let mut schedule = Schedule::new(&timeline);
            let event = schedule.pop_due(0).unwrap();
            schedule.sending_rate_bit_s(&event, frame_bytes).unwrap()
        };
        assert_eq!(sending(&[1_000_000, 0], 1000), 1_000_000);
        assert_eq!(sending(&[0, 1_000_000], 1000), 0, "nothing is sent in a pause");
        assert_eq!(sending(&[80_000, 0], 1000), 80_000, "a pause is not sent through");
        // 500 bytes in the first step, and the other 500 in half of the second.
        assert_eq!(sending(&[80_000, 160_000], 1000), 1000 * 8 * 1000 / 75);
        // 250 and 750 bytes, and so on: 1 000 in two steps.
        assert_eq!(sending(&[40_000, 120_000], 4000), 80_000);
    }

    #[test]
    fn of_what_is_due_at_once_events_come_first_then_redraws_then_traces() {
        let outage = |at_ns| Event { at_ns, path: 0, change: Change::Outage {} };
        let timeline = job::Timeline {
            events: vec![outage(0), outage(100 * MS)],
            redraws: vec![redraw(1, 1, 1)],
            traces: vec![trace(&[8, 16])],
        };
        let letter = |event: &Event| match event.change {
            Change::Outage {} => 'e',
            Change::Delay { .. } => 'r',
            _ => 't',
        };
        let order: String = first(8, &timeline).iter().map(letter).collect();
        assert_eq!(order, "erttertt");
    }

    #[test]
    fn nothing_is_taken_before_it_is_due() {
        let timeline = job::Timeline { redraws: vec![redraw(1, 1, 1)], ..job::Timeline::default() };
        let mut schedule = Schedule::new(&timeline);
        assert!(schedule.pop_due(0).is_some());
        assert_eq!(schedule.next_ns(), Some(100 * MS));
        assert!(schedule.pop_due(100 * MS - 1).is_none());
        assert!(schedule.pop_due(100 * MS).is_some());
        assert_eq!(Schedule::new(&job::Timeline::default()).next_ns(), None);
    }
}
