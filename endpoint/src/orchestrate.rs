//! One run from job to records: build the path, start both roles, relay between them, count, probe, compare.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::calibration::{self, Capacities};
use crate::capture::Capture;
use crate::clock;
use crate::control::{Message, Order};
use crate::job::{Change, FORMAT, Job};
use crate::journal::Journal;
use crate::network::Network;
use crate::probe;
use crate::record::{ClockKind, EventRecord, Failure, Record, Side, StartRecord};
use crate::role_process::{Event, RoleProcess, name};
use crate::timeline::Timeline;
use crate::topology::{self, Namespace, Step};
use crate::workload::{self, Workload};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Carries out `job`, which both roles read from `job_file`. Everything but the last record goes to `journal`.
pub fn run(job: &Job, job_file: &Path, clock: ClockKind, journal: &mut Journal) -> Result<(), Failure> {
    journal.write(&start_record(job, clock).stage("setup")?).stage("setup")?;
    let mut network = Network::build(&steps(job, clock)).stage("setup")?;
    let server = spawn(Side::Server, &network, job_file, clock).stage("setup")?;
    let client = spawn(Side::Client, &network, job_file, clock).stage("setup")?;
    let capture = start_capture(&network, job, job_file).stage("setup")?;
    if clock == ClockKind::Virtual {
        clock::await_tick();
    }
    let epoch_ns = journal.start_clock();
    let workload = workload::of(&job.workload);
    let mut relay = Relay {
        server,
        client,
        network: &mut network,
        timeline: Timeline::start(job, epoch_ns).stage("setup")?,
        epoch_ns,
        limit_ns: job.limits.virtual_ns,
        clock_name: if clock == ClockKind::Virtual { "virtual" } else { "real" },
        capacities: Capacities::new(job),
        workload,
        progress: Progress::default(),
        client_began: false,
        moved_to: None,
        finished: Vec::new(),
        delivered: Vec::new(),
        journal,
    };
    relay.run()?;
    let (delivered, capacities) = (relay.delivered, relay.capacities);
    let paths: Vec<_> = relay.timeline.paths().cloned().collect();
    let calibration = calibration::measure(&mut network, job, epoch_ns).stage("teardown")?;
    for record in &calibration {
        journal.write(&Record::Calibration(record.clone())).stage("teardown")?;
    }
    if let Some(capture) = capture {
        capture.finish().stage("teardown")?;
    }
    for record in probe::probe(&mut network, job, &paths, clock).stage("teardown")? {
        journal.write(&record).stage("teardown")?;
    }
    let excess = capacities.excess(&calibration);
    match excess.map_or_else(|| workload.difference(job, &delivered), |excess| Ok(Some(excess))).stage("verify")? {
        Some(message) => Err(Failure { stage: "verify".to_owned(), message }),
        None => Ok(()),
    }
}

/// In virtual time an idle netem costs nothing; in real time it would, and a host may have none.
fn steps(job: &Job, clock: ClockKind) -> Vec<Step> {
    let steps = topology::steps(job);
    // A timeline changes the netem that is there.
    if clock == ClockKind::Real && job.timeline.is_empty() { topology::without_idle_netem(steps) } else { steps }
}

fn start_record(job: &Job, clock: ClockKind) -> Result<Record> {
    let kernel = nix::sys::utsname::uname().context("ask for the kernel's version (uname)")?;
    Ok(Record::Start(StartRecord {
        format: FORMAT,
        run: job.run.clone(),
        endpoint: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy()),
        clock,
    }))
}

fn start_capture(network: &Network, job: &Job, job_file: &Path) -> Result<Option<Capture>> {
    let directory = job_file.parent().context("the job file lies in no directory")?;
    job.capture.then(|| Capture::start(network, job, directory)).transpose().context("capture packets")
}

fn spawn(side: Side, network: &Network, job_file: &Path, clock: ClockKind) -> Result<RoleProcess> {
    let namespace = match side {
        Side::Client => Namespace::Client,
        Side::Server => Namespace::Server,
    };
    network.within(namespace, || {
        RoleProcess::spawn(side, job_file, topology::server_address(0), clock == ClockKind::Virtual)
    })
}

/// The conversation with both roles.
struct Relay<'a> {
    server: RoleProcess,
    client: RoleProcess,
    network: &'a mut Network,
    timeline: Timeline<'a>,
    epoch_ns: u64,
    limit_ns: u64,
    clock_name: &'static str,
    capacities: Capacities,
    workload: &'a dyn Workload,
    progress: Progress,
    client_began: bool,
    /// The path the client attached to last, until it has been told.
    moved_to: Option<u32>,
    /// Roles that said they did all they were asked.
    finished: Vec<Side>,
    /// What is to be verified.
    delivered: Vec<Record>,
    journal: &'a mut Journal,
}

impl Relay<'_> {
    /// Until both roles are done. A failure drops, and so kills, whichever still runs.
    fn run(&mut self) -> Result<(), Failure> {
        let begin = Order::Begin { epoch_ns: self.epoch_ns, certificate: None };
        self.server.order(&begin).stage("setup")?;
        while self.server.is_running() || self.client.is_running() {
            let elapsed_ns = self.journal.elapsed_ns();
            if elapsed_ns >= self.limit_ns {
                let limit_s = Duration::from_nanos(self.limit_ns).as_secs_f64();
                let message = format!("the transfer was not over after {limit_s} {} seconds", self.clock_name);
                return Err(Failure { stage: "limit".to_owned(), message });
            }
            self.progress.report(elapsed_ns);
            if let Some(event) = self.timeline.advance(elapsed_ns, self.network).stage("teardown")? {
                let (change, path) = (event.change.clone(), event.path);
                let at_ns = self.journal.elapsed_ns();
                self.capacities.apply(&event, elapsed_ns, at_ns);
                let record = Record::Event(EventRecord { at_ns, event });
                self.journal.write(&record).stage("teardown")?;
                match change {
                    Change::Attach {} => {
                        self.moved_to = Some(path);
                        self.notify_client_moved()
                    }
                    Change::Detach {} => self.notify_detached(path),
                    _ => Ok(()),
                }
                .stage("client")?;
                continue;
            }
            let until_ns = self.progress.next_ns().min(self.limit_ns);
            // The server first: when both fail at once, it is more likely the cause.
            for side in self.wait(Duration::from_nanos(until_ns - elapsed_ns)).stage("teardown")? {
                for event in self.role(side).receive().stage(name(side))? {
                    self.handle(side, event)?;
                }
            }
        }
        Ok(())
    }

    /// The roles that have something to say, within `at_most` and before the timeline's next event.
    fn wait(&self, at_most: Duration) -> Result<Vec<Side>> {
        let running: Vec<&RoleProcess> =
            [&self.server, &self.client].into_iter().filter(|role| role.is_running()).collect();
        let mut polled: Vec<PollFd<'_>> =
            running.iter().map(|role| PollFd::new(role.as_fd(), PollFlags::POLLIN)).collect();
        polled.push(PollFd::new(self.timeline.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut polled, Some(TimeSpec::from(at_most)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno).context("wait for the roles (ppoll)"),
        }
        let ready = running.iter().zip(&polled).filter(|(_, poll)| poll.any() == Some(true));
        Ok(ready.map(|(role, _)| role.side).collect())
    }

    fn handle(&mut self, side: Side, event: Event) -> Result<(), Failure> {
        match event {
            Event::Said(Message::Ready { certificate }) => {
                let begin = Order::Begin { epoch_ns: self.epoch_ns, certificate };
                self.client.order(&begin).stage("client")?;
                self.client_began = true;
                self.notify_client_moved().stage("client")
            }
            Event::Said(Message::Write { line }) => {
                self.journal.write(&line).stage("teardown")?;
                if self.workload.is_delivery(&line) {
                    self.delivered.push(line);
                }
                Ok(())
            }
            Event::Said(Message::Done) => {
                self.finished.push(side);
                if side == Side::Client { self.server.order(&Order::Finish).stage("server") } else { Ok(()) }
            }
            Event::Said(Message::Failed { failure }) => Err(failure),
            Event::Gone(None) if self.finished.contains(&side) => Ok(()),
            Event::Gone(how) => {
                let how = how.unwrap_or_else(|| "exited without a word".to_owned());
                Err(Failure { stage: name(side).to_owned(), message: format!("the {} {how}", name(side)) })
            }
        }
    }

    /// Tells the client of its newest path, unless it knows or has not begun yet.
    fn notify_client_moved(&mut self) -> Result<()> {
        match self.moved_to.take_if(|_| self.client_began) {
            Some(path) if self.client.is_running() => self.client.order(&Order::Moved { path }),
            _ => Ok(()),
        }
    }

    /// Tells the client of a path that it has left. One that has not begun has nothing there.
    fn notify_detached(&mut self, path: u32) -> Result<()> {
        let is_there = self.client_began && self.client.is_running();
        if is_there { self.client.order(&Order::Left { path }) } else { Ok(()) }
    }

    fn role(&mut self, side: Side) -> &mut RoleProcess {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// Lines on standard output by which the host sees that the run's time goes on.
#[derive(Debug, Default)]
struct Progress {
    reported_s: u64,
}

impl Progress {
    /// Every second of the first minute, then every tenth.
    fn next_ns(&self) -> u64 {
        let next_s = if self.reported_s < 60 { self.reported_s + 1 } else { self.reported_s / 10 * 10 + 10 };
        next_s * NANOSECONDS_PER_SECOND
    }

    /// Prints a line if one is due. That nobody listens is no failure.
    fn report(&mut self, elapsed_ns: u64) {
        if elapsed_ns >= self.next_ns() {
            self.reported_s = elapsed_ns / NANOSECONDS_PER_SECOND;
            let _ = writeln!(std::io::stdout(), "netwarp-progress {}", self.reported_s);
        }
    }
}

/// Turns an error into the [`Failure`] of a stage.
pub trait Stage<T> {
    /// Names the stage.
    fn stage(self, stage: &str) -> Result<T, Failure>;
}

impl<T> Stage<T> for Result<T> {
    fn stage(self, stage: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure { stage: stage.to_owned(), message: format!("{error:#}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_comes_each_second_then_each_tenth() {
        let mut progress = Progress::default();
        assert_eq!(progress.next_ns(), NANOSECONDS_PER_SECOND);
        progress.report(59_500_000_000);
        assert_eq!(progress.next_ns(), 60_000_000_000);
        progress.report(60_000_000_000);
        assert_eq!(progress.next_ns(), 70_000_000_000);
        progress.report(83_000_000_000);
        assert_eq!(progress.next_ns(), 90_000_000_000);
    }
}
