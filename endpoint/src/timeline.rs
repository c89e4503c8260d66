//! What happens to the paths while a run goes on, at exact times.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::job::{Change, Event, Heading, Job, Path};
use crate::netem;
use crate::network::Network;
use crate::topology::{Namespace, bottleneck};

/// The events still to come.
///
/// Its descriptor is readable when one is due. A timer and not a time-out of `ppoll(2)`, which the kernel lets be late
/// by a thousandth (`select_estimate_accuracy`): milliseconds, in an idle guest.
pub struct Timeline<'a> {
    paths: &'a [Path],
    upcoming: &'a [Event],
    epoch_ns: u64,
    timer: TimerFd,
}

impl<'a> Timeline<'a> {
    /// A job's, its times counted from `epoch_ns` of `CLOCK_MONOTONIC`.
    pub fn start(job: &'a Job, epoch_ns: u64) -> Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).context("make a timer (timerfd_create)")?;
        let timeline = Self { paths: &job.paths, upcoming: &job.timeline.events, epoch_ns, timer };
        timeline.arm()?;
        Ok(timeline)
    }

    /// Carries out the next event if it is due, and gives it.
    pub fn advance(&mut self, elapsed_ns: u64, network: &mut Network) -> Result<Option<Event>> {
        let Some((event, later)) = self.upcoming.split_first().filter(|(event, _)| event.at_ns <= elapsed_ns) else {
            return Ok(None);
        };
        carry_out(event, self.paths, network).with_context(|| format!("carry out {event:?}"))?;
        self.upcoming = later;
        self.arm()?;
        Ok(Some(event.clone()))
    }

    /// For the next event, if any is left.
    fn arm(&self) -> Result<()> {
        match self.upcoming.first() {
            Some(event) => {
                let at = TimeSpec::from(Duration::from_nanos(self.epoch_ns.saturating_add(event.at_ns)));
                self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            }
            None => self.timer.unset(),
        }
        .context("set a timer (timerfd_settime)")
    }
}

impl AsFd for Timeline<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

fn carry_out(event: &Event, paths: &[Path], network: &mut Network) -> Result<()> {
    let index = u8::try_from(event.path).context("there are fewer paths")?;
    let path = paths.get(usize::from(index)).context("there is no such path")?;
    let options = match event.change {
        Change::Outage {} => netem::outage,
        Change::Restore {} => netem::restore,
        Change::Delay { .. } | Change::Rate { .. } | Change::Attach {} | Change::Detach {} => {
            bail!("this endpoint cannot do that yet")
        }
    };
    let changes = [(Heading::Down, &path.down), (Heading::Up, &path.up)]
        .map(|(heading, direction)| (bottleneck(index, heading), options(direction)));
    network.change_netems(Namespace::Router(index), &changes)
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;
    use crate::clock::Moment;

    fn is_due(timeline: &Timeline<'_>, patience: PollTimeout) -> bool {
        poll(&mut [PollFd::new(timeline.as_fd(), PollFlags::POLLIN)], patience).unwrap() == 1
    }

    #[test]
    fn it_is_readable_when_an_event_is_due() {
        let text = include_str!("../../tests/golden/job-bulk-sctp-multihomed.json");
        let mut job: Job = serde_json::from_str(text).expect("the golden job is a job");
        job.timeline.events[0].at_ns = 1_000_000_000_000;
        let now_ns = Moment::now().since(0);
        assert!(!is_due(&Timeline::start(&job, now_ns).unwrap(), PollTimeout::ZERO));
        job.timeline.events[0].at_ns = 1_000_000;
        assert!(is_due(&Timeline::start(&job, now_ns).unwrap(), PollTimeout::NONE));
        assert!(Moment::now().since(now_ns) >= 1_000_000);
        job.timeline.events.clear();
        assert!(!is_due(&Timeline::start(&job, now_ns).unwrap(), PollTimeout::ZERO));
    }
}
