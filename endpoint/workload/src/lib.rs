//! The workloads. Each is written once for each side, using the interface of [`netwarp_transport`].

mod attempts;
mod bulk;
pub mod command;
mod encoded;
mod flow;
mod page;
mod rr;
pub mod sandbox;
mod stream;
pub mod traffic;

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use netwarp_core::arrival_log::SharedArrivalLog;
use netwarp_core::content_sink::WatchedArrivals;
use netwarp_core::orchestrator::{Begin, Orchestrator};
use netwarp_path::capture::Content;
use netwarp_transport::error::{Error, Kind, Result};
use netwarp_transport::{Connection, Dialer, Report, StateSource, stack_of};
use netwarp_wire::job::{self, Change, Direction, Event, HostProgram, Job};
use netwarp_wire::problems::Problems;
use netwarp_wire::record::{ConnectionRecord, Record, Side};
use netwarp_wire::request_prefix::RequestPrefix;
use tokio::sync::watch;

use self::attempts::AttemptTracker;
use self::command::RunPlace;
use self::sandbox::Sandbox;

/// The state of one side of a run while it carries out a workload.
#[derive(Debug)]
pub struct Run {
    /// The job of this workload.
    pub job: Job,
    /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`.
    pub epoch_ns: u64,
    /// The address and port of the server.
    pub server: SocketAddr,
    /// The log of when this side receives how many bytes.
    pub arrival_log: SharedArrivalLog,
    /// At the server: which connections of a client that reconnects after a handover are outdated.
    pub attempts: AttemptTracker,
    /// The run directory.
    pub directory: PathBuf,
    /// The run's token, with which every request begins; `None` if no host outside the run can reach the server.
    pub token: Option<RequestPrefix>,
    /// At the client: DER of the server's certificate, if it has one.
    pub certificate: Option<Vec<u8>>,
}

impl Run {
    /// Creates the state of a side before its workload begins.
    pub fn new(job: Job, begin: &Begin, server: SocketAddr, directory: PathBuf) -> Self {
        let (arrival_log, attempts) = (SharedArrivalLog::default(), AttemptTracker::default());
        let (epoch_ns, token) = (begin.epoch_ns, begin.token);
        Self { job, epoch_ns, server, arrival_log, attempts, directory, token, certificate: None }
    }

    /// Returns the prefix of a workload's requests: the run's token if it has one, otherwise `protocol`.
    pub fn request_prefix(&self, protocol: RequestPrefix) -> RequestPrefix {
        self.token.unwrap_or(protocol)
    }

    /// Returns whether the timeline has more handovers than have occurred so far.
    pub(crate) fn hands_over_after(&self, handovers: Handovers) -> bool {
        let attach = |event: &&Event| event.change == Change::Attach {};
        self.job.timeline.events.iter().filter(attach).count() > handovers.count as usize
    }

    /// Ignores an error at the server if the client may have caused it, by giving the connection up after a handover or
    /// by breaking it off after its time. Only the client knows whether it has; if not, it reconnects, or fails itself.
    /// A time-out is different: the server's kernel has given up sending, and a client that waits for content does not
    /// learn of that. So a time-out is an error, unless the client has reconnected since.
    ///
    /// # Arguments
    /// * `attempt` - how often the client had reconnected when it opened the connection; `None` if it has requested
    ///   nothing on it.
    ///
    /// # Errors
    /// The error, if it is a failure of the run.
    pub fn ignore_if_abandoned(&self, error: Error, attempt: Option<u32>) -> Result<()> {
        let given_up = match error.kind() {
            Kind::Closed | Kind::Reset => true,
            Kind::TimedOut | Kind::Unreachable => attempt.is_none_or(|of| self.attempts.is_superseded(of)),
            Kind::Other => false,
        };
        let may_be_given_up = self.job.timeline.has_handovers() || of(&self.job.only().workload).breaks_off();
        if given_up && may_be_given_up { Ok(()) } else { Err(error) }
    }

    /// Returns the log for arrivals and what sinks must record in it; `None` if the run does not record arrivals over
    /// time.
    pub(crate) fn watched_arrivals(&self) -> Option<WatchedArrivals> {
        let is_played = of(&self.job.only().workload).is_played();
        // Each workload's goodput is recorded over time if several share a path.
        let is_told = is_played
            || of(&self.job.only().workload).breaks_off()
            || !self.job.timeline.is_empty()
            || self.job.only().name.is_some();
        let for_gaps = is_played || self.job.timeline.interrupts();
        is_told.then(|| WatchedArrivals { arrival_log: self.arrival_log.clone(), epoch_ns: self.epoch_ns, for_gaps })
    }
}

/// The client's handovers so far. Connections that workloads open after a handover use the new address; they must give
/// up connections that do not migrate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handovers {
    /// How many handovers there have been.
    pub count: u32,
}

/// Notifies the client's workload of handovers.
pub type Moves = watch::Receiver<Handovers>;

/// Notifies the server's workload when the client is done.
pub type Finish = watch::Receiver<bool>;

/// Waits until the orchestrator reports that the client is done: the client then has everything, even if its last
/// packets were lost.
pub async fn finished(finish: &mut Finish) {
    if finish.wait_for(|finish| *finish).await.is_err() {
        // The sender is gone; this side ends when its own work does.
        std::future::pending::<()>().await;
    }
}

/// Does the work, but stops waiting for it when the client is done.
pub(crate) async fn unless_finished<T>(finish: &mut Finish, work: impl Future<Output = Result<T>>) -> Result<()> {
    tokio::select! {
        result = work => result.map(drop),
        () = finished(finish) => Ok(()),
    }
}

/// Returns the result of the work, or `None` if a handover occurs first.
pub(crate) async fn unless_handed_over<T>(handovers: &mut Moves, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        result = work => Some(result),
        Ok(()) = handovers.changed() => None,
    }
}

/// The interface of a workload. Each has a module, and a line in [`of`].
pub trait Workload: Send + Sync {
    /// Returns the implementation of the workload at one end.
    fn end(&self, job: &Job, side: Side) -> End<'_>;

    /// Returns the file system that installed programs see, if the workload runs any.
    fn sandbox<'a>(&'a self, _job: &'a Job) -> Option<Sandbox<'a>> {
        None
    }

    /// Returns the date at which installed programs start, in seconds since 1970, if the study sets it.
    fn start_date_s(&self) -> Option<u64> {
        None
    }

    /// Returns the command line of a side's program, if the workload runs an installed one that the study names.
    fn command_line(&self, _side: Side) -> Option<String> {
        None
    }

    /// Returns the installed programs on further hosts of a network, in the order in which they are started.
    fn further_programs(&self) -> &[HostProgram] {
        &[]
    }

    /// Writes the files that installed programs need, once their file system is built.
    ///
    /// # Errors
    /// A file cannot be written.
    fn fill_sandbox(&self, _job: &Job) -> anyhow::Result<()> {
        Ok(())
    }

    /// Returns whether a record describes delivered content, which [`Self::difference`] must check. It is always false
    /// where content may be lost, and where programs report by their exit status whether it was delivered.
    fn is_delivery(&self, _record: &Record) -> bool {
        false
    }

    /// Returns how the delivered content differs from the expected content; `None` if it is the same.
    ///
    /// # Errors
    /// The content cannot be read again.
    fn difference(&self, _job: &Job, _deliveries: &[Record]) -> anyhow::Result<Option<String>> {
        Ok(None)
    }

    /// Returns about how many bytes of content are sent: the memory of a capture depends on it.
    fn content_bytes(&self) -> u64;

    /// Returns how many messages are sent that may each need a packet of their own; 0 if the content is not divided into
    /// messages.
    fn messages(&self) -> u64 {
        0
    }

    /// Returns about how much is sent.
    fn content(&self) -> Content {
        Content { bytes: self.content_bytes(), messages: self.messages() }
    }

    /// Returns the host's files whose content is sent.
    fn files(&self) -> Vec<&Path> {
        Vec::new()
    }

    /// Returns the job with the transport of the client's first connection; `None` if that is the job's own transport.
    fn first_reached_by(&self, _job: &Job) -> Option<Job> {
        None
    }

    /// Returns the direction of most of the content. Programs that are not netwarp's are assumed to send it down.
    fn direction(&self) -> Direction {
        Direction::Down
    }

    /// Returns the sources from which the states of the job's connections can be read: for the job's transport and, if
    /// it differs, the transport of the client's first connection. QUIC stacks that are separate programs have no
    /// source.
    fn state_sources(&self, job: &Job) -> Vec<StateSource> {
        let first = self.first_reached_by(job);
        let transports = [Some(job), first.as_ref()].into_iter().flatten().map(|job| &job.only().transport);
        let sources = transports.filter_map(|transport| {
            let source = stack_of(transport.kind).state_source();
            source.filter(|source| *source != StateSource::Gauges || transport.stack.is_none())
        });
        sources.collect()
    }

    /// Returns the direction in which the router records each packet; `None` if it records none.
    fn watched_direction(&self, _job: &Job) -> Option<Direction> {
        None
    }

    /// Adds to `problems` what is wrong with a job in a way in which the planner would never write it.
    fn check(&self, _job: &Job, _problems: &mut Problems) {}

    /// Returns whether the workload is broken off after a given time; the content that has arrived by then is the
    /// result.
    fn breaks_off(&self) -> bool {
        false
    }

    /// Returns whether the content is media that a player plays: then arrivals are recorded over time even without a
    /// timeline.
    fn is_played(&self) -> bool {
        false
    }
}

/// The implementation of a workload at one end.
pub enum End<'a> {
    /// netwarp-endpoint itself, over connections of the job's transport.
    Connections(&'a dyn OverConnections),
    /// An installed program, which opens its own sockets.
    Program(&'a dyn ByProgram),
}

/// A workload that an installed program carries out, at one end or at both.
#[async_trait(?Send)]
pub trait ByProgram {
    /// Carries out the server's part: runs the program until the client is done.
    ///
    /// # Errors
    /// The program does not start, does not get ready, or ends early.
    async fn serve(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> anyhow::Result<()>;

    /// Carries out the client's part: runs the program until its work is done.
    ///
    /// # Errors
    /// The program does not start, or fails.
    async fn drive(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> anyhow::Result<()>;
}

/// A workload that this program carries out over connections of any transport.
#[async_trait]
pub trait OverConnections: Send + Sync {
    /// Carries out the client's part, and returns its records.
    ///
    /// # Errors
    /// The workload was not carried out completely.
    async fn drive(&self, run: &Arc<Run>, dialer: &Arc<dyn Dialer>, handovers: Moves) -> Result<Vec<Record>>;

    /// Carries out the server's part on one connection. Returns its records when the client has closed the connection,
    /// or when `finish` says that the client is done.
    ///
    /// # Errors
    /// The workload was not carried out completely. It is no error if a client gives the connection up after a
    /// handover.
    async fn serve(&self, run: &Arc<Run>, connection: Box<dyn Connection>, finish: Finish) -> Result<Vec<Record>>;

    /// Returns the server's records if nothing from the client had arrived when the client was done. That is possible
    /// only over UDP, where a client needs no answer, and the path may lose all its packets.
    ///
    /// # Errors
    /// The server's files cannot be written.
    fn unreached(&self, _run: &Run) -> Result<Vec<Record>> {
        Ok(Vec::new())
    }
}

/// Returns the workload of a job.
pub fn of(workload: &job::Workload) -> &dyn Workload {
    match workload {
        job::Workload::Bulk(bulk) => bulk,
        job::Workload::Stream(stream) => stream,
        job::Workload::Command(command) => command,
        job::Workload::Flow(flow) => flow,
        job::Workload::Rr(rr) => rr,
        job::Workload::Page(page) => page,
        job::Workload::Traffic(traffic) => traffic,
    }
}

/// Returns one side's record of a connection, without the connection's number, which the caller sets; `None` only if
/// the connection was given up and its state could not be read.
///
/// # Errors
/// As [`Connection::report`], unless the connection was given up.
fn connection_record(
    run: &Run,
    side: Side,
    connection: &dyn Connection,
    abandoned: bool,
) -> Result<Option<ConnectionRecord>> {
    let Report { resumed, settings, stats } = match connection.report() {
        Ok(report) => report,
        Err(_) if abandoned => return Ok(None),
        Err(error) => return Err(error),
    };
    let start_ns = connection.start().since(run.epoch_ns);
    let connected_ns = connection.connected().since(run.epoch_ns);
    let record = ConnectionRecord {
        side,
        connection: 0,
        transfer: 0,
        abandoned,
        resumed,
        start_ns,
        connected_ns,
        settings,
        stats,
    };
    Ok(Some(record))
}
