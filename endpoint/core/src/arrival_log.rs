//! A log of when content arrived during a run, for goodput over time and the longest gap in arrivals after each
//! handover. Pure.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use netwarp_wire::arrived::Arrived;
use netwarp_wire::job::{Change, Event, Job, Path};
use netwarp_wire::record::{HandoverRecord, Record};

/// An arrival log that all receivers of one end share.
pub type SharedArrivalLog = Arc<Mutex<ArrivalLog>>;

/// The arrivals at one end of a run. All times are in nanoseconds since the run's epoch.
#[derive(Debug)]
pub struct ArrivalLog {
    arrived: Arrived,
    last_arrival_ns: Option<u64>,
    handovers: Vec<Handover>,
}

/// A handover of the client, and the longest gap in arrivals before the next handover.
#[derive(Debug)]
struct Handover {
    at_ns: u64,
    path: u32,
    span: Span,
    longest: Option<Gap>,
}

/// The interval in which a gap in arrivals must begin to be attributed to a handover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The start of the interval, in nanoseconds since the run's epoch. A gap that begins earlier has another cause,
    /// such as a burst of losses.
    pub from_ns: u64,
    /// The end of the interval, in nanoseconds since the run's epoch: by then everything sent over the old path has
    /// arrived.
    pub until_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Gap {
    start_ns: u64,
    length_ns: u64,
}

impl Default for ArrivalLog {
    fn default() -> Self {
        Self { arrived: Arrived::nothing(), last_arrival_ns: None, handovers: Vec::new() }
    }
}

impl ArrivalLog {
    /// Records `bytes` of new content, the last of which arrived at `at_ns`. Calls must be in order of time.
    ///
    /// # Arguments
    /// * `awaited` - whether the receiver was ready for data since the last arrival; if not, the time since then is not
    ///   counted as a gap.
    pub fn record_arrival(&mut self, at_ns: u64, bytes: u64, awaited: bool) {
        let last_ns = self.last_arrival_ns.filter(|_| awaited);
        self.arrived.count(at_ns, bytes);
        self.last_arrival_ns = Some(at_ns);
        if let (Some(last_ns), Some(handover)) = (last_ns, self.handovers.last_mut()) {
            let start_ns = last_ns.max(handover.span.from_ns);
            let length_ns = at_ns.saturating_sub(start_ns);
            let counts = start_ns <= handover.span.until_ns;
            if counts && handover.longest.is_none_or(|longest| length_ns > longest.length_ns) {
                handover.longest = Some(Gap { start_ns, length_ns });
            }
        }
    }

    /// Returns the length of the intervals for which goodput is recorded.
    pub fn step(&self) -> Duration {
        Duration::from_nanos(self.arrived.step_ns())
    }

    /// Records a handover: at `at_ns` the client was notified of its address on `path`. [`Span::of`] computes the span.
    pub fn record_handover(&mut self, at_ns: u64, path: u32, span: Span) {
        self.handovers.push(Handover { at_ns, path, span, longest: None });
    }

    /// Returns the log's records: one for each handover, and one of goodput if anything arrived.
    pub fn records(&self) -> Vec<Record> {
        let handovers = self.handovers.iter().map(|handover| {
            Record::Handover(HandoverRecord {
                at_ns: handover.at_ns,
                path: handover.path,
                longest_gap_ns: handover.longest.map(|gap| gap.length_ns),
                longest_gap_at_ns: handover.longest.map(|gap| gap.start_ns),
            })
        });
        handovers.chain(self.arrived.record().map(Record::Goodput)).collect()
    }
}

impl Span {
    /// Returns the interval for a handover of which the client was notified at `told_ns`.
    pub fn of(job: &Job, path: u32, told_ns: u64) -> Self {
        Self { from_ns: from_ns(job, path, told_ns), until_ns: until_ns(job, path, told_ns) }
    }
}

/// Returns the start of the interval: when the client was notified of this path or, if it had no other path by then,
/// when it lost the last one.
fn from_ns(job: &Job, path: u32, told_ns: u64) -> u64 {
    let mut attached: Vec<bool> = job.paths.iter().map(|path| path.attached).collect();
    let mut lost_ns = told_ns;
    for event in job.timeline.events.iter().take_while(|event| event.at_ns <= told_ns) {
        match event.change {
            Change::Attach {} => attached[event.path as usize] = true,
            Change::Detach {} => (attached[event.path as usize], lost_ns) = (false, event.at_ns),
            _ => {}
        }
    }
    attached[path as usize] = false;
    if attached.contains(&true) { told_ns } else { lost_ns }
}

/// Returns the end of the interval: one RTT (the longest of the job's paths) after the client was notified of this path
/// or, if it lost the old path later, after that loss.
fn until_ns(job: &Job, path: u32, told_ns: u64) -> u64 {
    let elsewhere = |event: &&Event| event.path != path;
    let mut later = job.timeline.events.iter().filter(elsewhere).skip_while(|event| event.at_ns < told_ns);
    // If the client has attached to the other path again by then, that was another handover.
    let end = later.find(|event| matches!(event.change, Change::Detach {} | Change::Attach {}));
    let lost_ns = end.filter(|end| end.change == Change::Detach {}).map_or(told_ns, |end| end.at_ns);
    let rtt_ns = |path: &Path| path.down.delay_ns + path.up.delay_ns;
    lost_ns + job.paths.iter().map(rtt_ns).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    const MS: u64 = 1_000_000;

    fn span(from_ms: u64, until_ms: u64) -> Span {
        Span { from_ns: from_ms * MS, until_ns: until_ms * MS }
    }

    fn handover(at_ms: u64, path: u32, gap_ms: Option<(u64, u64)>) -> Record {
        Record::Handover(HandoverRecord {
            at_ns: at_ms * MS,
            path,
            longest_gap_ns: gap_ms.map(|(_, length_ms)| length_ms * MS),
            longest_gap_at_ns: gap_ms.map(|(start_ms, _)| start_ms * MS),
        })
    }

    #[test]
    fn a_gap_belongs_to_the_last_handover_before_its_end() {
        let mut arrival_log = ArrivalLog::default();
        arrival_log.record_handover(5 * MS, 1, span(5, 10));
        [10, 70].into_iter().for_each(|ms| arrival_log.record_arrival(ms * MS, 1, true));
        arrival_log.record_handover(80 * MS, 0, span(65, 85));
        arrival_log.record_handover(90 * MS, 1, span(70, 105));
        // 30 ms, 5 ms, and 30 ms again: of equal ones the first counts.
        [100, 105, 135].into_iter().for_each(|ms| arrival_log.record_arrival(ms * MS, 1, true));
        let expected = [handover(5, 1, Some((10, 60))), handover(80, 0, None), handover(90, 1, Some((70, 30)))];
        assert_eq!(arrival_log.records()[..3], expected);
    }

    #[test]
    fn what_came_without_a_pause_is_no_gap() {
        let mut arrival_log = ArrivalLog::default();
        arrival_log.record_handover(0, 1, span(0, 100));
        arrival_log.record_arrival(10 * MS, 1, true);
        arrival_log.record_arrival(30 * MS, 5, false);
        arrival_log.record_arrival(33 * MS, 1, true);
        assert_eq!(arrival_log.records()[0], handover(0, 1, Some((30, 3))));
    }

    #[test]
    fn a_gap_that_begins_when_the_handover_is_over_does_not_count() {
        let mut arrival_log = ArrivalLog::default();
        arrival_log.record_arrival(5 * MS, 1, true);
        arrival_log.record_handover(10 * MS, 1, span(10, 20));
        [12, 22, 42].into_iter().for_each(|ms| arrival_log.record_arrival(ms * MS, 1, true));
        assert_eq!(arrival_log.records()[0], handover(10, 1, Some((12, 10))));
    }

    #[test]
    fn what_was_missing_before_the_handover_does_not_count() {
        let mut arrival_log = ArrivalLog::default();
        arrival_log.record_arrival(5 * MS, 1, true);
        arrival_log.record_handover(40 * MS, 1, span(30, 50));
        [60, 75].into_iter().for_each(|ms| arrival_log.record_arrival(ms * MS, 1, true));
        assert_eq!(arrival_log.records()[0], handover(40, 1, Some((30, 30))));
    }

    #[test]
    fn a_handover_begins_when_no_path_is_left_and_is_over_when_the_one_before_has_run_dry() {
        let mut job = golden::job("stream-handovers");
        assert_eq!(Span::of(&job, 1, 5000 * MS), span(5000, 5300), "overlap of 200 ms, round trip of 100 ms");
        job.timeline.events.swap(0, 1);
        job.timeline.events[0].at_ns = 5000 * MS;
        assert_eq!(Span::of(&job, 1, 5200 * MS), span(5000, 5300), "without a path for 200 ms");
        let back = Event { at_ns: 6000 * MS, path: 0, change: Change::Attach {} };
        job.timeline.events.insert(2, back);
        assert_eq!(Span::of(&job, 1, 5200 * MS), span(5000, 5300), "handed over again");
        assert_eq!(Span::of(&job, 0, 6000 * MS).from_ns, 6000 * MS, "the other one is there");
    }
}
