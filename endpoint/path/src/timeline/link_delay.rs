//! The delay of the path that a client is attached to, at any time of a run. Pure.
//!
//! It is not measured, but follows from the job, as if the network told it to both ends.

use netwarp_wire::job::{Change, Job};

use super::schedule::Schedule;

/// Computes the delay of the client's current path at any time of a run.
#[derive(Debug)]
pub struct LinkDelay<'a> {
    /// The round-trip delay of each path, in nanoseconds.
    paths_ns: Vec<u64>,
    /// The index of the path to which the client attached last.
    attached: usize,
    schedule: Schedule<'a>,
}

impl<'a> LinkDelay<'a> {
    /// Starts at the run's epoch, with the paths of a valid job.
    pub fn new(job: &'a Job) -> Self {
        Self {
            paths_ns: job.paths.iter().map(|path| path.down.delay_ns + path.up.delay_ns).collect(),
            attached: job.paths.iter().position(|path| path.attached).unwrap_or(0),
            schedule: Schedule::new(&job.timeline),
        }
    }

    /// Returns the round-trip delay in nanoseconds at `elapsed_ns` after the run's epoch, after changes at that time.
    /// `elapsed_ns` must not decrease from call to call.
    pub fn at(&mut self, elapsed_ns: u64) -> u64 {
        while let Some(event) = self.schedule.pop_due(elapsed_ns) {
            let path = event.path as usize;
            match event.change {
                Change::Delay { down_ns, up_ns } => self.paths_ns[path] = down_ns + up_ns,
                Change::Attach {} => self.attached = path,
                Change::Outage {} | Change::Restore {} | Change::Rate { .. } | Change::Detach {} => {}
            }
        }
        self.paths_ns[self.attached]
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::{Event, Redraw, Timeline};

    use super::*;

    const MS: u64 = 1_000_000;

    fn job(delays_ms: &[(u64, u64)], timeline: Timeline) -> Job {
        let mut job = golden::job("stream-handovers");
        let path = job.paths[0].clone();
        job.paths = vec![path; delays_ms.len()];
        for (index, (path, (down_ms, up_ms))) in job.paths.iter_mut().zip(delays_ms).enumerate() {
            (path.down.delay_ns, path.up.delay_ns, path.attached) = (down_ms * MS, up_ms * MS, index == 0);
        }
        job.timeline = timeline;
        job
    }

    fn event(at_ms: u64, path: u32, change: Change) -> Event {
        Event { at_ns: at_ms * MS, path, change }
    }

    #[test]
    fn it_is_the_sum_of_both_directions_until_it_changes() {
        let change = Change::Delay { down_ns: 70 * MS, up_ns: 80 * MS };
        let job = job(&[(20, 30)], Timeline { events: vec![event(1000, 0, change)], ..Timeline::default() });
        let mut delay = LinkDelay::new(&job);
        assert_eq!([0, 999, 1000, 5000].map(|at_ms| delay.at(at_ms * MS)), [50, 50, 150, 150].map(|ms| ms * MS));
    }

    #[test]
    fn it_is_that_of_the_path_to_which_the_client_attached_last() {
        let away = Change::Delay { down_ns: 0, up_ns: 7 * MS };
        let events = vec![
            event(500, 1, away),
            event(1000, 0, Change::Detach {}),
            event(2000, 1, Change::Attach {}),
            event(3000, 0, Change::Attach {}),
        ];
        let job = job(&[(20, 30), (1, 1)], Timeline { events, ..Timeline::default() });
        let mut delay = LinkDelay::new(&job);
        assert_eq!([0, 600, 1500, 2000, 3000].map(|at_ms| delay.at(at_ms * MS)), [50, 50, 50, 7, 50].map(|ms| ms * MS));
    }

    #[test]
    fn it_is_what_the_network_draws() {
        let redraw = Redraw { path: 0, period_ns: 1000 * MS, mean_ns: 100 * MS, deviation_ns: 20 * MS, seed: 3 };
        let job = job(&[(0, 0)], Timeline { redraws: vec![redraw], ..Timeline::default() });
        let (mut delay, mut schedule) = (LinkDelay::new(&job), Schedule::new(&job.timeline));
        let mut seen = Vec::new();
        for second in 0..20 {
            let Some(Event { change: Change::Delay { down_ns, up_ns }, .. }) = schedule.pop_due(second * 1000 * MS)
            else {
                panic!("a draw every second")
            };
            assert_eq!(delay.at(second * 1000 * MS), down_ns + up_ns);
            assert_eq!(delay.at(second * 1000 * MS + 999 * MS), down_ns + up_ns);
            seen.push(down_ns);
        }
        seen.dedup();
        assert!(seen.len() > 10, "{seen:?}");
    }
}
