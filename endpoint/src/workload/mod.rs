//! What travels. Each workload is written once for each side, against [`crate::transport`]'s interface.

mod attempts;
pub(crate) mod bulk;
pub(crate) mod command;
mod flow;
mod page;
mod rr;
mod stream;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

use self::attempts::AttemptTracker;
use self::command::RunPlace;
use crate::arrival_log::SharedArrivalLog;
use crate::job::{self, Change, Direction, Event, Job};
use crate::problems::Problems;
use crate::record::{ConnectionRecord, Record, Side};
use crate::request_prefix::RequestPrefix;
use crate::role::{Begin, Orchestrator};
use crate::sink::WatchedArrivals;
use crate::topology::{client_address, router_address, server_address};
use crate::transport::error::{Error, Result};
use crate::transport::{Connection, Dialer, Pending, Report};

/// What both sides know of the run.
#[derive(Debug)]
pub(crate) struct Run {
    pub job: Job,
    /// What the run's clock calls zero, in nanoseconds of `CLOCK_MONOTONIC`.
    pub epoch_ns: u64,
    /// Where the server listens.
    pub server: SocketAddr,
    /// What this side receives, over time.
    pub arrival_log: SharedArrivalLog,
    /// What a server knows of clients that come back.
    pub attempts: AttemptTracker,
    /// Where the run's files are.
    pub directory: PathBuf,
    /// What every request begins with, where strangers could reach the server.
    pub token: Option<RequestPrefix>,
    /// Client: DER of the server's certificate, if it has one.
    pub certificate: Option<Vec<u8>>,
}

impl Run {
    /// A run of which nothing has happened yet.
    pub(crate) fn new(job: Job, begin: &Begin, server: SocketAddr, directory: PathBuf) -> Self {
        let (arrival_log, attempts) = (SharedArrivalLog::default(), AttemptTracker::default());
        let (epoch_ns, token) = (begin.epoch_ns, begin.token);
        Self { job, epoch_ns, server, arrival_log, attempts, directory, token, certificate: None }
    }

    /// What a request of this protocol begins with: the run's token, if it has one.
    pub(crate) fn request_prefix(&self, protocol: RequestPrefix) -> RequestPrefix {
        self.token.unwrap_or(protocol)
    }

    /// Whether the timeline has more handovers than these.
    pub(crate) fn hands_over_after(&self, handovers: Handovers) -> bool {
        let attach = |event: &&Event| event.change == Change::Attach {};
        self.job.timeline.events.iter().filter(attach).count() > handovers.count as usize
    }

    /// Forgives an error of a connection that the client gave up after a handover, or broke off in time. Whether it has is the client's to know: it
    /// will come back, or fail itself. But a client that waits for content does not learn that the server's kernel
    /// has given up sending; that is an error here, unless the client has come back since.
    ///
    /// # Arguments
    /// * `attempt` - of the client, if it has asked for anything on the connection.
    ///
    /// # Errors
    /// The error, where it is a failure of the run.
    pub(crate) fn ignore_if_abandoned(&self, error: Error, attempt: Option<u32>) -> Result<()> {
        let given_up = match &error {
            Error::Closed(_) | Error::Reset(_) => true,
            Error::TimedOut(_) | Error::Unreachable(_) => attempt.is_none_or(|of| self.attempts.is_superseded(of)),
            Error::Other(_) => false,
        };
        let may_be_given_up = self.job.timeline.has_handovers() || of(&self.job.workload).breaks_off();
        if given_up && may_be_given_up { Ok(()) } else { Err(error) }
    }

    /// Where sinks record arrivals, in a run that has records of them.
    pub(crate) fn watched_arrivals(&self) -> Option<WatchedArrivals> {
        let is_played = of(&self.job.workload).is_played();
        // What several workloads get of a path is seen over time.
        let is_told = is_played
            || of(&self.job.workload).breaks_off()
            || !self.job.timeline.is_empty()
            || self.job.name.is_some();
        let for_gaps = is_played || self.job.timeline.interrupts();
        is_told.then(|| WatchedArrivals { arrival_log: self.arrival_log.clone(), epoch_ns: self.epoch_ns, for_gaps })
    }
}

/// The client's handovers until now, for workloads to wait on. What they dial after having seen one leaves from the new
/// address; connections that do not migrate are theirs to give up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Handovers {
    /// How often the client has been attached to another path.
    pub count: u32,
}

/// Waits until the client is said to be done: it has everything then, even if its last words were lost on the path.
pub(crate) async fn finished(finish: &mut watch::Receiver<bool>) {
    if finish.wait_for(|finish| *finish).await.is_err() {
        // Whoever could say so is gone: this side's own work decides.
        std::future::pending::<()>().await;
    }
}

/// The result of the work, or none if a handover comes first.
pub(crate) async fn unless_handed_over<T>(
    handovers: &mut watch::Receiver<Handovers>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        result = work => Some(result),
        Ok(()) = handovers.changed() => None,
    }
}

/// A client at work, on one thread. Gives its records.
pub(crate) type Driving<'a> = Pin<Box<dyn Future<Output = Result<Vec<Record>>> + 'a>>;

/// What the endpoint asks of a workload. Each is a module, and has a line in [`of`].
pub(crate) trait Workload: Send + Sync {
    /// Who does the work at one end.
    fn end(&self, job: &Job, side: Side) -> End<'_>;

    /// What programs of the machine find, where it runs any.
    fn sandbox<'a>(&'a self, _job: &'a Job) -> Option<Sandbox<'a>> {
        None
    }

    /// Writes what programs of the machine are to find, once their file system is there.
    ///
    /// # Errors
    /// It cannot be written.
    fn fill_sandbox(&self, _job: &Job) -> anyhow::Result<()> {
        Ok(())
    }

    /// Whether a record says that content was delivered: those are for [`Self::difference`].
    fn is_delivery(&self, record: &Record) -> bool;

    /// How what was delivered differs from what was to travel; none if in nothing.
    ///
    /// # Errors
    /// A content that cannot be read again.
    fn difference(&self, job: &Job, deliveries: &[Record]) -> anyhow::Result<Option<String>>;

    /// About how many bytes of content travel: a capture needs memory for them.
    fn content_bytes(&self) -> u64;

    /// The files of the host that are sent.
    fn files(&self) -> Vec<&Path> {
        Vec::new()
    }

    /// The same job over the transport by which a client first comes to the server, where that is not the job's own.
    fn first_reached_by(&self, _job: &Job) -> Option<Job> {
        None
    }

    /// Which way packets go that the router is to follow one by one, if it is to.
    fn watched_direction(&self, _job: &Job) -> Option<Direction> {
        None
    }

    /// Notes what is unsound of a job that the planner would not make.
    fn check(&self, _problems: &mut Problems) {}

    /// Whether it is broken off after a time: then what has arrived by then is the result.
    fn breaks_off(&self) -> bool {
        false
    }

    /// Whether somebody plays the content: then the records say when it arrived, with a timeline or without.
    fn is_played(&self) -> bool {
        false
    }
}

/// Who does a workload's work at one end.
pub(crate) enum End<'a> {
    /// This program, over connections of the job's transport.
    Connections(&'a dyn OverConnections),
    /// A program of the machine, with sockets of its own.
    Program(&'a dyn ByProgram),
}

/// The file system of programs of the machine.
pub(crate) struct Sandbox<'a> {
    /// Where they start.
    pub working_directory: &'a Path,
    /// Whether what they wrote is kept.
    pub keep: bool,
    /// Most that they can write to files, where no guest's memory bounds it.
    pub written_bytes: u64,
    /// Further names of the server.
    pub server_names: &'a [&'a str],
}

impl Sandbox<'_> {
    /// The names that resolve in a run with a path of its own, with their addresses.
    pub(crate) fn hosts(&self) -> Vec<(&str, IpAddr)> {
        let usual = [("client", client_address(0)), ("server", server_address(0)), ("router", router_address(0))];
        let further = self.server_names.iter().map(|name| (*name, server_address(0)));
        usual.into_iter().chain(further).map(|(name, address)| (name, address.into())).collect()
    }
}

/// A role that runs a program of the machine, to its end.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>;

/// A workload whose work a program of the machine does, at one end or at both.
pub(crate) trait ByProgram {
    /// The server's part: runs the program until the client is done.
    ///
    /// # Errors
    /// A program that does not start, never gets ready, or ends early.
    fn serve<'a>(&'a self, orchestrator: &'a mut Orchestrator, run: RunPlace<'a>) -> Running<'a>;

    /// The client's part: runs the program until it has done what it is for.
    ///
    /// # Errors
    /// A program that does not start, or that fails.
    fn drive<'a>(&'a self, orchestrator: &'a mut Orchestrator, run: RunPlace<'a>) -> Running<'a>;
}

/// A workload that this program does, over connections of whatever transport.
pub(crate) trait OverConnections: Send + Sync {
    /// The client's part. Gives its records.
    ///
    /// # Errors
    /// Whatever kept the workload from being done in full.
    fn drive<'a>(
        &'a self,
        run: &'a Arc<Run>,
        dialer: &'a Arc<dyn Dialer>,
        handovers: watch::Receiver<Handovers>,
    ) -> Driving<'a>;

    /// The server's part on one connection. Gives its records when the client has closed the connection, or
    /// when `finish` says that no client needs anything any more.
    ///
    /// # Errors
    /// Whatever kept the workload from being done in full. That a client gives the connection up after a handover is none.
    fn serve<'a>(
        &'a self,
        run: &'a Arc<Run>,
        connection: Box<dyn Connection>,
        finish: watch::Receiver<bool>,
    ) -> Pending<'a, Vec<Record>>;
}

/// The workload of a job.
pub(crate) fn of(workload: &job::Workload) -> &dyn Workload {
    match workload {
        job::Workload::Bulk(bulk) => bulk,
        job::Workload::Stream(stream) => stream,
        job::Workload::Command(command) => command,
        job::Workload::Flow(flow) => flow,
        job::Workload::Rr(rr) => rr,
        job::Workload::Page(page) => page,
    }
}

/// One side's record of a connection, for the caller to add which one it was. Of one that was given up there may be
/// nothing to say.
///
/// # Errors
/// As [`Connection::report`], unless it was given up.
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
