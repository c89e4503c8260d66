//! Changes the paths during a run, at exact times.

mod draw;
pub mod link_delay;
mod schedule;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context, Result};
use netwarp_wire::job::{Change, Direction, Event, Job, Path};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use self::schedule::Schedule;
use crate::netem;
use crate::netlink::message::Attributes;
use crate::network::Network;
use crate::topology::{self, Device, Shaper, Topology};

/// The changes of a run's paths that are still to come.
///
/// Its file descriptor is readable when a change is due. It is a timer's, because the kernel may delay the time-out of
/// `ppoll(2)` by a thousandth of its length (`select_estimate_accuracy`): by milliseconds, in an idle guest.
pub struct Timeline<'a> {
    job: &'a Job,
    topology: &'a Topology<'a>,
    conditions: Vec<Condition>,
    schedule: Schedule<'a>,
    epoch_ns: u64,
    timer: TimerFd,
}

impl<'a> Timeline<'a> {
    /// Starts the timeline of a job. `epoch_ns`: the run's epoch, in nanoseconds of `CLOCK_MONOTONIC`.
    pub fn start(job: &'a Job, topology: &'a Topology<'a>, epoch_ns: u64) -> Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).context("make a timer (timerfd_create)")?;
        let conditions = job.paths.iter().cloned().map(Condition::new).collect();
        let schedule = Schedule::new(&job.timeline);
        let timeline = Self { job, topology, conditions, schedule, epoch_ns, timer };
        timeline.arm()?;
        Ok(timeline)
    }

    /// Carries out the next change if it is due at `elapsed_ns` after the run's epoch, and returns it.
    pub fn advance(&mut self, elapsed_ns: u64, network: &mut Network) -> Result<Option<Event>> {
        let Some(event) = self.schedule.pop_due(elapsed_ns) else { return Ok(None) };
        self.apply(&event, network).with_context(|| format!("apply {event:?}"))?;
        self.arm()?;
        Ok(Some(event))
    }

    /// Returns the job's paths with the properties that they have after the changes so far.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.conditions.iter().map(|condition| &condition.path)
    }

    fn apply(&mut self, event: &Event, network: &mut Network) -> Result<()> {
        let index = u16::try_from(event.path).context("there are fewer paths")?;
        let condition = self.conditions.get_mut(usize::from(index)).context("there is no such path")?;
        condition.apply(&event.change);
        match event.change {
            Change::Rate { direction, .. } => {
                let mut shaper = condition.shaper(direction).context("the direction has no shaper")?;
                if let Some(rate_bit_s) = self.schedule.sending_rate_bit_s(event, shaper.frame_bytes) {
                    shaper.rate_bit_s = rate_bit_s;
                }
                let bottleneck = self.topology.crossing(index, direction).bottleneck;
                return network.change_shaper(bottleneck.context("a host sends in that direction")?, &shaper);
            }
            Change::Detach {} => network.change(&self.topology.detach(index, self.job))?,
            _ => {}
        }
        network.change_netems(&condition.netems(self.topology.bottlenecks(index)))?;
        if let Change::Attach {} = event.change {
            network.change(&self.topology.attach(index, self.job))?;
        }
        Ok(())
    }

    /// Sets the timer to the next change, if any is left.
    fn arm(&self) -> Result<()> {
        match self.schedule.next_ns() {
            Some(due_ns) => {
                let at = TimeSpec::from(Duration::from_nanos(self.epoch_ns.saturating_add(due_ns)));
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

/// The current state of a path.
#[derive(Debug, Clone)]
struct Condition {
    /// The job's path, with its current delays and rates.
    path: Path,
    /// Whether an outage drops all packets.
    is_out: bool,
    /// Whether all packets are dropped because the client has detached from the path. A path to which the client was
    /// never attached drops none.
    is_left: bool,
}

impl Condition {
    fn new(path: Path) -> Self {
        Self { path, is_out: false, is_left: false }
    }

    fn apply(&mut self, change: &Change) {
        match *change {
            Change::Outage {} => self.is_out = true,
            Change::Restore {} => self.is_out = false,
            Change::Delay { down_ns, up_ns } => (self.path.down.delay_ns, self.path.up.delay_ns) = (down_ns, up_ns),
            Change::Attach {} => (self.path.attached, self.is_left) = (true, false),
            Change::Detach {} => (self.path.attached, self.is_left) = (false, true),
            Change::Rate { direction: Direction::Down, rate_bit_s } => self.path.down.rate_bit_s = Some(rate_bit_s),
            Change::Rate { direction: Direction::Up, rate_bit_s } => self.path.up.rate_bit_s = Some(rate_bit_s),
        }
    }

    fn shaper(&self, direction: Direction) -> Option<Shaper> {
        topology::shaper(self.path.toward(direction), self.path.mtu_bytes)
    }

    /// Returns the netem options for the path's current state, for each of the devices (down and up) that has a netem.
    fn netems(&self, devices: [Option<Device>; 2]) -> Vec<(Device, Attributes)> {
        let options = if self.is_out || self.is_left { netem::outage } else { netem::restore };
        let both = devices.into_iter().zip([&self.path.down, &self.path.up]);
        both.filter_map(|(device, impairments)| Some((device?, options(impairments)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use netwarp_core::clock::Moment;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use netwarp_wire::golden;

    use super::*;
    use crate::topology::CLIENT;

    /// Returns the options that both netems of a path get after these changes.
    fn netems_after(changes: &[Change]) -> Vec<Attributes> {
        let mut condition = Condition::new(golden::job("bulk-quic").paths.remove(0));
        for change in changes {
            condition.apply(change);
        }
        condition.netems([Some(Device::of(CLIENT, 0)); 2]).into_iter().map(|(_, options)| options).collect()
    }

    #[test]
    fn an_end_brings_back_what_the_path_is_like_by_then() {
        let (down_ns, up_ns) = (7_000_000, 9_000_000);
        let delay = Change::Delay { down_ns, up_ns };
        let mut path = golden::job("bulk-quic").paths.remove(0);
        (path.down.delay_ns, path.up.delay_ns) = (down_ns, up_ns);
        let restored = [&path.down, &path.up].map(netem::restore);
        let lost = [&path.down, &path.up].map(netem::outage);
        let (outage, restore) = (Change::Outage {}, Change::Restore {});
        let (attach, detach) = (Change::Attach {}, Change::Detach {});
        assert_eq!(netems_after(std::slice::from_ref(&delay)), restored);
        assert_eq!(netems_after(&[outage.clone(), delay.clone()]), lost, "a new delay ends no outage");
        assert_eq!(netems_after(&[outage.clone(), delay.clone(), restore.clone()]), restored);
        assert_eq!(netems_after(&[detach.clone(), delay.clone()]), lost);
        assert_eq!(netems_after(&[detach.clone(), delay.clone(), attach.clone()]), restored);
        assert_eq!(netems_after(&[delay.clone(), outage, detach, attach]), lost, "coming back ends no outage");
        assert_eq!(netems_after(&[delay, Change::Detach {}, Change::Outage {}, restore]), lost, "nor this an absence");
    }

    fn is_due(job: &Job, epoch_ns: u64, patience: PollTimeout) -> bool {
        let topology = Topology::of(job);
        let timeline = Timeline::start(job, &topology, epoch_ns).unwrap();
        poll(&mut [PollFd::new(timeline.as_fd(), PollFlags::POLLIN)], patience).unwrap() == 1
    }

    #[test]
    fn it_is_readable_when_an_event_is_due() {
        let mut job = golden::job("bulk-sctp-multihomed");
        job.timeline.events[0].at_ns = 1_000_000_000_000;
        let now_ns = Moment::now().since(0);
        assert!(!is_due(&job, now_ns, PollTimeout::ZERO));
        job.timeline.events[0].at_ns = 1_000_000;
        assert!(is_due(&job, now_ns, PollTimeout::NONE));
        assert!(Moment::now().since(now_ns) >= 1_000_000);
        job.timeline.events.clear();
        assert!(!is_due(&job, now_ns, PollTimeout::ZERO));
    }
}
