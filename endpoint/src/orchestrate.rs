//! One run from job to records: build the path, start both roles, relay between them, count, probe, compare.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::calibration::{self, Capacities};
use crate::capture::{Capture, KeyLog};
use crate::check;
use crate::clock;
use crate::control::{Message, Order};
use crate::flow::Watcher;
use crate::host::{Event, Host, Role};
use crate::job::{Change, Event as TimelineEvent, FORMAT, Job};
use crate::probe;
use crate::record::{ClockKind, EventRecord, Failure, Record, Side, StartRecord};
use crate::record_writer::RecordWriter;
use crate::role_process::name;
use crate::sampling::Sampler;
use crate::timeline::Timeline;
use crate::workload::{self, Workload};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Carries out `directory/job.json`, to the last record in `directory/records.jsonl`. Gives how the run failed, if it did.
///
/// # Errors
/// Records that cannot be written.
pub(crate) fn run_directory(directory: &Path, host: &mut dyn Host) -> Result<Option<Failure>> {
    let mut records = RecordWriter::open(directory)?;
    let failure = run_job(&directory.join("job.json"), host, &mut records).err();
    records.end(failure.clone())?;
    Ok(failure)
}

fn run_job(job_file: &Path, host: &mut dyn Host, records: &mut RecordWriter) -> Result<(), Failure> {
    let job = check::load(job_file).stage("setup")?;
    host.prepare(&job).stage("setup")?;
    let ran = run(&job, job_file, host, records);
    let finished = host.finish(&job).stage("teardown");
    ran.and(finished)
}

/// Carries out `job`, which both roles read from `job_file`. Everything but the last record goes to `records`.
fn run(job: &Job, job_file: &Path, host: &mut dyn Host, records: &mut RecordWriter) -> Result<(), Failure> {
    let clock = host.clock();
    records.write(&start_record(job, clock).stage("setup")?).stage("setup")?;
    host.build(job).stage("setup")?;
    require_network(job, host).stage("setup")?;
    let keys = job.capture.then(KeyLog::new).transpose().stage("setup")?;
    let server = host.spawn(Side::Server, job, job_file, keys.as_ref()).stage("setup")?;
    let client = host.spawn(Side::Client, job, job_file, keys.as_ref()).stage("setup")?;
    let capture = start_capture(host, job, keys, job_file).stage("setup")?;
    let watcher = start_watcher(host, job).stage("setup")?;
    if clock == ClockKind::Virtual {
        clock::await_tick();
    }
    let epoch_ns = records.start_clock();
    let workload = workload::of(&job.workload);
    let mut relay = Relay {
        server,
        client,
        host,
        timeline: Timeline::start(job, epoch_ns).stage("setup")?,
        epoch_ns,
        start_ns: job.start_ns,
        limit_ns: job.limits.virtual_ns,
        clock_name: if clock == ClockKind::Virtual { "virtual" } else { "real" },
        capacities: Capacities::new(job),
        workload,
        progress: Progress::default(),
        sampler: Sampler::new(job),
        client_begin: None,
        client_began: false,
        attached_to: None,
        finished: Vec::new(),
        delivered: Vec::new(),
        records,
    };
    relay.run()?;
    let Relay { delivered, sampler, capacities, timeline, host, records, server, client, .. } = relay;
    let mut excess = None;
    if let Some(network) = host.network() {
        let calibration = calibration::measure(network, job, epoch_ns).stage("teardown")?;
        for record in &calibration {
            records.write(&Record::Calibration(record.clone())).stage("teardown")?;
        }
        for record in sampler.into_iter().flat_map(Sampler::records) {
            records.write(&record).stage("teardown")?;
        }
        for record in calibration::disciplines(network, job).stage("teardown")? {
            records.write(&Record::Discipline(record)).stage("teardown")?;
        }
        if let Some(watcher) = watcher {
            records.write(&watcher.finish(epoch_ns).stage("teardown")?).stage("teardown")?;
        }
        if let Some(capture) = capture {
            capture.finish().stage("teardown")?;
        }
        let paths: Vec<_> = timeline.paths().cloned().collect();
        for record in probe::probe(network, job, &paths, clock).stage("teardown")? {
            records.write(&record).stage("teardown")?;
        }
        excess = capacities.excess(&calibration);
    }
    drop((server, client));
    match excess.map_or_else(|| workload.difference(job, &delivered), |excess| Ok(Some(excess))).stage("verify")? {
        Some(message) => Err(Failure { stage: "verify".to_owned(), message }),
        None => Ok(()),
    }
}

/// Refuses a timeline or a capture where the path is not the run's own.
fn require_network(job: &Job, host: &mut dyn Host) -> Result<()> {
    let needs_it = job.capture || !job.timeline.is_empty();
    ensure!(
        !needs_it || host.network().is_some(),
        "the path between these roles is not this run's to change: leave out the timeline and the capture"
    );
    Ok(())
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

fn start_capture(host: &mut dyn Host, job: &Job, keys: Option<KeyLog>, job_file: &Path) -> Result<Option<Capture>> {
    let (Some(network), Some(keys)) = (host.network(), keys) else { return Ok(None) };
    let directory = job_file.parent().context("the job file lies in no directory")?;
    Capture::start(network, job, keys, directory).map(Some).context("capture packets")
}

fn start_watcher(host: &mut dyn Host, job: &Job) -> Result<Option<Watcher>> {
    host.network().map_or(Ok(None), |network| Watcher::start(network, job).context("follow packets through the router"))
}

/// A run under way: relays between both roles, applies the timeline, and writes records.
struct Relay<'a> {
    server: Box<dyn Role>,
    client: Box<dyn Role>,
    host: &'a mut dyn Host,
    timeline: Timeline<'a>,
    epoch_ns: u64,
    /// When the client may begin, after the epoch.
    start_ns: u64,
    limit_ns: u64,
    clock_name: &'static str,
    capacities: Capacities,
    workload: &'a dyn Workload,
    progress: Progress,
    sampler: Option<Sampler>,
    /// The client's order to begin, from when the server is ready until the client may.
    client_begin: Option<Order>,
    client_began: bool,
    /// The path the client attached to last, until it has been told.
    attached_to: Option<u32>,
    /// Roles that have done all their work.
    finished: Vec<Side>,
    /// Records of what was delivered, to be verified at the end.
    delivered: Vec<Record>,
    records: &'a mut RecordWriter,
}

impl Relay<'_> {
    /// Relays until both roles are done. A failure drops, and so kills, whichever still runs.
    fn run(&mut self) -> Result<(), Failure> {
        let begin = self.begin(None);
        self.server.order(&begin).stage("setup")?;
        while self.server.is_running() || self.client.is_running() {
            let elapsed_ns = self.records.elapsed_ns();
            if elapsed_ns >= self.limit_ns {
                let limit_s = Duration::from_nanos(self.limit_ns).as_secs_f64();
                let message = format!("the transfer was not over after {limit_s} {} seconds", self.clock_name);
                return Err(Failure { stage: "limit".to_owned(), message });
            }
            self.progress.report(elapsed_ns);
            self.sample(elapsed_ns).stage("teardown")?;
            self.begin_client(elapsed_ns).stage("client")?;
            if let Some(event) = self.advance(elapsed_ns).stage("teardown")? {
                let (change, path) = (event.change.clone(), event.path);
                let at_ns = self.records.elapsed_ns();
                self.capacities.apply(&event, elapsed_ns, at_ns);
                let record = Record::Event(EventRecord { at_ns, event });
                self.records.write(&record).stage("teardown")?;
                match change {
                    Change::Attach {} => {
                        self.attached_to = Some(path);
                        self.notify_client_attached()
                    }
                    Change::Detach {} => self.notify_client_detached(path),
                    _ => Ok(()),
                }
                .stage("client")?;
                continue;
            }
            let start_ns = self.client_begin.as_ref().map_or(u64::MAX, |_| self.start_ns);
            let sample_ns = self.sampler.as_ref().map_or(u64::MAX, Sampler::next_ns);
            let until_ns = self.progress.next_ns().min(self.limit_ns).min(start_ns).min(sample_ns);
            // The server first: when both fail at once, it is more likely the cause.
            for side in self.wait(Duration::from_nanos(until_ns.saturating_sub(elapsed_ns))).stage("teardown")? {
                for event in self.role(side).receive().stage(name(side))? {
                    self.handle(side, event)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&self, certificate: Option<String>) -> Order {
        Order::Begin { epoch_ns: self.epoch_ns, certificate, token: self.host.token() }
    }

    /// Looks at queues and connections, if it is time. A path that is not this run's to look at has none.
    fn sample(&mut self, elapsed_ns: u64) -> Result<()> {
        match (&mut self.sampler, self.host.network()) {
            (Some(sampler), Some(network)) => sampler.take(elapsed_ns, network),
            (sampler, _) => {
                *sampler = None;
                Ok(())
            }
        }
    }

    /// Applies the timeline's next event, if it is due.
    fn advance(&mut self, elapsed_ns: u64) -> Result<Option<TimelineEvent>> {
        self.host.network().map_or(Ok(None), |network| self.timeline.advance(elapsed_ns, network))
    }

    /// The roles that have something to say, within `at_most` and before the timeline's next event.
    fn wait(&self, at_most: Duration) -> Result<Vec<Side>> {
        let roles = [(Side::Server, &self.server), (Side::Client, &self.client)];
        let running: Vec<_> = roles.into_iter().filter(|(_, role)| role.is_running()).collect();
        let mut polled: Vec<PollFd<'_>> =
            running.iter().map(|(_, role)| PollFd::new(role.as_fd(), PollFlags::POLLIN)).collect();
        polled.push(PollFd::new(self.timeline.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut polled, Some(TimeSpec::from(at_most)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno).context("wait for the roles (ppoll)"),
        }
        let ready = running.iter().zip(&polled).filter(|(_, poll)| poll.any() == Some(true));
        Ok(ready.map(|((side, _), _)| *side).collect())
    }

    fn handle(&mut self, side: Side, event: Event) -> Result<(), Failure> {
        match event {
            Event::Said(Message::Ready { certificate }) => {
                self.client_begin = Some(self.begin(certificate));
                if self.start_ns == 0 { self.begin_client(0).stage("client") } else { Ok(()) }
            }
            Event::Said(Message::Write { line }) => {
                self.records.write(&line).stage("teardown")?;
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

    /// Orders the client to begin, once the server is ready and the time has come.
    fn begin_client(&mut self, elapsed_ns: u64) -> Result<()> {
        match self.client_begin.take_if(|_| elapsed_ns >= self.start_ns) {
            Some(begin) => {
                self.client.order(&begin)?;
                self.client_began = true;
                self.notify_client_attached()
            }
            None => Ok(()),
        }
    }

    /// Tells the client of its newest path, unless it knows or has not begun yet.
    fn notify_client_attached(&mut self) -> Result<()> {
        match self.attached_to.take_if(|_| self.client_began) {
            Some(path) if self.client.is_running() => self.client.order(&Order::Attached { path }),
            _ => Ok(()),
        }
    }

    /// Tells the client that its address on this path is gone. One that has not begun has nothing there.
    fn notify_client_detached(&mut self, path: u32) -> Result<()> {
        let is_there = self.client_began && self.client.is_running();
        if is_there { self.client.order(&Order::Detached { path }) } else { Ok(()) }
    }

    fn role(&mut self, side: Side) -> &mut dyn Role {
        match side {
            Side::Client => &mut *self.client,
            Side::Server => &mut *self.server,
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

    /// Prints a line if one is due. A standard output that nobody reads is no failure.
    fn report(&mut self, elapsed_ns: u64) {
        if elapsed_ns >= self.next_ns() {
            self.reported_s = elapsed_ns / NANOSECONDS_PER_SECOND;
            let _ = writeln!(std::io::stdout(), "netwarp-progress {}", self.reported_s);
        }
    }
}

/// Turns an error into the [`Failure`] of a stage.
pub(crate) trait Stage<T> {
    /// Names the stage.
    fn stage(self, stage: &str) -> Result<T, Failure>;
}

impl<T> Stage<T> for Result<T> {
    fn stage(self, stage: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure { stage: stage.to_owned(), message: format!("{error:#}") })
    }
}

#[cfg(test)]
mod tests;
