//! Carries out one run, from job to records: builds the path, starts the roles, relays orders and messages, reads
//! counters, probes the path, and compares the delivered content with the sent content.

pub(crate) mod host;
mod pair;
mod progress;
pub(crate) mod record_writer;
pub(crate) mod running_role;
mod sampling;

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use netwarp_core::clock;
use netwarp_path::calibration;
use netwarp_path::capacity::Capacities;
use netwarp_path::capture::{Capture, KeyLog, Watcher};
use netwarp_path::network::Network;
use netwarp_path::probe;
use netwarp_path::timeline::Timeline;
use netwarp_path::topology::Topology;
use netwarp_wire::job::{Change, Event as TimelineEvent, Job, RECORD_FORMAT};
use netwarp_wire::record::{CalibrationRecord, ClockKind, EventRecord, Failure, Record, StartRecord};
use netwarp_wire::role_protocol::{Message, Order};
use netwarp_workload::sandbox;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use self::host::{Host, Shared};
use self::pair::{JobFiles, Pair, Player};
use self::progress::Progress;
use self::record_writer::RecordWriter;
use self::running_role::Event;
use self::sampling::Sampler;
use crate::check;

/// The directory in the run directory for the qlog files of QUIC connections.
const QLOG_DIRECTORY: &str = "qlog";

/// Carries out `directory/job.json` and writes all records to `directory/records.jsonl`. Returns the failure if the run
/// failed.
pub(crate) fn run_directory(directory: &Path, host: &mut dyn Host) -> Result<Option<Failure>> {
    let mut records = RecordWriter::open(directory)?;
    let failure = run_job(directory, host, &mut records).err();
    records.end(failure.clone())?;
    Ok(failure)
}

fn run_job(directory: &Path, host: &mut dyn Host, records: &mut RecordWriter) -> Result<(), Failure> {
    let job_file = &directory.join("job.json");
    let job = check::load(job_file).stage("setup")?;
    host.prepare(&job).stage("setup")?;
    let ran = run(&job, job_file, host, records);
    // No role runs any more.
    let finished = sandbox::keep_written(&job, directory).stage("teardown");
    ran.and(finished)
}

/// Carries out `job`, which was read from `job_file`. Writes all records except the last, `end`, to `records`.
fn run(job: &Job, job_file: &Path, host: &mut dyn Host, records: &mut RecordWriter) -> Result<(), Failure> {
    let clock = host.clock();
    records.write(&start_record(job, clock).stage("setup")?).stage("setup")?;
    host.build(job).stage("setup")?;
    require_network(job, host).stage("setup")?;
    let keys = job.capture.then(KeyLog::new).transpose().stage("setup")?;
    let topology = Topology::of(job);
    let jobs = job.each_alone();
    let files = JobFiles::write(&jobs, job_file).stage("setup")?;
    let sampler = Sampler::new(job, &topology).stage("setup")?;
    let qlog = job_file.with_file_name(QLOG_DIRECTORY);
    let mut pairs = Vec::new();
    for (place, one) in jobs.iter().enumerate() {
        let shared = |side| Shared {
            keys: keys.as_ref(),
            gauges: sampler.as_ref().and_then(|each| each.gauges(side)),
            qlog: one.only().transport.quic.qlog.then_some(&*qlog),
        };
        pairs.push(Pair::spawn(host, one, |side| files.file(place, side), shared).stage("setup")?);
    }
    let capture = start_capture(host, &topology, job, keys, job_file).stage("setup")?;
    let watcher = start_watcher(host, &topology, job).stage("setup")?;
    let await_tick = || {
        if clock == ClockKind::Virtual {
            clock::await_tick();
        }
    };
    await_tick();
    let had_to_wait = host.network().map(Network::await_active_links).transpose().stage("setup")?;
    if had_to_wait == Some(true) {
        await_tick();
    }
    let epoch_ns = records.start_clock();
    let mut relay = Relay {
        pairs,
        begins_together: job.network.is_some(),
        host,
        timeline: Timeline::start(job, &topology, epoch_ns).stage("setup")?,
        epoch_ns,
        limit_ns: job.limits.virtual_ns,
        clock_name: if clock == ClockKind::Virtual { "virtual" } else { "real" },
        capacities: Capacities::new(job),
        events: 0,
        progress: Progress::default(),
        sampler,
        records,
    };
    let ran = relay.run();
    let Relay { mut pairs, sampler, capacities, timeline, host, records, .. } = relay;
    if let Err(failure) = ran {
        drop(pairs); // kills the roles
        // The record of what the path carried until then. If the counters cannot be read, that is not reported: the run
        // has failed already.
        let _ = host.network().map(|network| calibrate(network, &topology, job, epoch_ns, records));
        return Err(failure);
    }
    pairs.retain(|pair| !pair.gave_up);
    let mut excess = None;
    if let Some(network) = host.network() {
        let calibration = calibrate(network, &topology, job, epoch_ns, records).stage("teardown")?;
        for record in sampler.into_iter().flat_map(Sampler::records) {
            records.write(&record).stage("teardown")?;
        }
        for record in calibration::disciplines(network, &topology, job).stage("teardown")? {
            records.write(&Record::Discipline(record)).stage("teardown")?;
        }
        if let Some(watcher) = watcher {
            records.write(&watcher.finish(epoch_ns).stage("teardown")?).stage("teardown")?;
        }
        if let Some(capture) = capture {
            capture.finish().stage("teardown")?;
        }
        let paths: Vec<_> = timeline.paths().cloned().collect();
        for record in probe::probe(network, &topology, job, &paths, clock).stage("teardown")? {
            records.write(&record).stage("teardown")?;
        }
        excess = capacities.excess(&calibration);
    }
    let failed = |message| Failure { stage: "verify".to_owned(), message };
    if let Some(message) = excess {
        return Err(failed(message));
    }
    for pair in &pairs {
        if let Some(message) = pair.difference().stage("verify")? {
            return Err(pair.failure(failed(message)));
        }
    }
    Ok(())
}

/// Writes and returns calibration records of the traffic that the path has carried so far.
fn calibrate(
    network: &mut Network,
    topology: &Topology<'_>,
    job: &Job,
    epoch_ns: u64,
    records: &mut RecordWriter,
) -> Result<Vec<CalibrationRecord>> {
    let calibration = calibration::measure(network, topology, job, epoch_ns)?;
    for record in &calibration {
        records.write(&Record::Calibration(record.clone()))?;
    }
    Ok(calibration)
}

/// Refuses a job with a timeline or a capture if the run uses an existing path.
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
        format: RECORD_FORMAT,
        run: job.run.clone(),
        endpoint: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy()),
        clock,
    }))
}

fn start_capture(
    host: &mut dyn Host,
    topology: &Topology<'_>,
    job: &Job,
    keys: Option<KeyLog>,
    job_file: &Path,
) -> Result<Option<Capture>> {
    let (Some(network), Some(keys)) = (host.network(), keys) else { return Ok(None) };
    let directory = job_file.parent().context("the job file lies in no directory")?;
    let contents: Vec<_> = job.workloads.iter().map(|each| netwarp_workload::of(&each.workload).content()).collect();
    Capture::start(network, topology, job, &contents, keys, directory).map(Some).context("capture packets")
}

/// Starts to record packets at the router, if the job's workload asks for it. With several workloads there is no such
/// recording, because their packets cannot be told apart.
fn start_watcher(host: &mut dyn Host, topology: &Topology<'_>, job: &Job) -> Result<Option<Watcher>> {
    let Some(one) = job.alone().filter(|one| one.name.is_none()) else { return Ok(None) };
    let workload = netwarp_workload::of(&one.workload);
    let (Some(network), Some(direction)) = (host.network(), workload.watched_direction(job)) else { return Ok(None) };
    let watcher = Watcher::start(network, topology, job, direction, workload.content());
    watcher.map(Some).context("follow packets through the router")
}

/// A run in progress: relays between the roles, applies the timeline, and writes records.
struct Relay<'a> {
    /// The run's workloads, in the job's order.
    pairs: Vec<Pair<'a>>,
    /// Whether no client begins before the servers of all workloads are ready. In a network with many hosts, getting
    /// ready takes longer than clients' start times are apart, and clients would begin in the order of the job.
    begins_together: bool,
    host: &'a mut dyn Host,
    timeline: Timeline<'a>,
    epoch_ns: u64,
    limit_ns: u64,
    clock_name: &'static str,
    capacities: Capacities,
    /// How many changes of paths have been recorded so far.
    events: u32,
    progress: Progress,
    sampler: Option<Sampler>,
    records: &'a mut RecordWriter,
}

impl Relay<'_> {
    /// Relays orders and messages until all roles are done. On a failure the remaining roles are dropped, which kills
    /// them.
    fn run(&mut self) -> Result<(), Failure> {
        let begin = self.begin(None);
        for pair in &mut self.pairs {
            pair.begin(&begin).stage("setup")?;
        }
        while let Some(running) = self.pairs.iter().find(|pair| pair.is_running()) {
            let elapsed_ns = self.records.elapsed_ns();
            if elapsed_ns >= self.limit_ns {
                let limit_s = Duration::from_nanos(self.limit_ns).as_secs_f64();
                let mut message = format!("the transfer was not over after {limit_s} {} seconds", self.clock_name);
                if let Some(program) = running.running_program() {
                    message.push_str(&program);
                }
                return Err(running.failure(Failure { stage: "limit".to_owned(), message }));
            }
            self.progress.report(elapsed_ns);
            self.sample(elapsed_ns).stage("teardown")?;
            self.begin_clients(elapsed_ns)?;
            if let Some(event) = self.advance(elapsed_ns).stage("teardown")? {
                let (change, path) = (event.change.clone(), event.path);
                self.events += 1;
                check_number_of_events(self.events)?;
                let at_ns = self.records.elapsed_ns();
                self.capacities.apply(&event, elapsed_ns, at_ns);
                let record = Record::Event(EventRecord { at_ns, event });
                self.records.write(&record).stage("teardown")?;
                self.pairs
                    .iter_mut()
                    .try_for_each(|pair| match change {
                        Change::Attach {} => pair.attached(path),
                        Change::Detach {} => pair.detached(path),
                        _ => Ok(()),
                    })
                    .stage("client")?;
                continue;
            }
            let awaits_servers = self.awaits_servers();
            let waiting = self.pairs.iter().filter(|pair| !awaits_servers || pair.is_program());
            let start_ns = waiting.filter_map(Pair::begins_ns).min().unwrap_or(u64::MAX);
            let sample_ns = self.sampler.as_ref().map_or(u64::MAX, Sampler::next_ns);
            let until_ns = self.progress.next_ns().min(self.limit_ns).min(start_ns).min(sample_ns);
            for (place, player) in
                self.wait(Duration::from_nanos(until_ns.saturating_sub(elapsed_ns))).stage("teardown")?
            {
                if self.pairs[place].gave_up {
                    continue;
                }
                for event in self.pairs[place].role_mut(player).receive().stage(player.side().name())? {
                    self.handle(place, player, event)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&self, certificate: Option<String>) -> Order {
        Order::Begin { epoch_ns: self.epoch_ns, certificate, token: self.host.token().map(String::from) }
    }

    /// Orders all clients whose start time has come to begin, in the order of their start times.
    fn begin_clients(&mut self, elapsed_ns: u64) -> Result<(), Failure> {
        let awaits_servers = self.awaits_servers();
        let waiting = self.pairs.iter_mut().filter(|pair| !awaits_servers || pair.is_program());
        let is_due = |pair: &&mut Pair<'_>| pair.begins_ns().is_some_and(|start_ns| start_ns <= elapsed_ns);
        let mut due: Vec<_> = waiting.filter(is_due).collect();
        due.sort_by_key(|pair| pair.begins_ns());
        due.into_iter().try_for_each(Pair::begin_client).stage("client")
    }

    /// Returns whether clients wait until the servers of all workloads are ready. Installed programs take no part in
    /// this: it is not known how long they need to become ready.
    fn awaits_servers(&self) -> bool {
        self.begins_together && self.pairs.iter().any(|pair| !pair.is_program() && pair.awaits_server())
    }

    /// Samples queues and connections if a sample is due. A run that has not built its path has no samples.
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

    /// Waits until roles have sent something, for at most `at_most` and no longer than until the timeline's next event,
    /// and returns these roles. Each is given by the index of its workload and which role of that workload it is.
    fn wait(&self, at_most: Duration) -> Result<Vec<(usize, Player)>> {
        let pairs = self.pairs.iter().enumerate();
        let roles = pairs.flat_map(|(place, pair)| pair.roles().map(move |(player, role)| ((place, player), role)));
        let running: Vec<_> = roles.filter(|(_, role)| role.is_running()).collect();
        let mut polled: Vec<PollFd<'_>> =
            running.iter().map(|(_, role)| PollFd::new(role.as_fd(), PollFlags::POLLIN)).collect();
        polled.push(PollFd::new(self.timeline.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut polled, Some(TimeSpec::from(at_most)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno).context("wait for the roles (ppoll)"),
        }
        let ready = running.iter().zip(&polled).filter(|(_, poll)| poll.any() == Some(true));
        Ok(ready.map(|((which, _), _)| *which).collect())
    }

    fn handle(&mut self, place: usize, player: Player, event: Event) -> Result<(), Failure> {
        let begin = |certificate| self.begin(certificate);
        if self.pairs[place].gave_up {
            return Ok(());
        }
        match event {
            Event::Said(Message::Ready { certificate }) => {
                let begin = begin(certificate);
                self.pairs[place].server_is_ready(begin).stage("server")?;
                self.begin_clients(0)
            }
            Event::Said(Message::Write { line }) => {
                let pair = &mut self.pairs[place];
                if matches!(*line, Record::GaveUp(_)) {
                    pair.give_up();
                }
                if pair.workload.is_delivery(&line) {
                    pair.delivered.push((*line).clone());
                }
                self.records.write(&pair.record(*line)).stage("teardown")
            }
            Event::Said(Message::Done {}) => self.pairs[place].role_is_done(player).stage("server"),
            Event::Said(Message::Failed { failure }) => Err(self.pairs[place].failure(failure)),
            Event::Gone(how) => self.pairs[place].role_is_gone(player, how),
        }
    }
}

/// The most changes of paths that a run records, about 210 MB: with more, the records would be longer than the 256 MiB
/// that netwarp reads. Random delays and rate traces go on for as long as the run, also while a transport tries until
/// it gives up.
const MOST_EVENTS: u32 = 1_500_000;

fn check_number_of_events(events: u32) -> Result<(), Failure> {
    if events <= MOST_EVENTS {
        return Ok(());
    }
    let message = format!(
        "the paths changed more than {MOST_EVENTS} times, each a record: choose a longer path.redraw.period or \
         path.trace.step, or a run that is over sooner"
    );
    Err(Failure { stage: "limit".to_owned(), message })
}

/// Converts an error into the [`Failure`] of a stage of the run.
pub(crate) trait Stage<T> {
    /// Converts an error into a [`Failure`] of this stage.
    fn stage(self, stage: &str) -> Result<T, Failure>;
}

impl<T> Stage<T> for Result<T> {
    fn stage(self, stage: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure { stage: stage.to_owned(), message: format!("{error:#}") })
    }
}

#[cfg(test)]
mod tests;
