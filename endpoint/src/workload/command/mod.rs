//! Workload `command`: programs that are not netwarp's own, a server and a client, each on its host.
//!
//! The server is started first and the client when the server is ready ([`crate::programs::readiness`]). The run is over
//! when the client has ended. A client that ends otherwise than with status 0, or a server that ends before it, is a failed
//! run.

mod host;

use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Result, bail, ensure};
use nix::sys::signal::Signal;

use self::host::Event;
pub(crate) use self::host::RunPlace;
pub(super) use self::host::{Host, PATH};
use super::{ByProgram, End, Running, Sandbox, Workload};
use crate::clock::Moment;
use crate::control::{Message, Order};
use crate::deadline::Deadline;
use crate::job::{Command, Job};
use crate::programs::readiness::{FIRST_PAUSE_NS, LONGEST_PAUSE_NS, Readiness};
use crate::record::{ProgramRecord, Record, Side};
use crate::role::{Begin, Orchestrator};

/// What programs may exchange in a run that is captured: nobody knows what they will. Packets beyond it fail the run.
const CAPTURED_CONTENT_BYTES: u64 = 64 << 20;

/// How long a server may take to end after it was asked to (SIGTERM), before it is killed.
const PATIENCE_NS: u64 = 5_000_000_000;

/// How long a server may take to get ready, on the run's clock.
const READY_WITHIN_NS: u64 = 60_000_000_000;

impl Workload for Command {
    fn end(&self, _job: &Job, _side: Side) -> End<'_> {
        End::Program(self)
    }

    fn sandbox<'a>(&'a self, _job: &'a Job) -> Option<Sandbox<'a>> {
        let working_directory = Path::new(&self.working_directory);
        Some(Sandbox { working_directory, keep: self.keep, written_bytes: self.memory_bytes / 2, server_names: &[] })
    }

    /// What programs delivered to each other is theirs to say, by their exit status.
    fn is_delivery(&self, _: &Record) -> bool {
        false
    }

    fn difference(&self, _: &Job, _: &[Record]) -> Result<Option<String>> {
        Ok(None)
    }

    fn content_bytes(&self) -> u64 {
        CAPTURED_CONTENT_BYTES
    }
}

impl ByProgram for Command {
    fn serve<'a>(&'a self, orchestrator: &'a mut Orchestrator, run: RunPlace<'a>) -> Running<'a> {
        Box::pin(serve(orchestrator, self, run, None))
    }

    fn drive<'a>(&'a self, orchestrator: &'a mut Orchestrator, run: RunPlace<'a>) -> Running<'a> {
        Box::pin(drive(orchestrator, self, run))
    }
}

/// Runs the server's program until the client is done.
///
/// # Arguments
/// * `certificate` - hex DER of what it will present, if it has one.
///
/// # Errors
/// A program that does not start, never gets ready, or ends early: with how, and the last that it said.
pub(super) async fn serve(
    orchestrator: &mut Orchestrator,
    command: &Command,
    run: RunPlace<'_>,
    certificate: Option<String>,
) -> Result<()> {
    let Begin { epoch_ns, .. } = orchestrator.begin().await?;
    let mut host = Host::start(Side::Server, command, run, epoch_ns, None)?;
    let mut readiness = Readiness::of(&command.ready)?;
    await_ready(&mut host, &mut readiness, orchestrator).await?;
    host.ready_ns = Some(Moment::now().since(epoch_ns));
    orchestrator.send(&Message::Ready { certificate })?;
    tokio::select! {
        biased;
        order = orchestrator.next() => ensure!(matches!(order?, None | Some(Order::Finish)), "a server is only ordered to finish"),
        status = failed_server(&mut host) => return Err(host.ended_early(status?, "before the client had")),
    }
    end(&mut host).await?;
    orchestrator.write(vec![Record::Program(host.into_record().await?)])
}

/// How a server ends that does so before its time. One that exits with status 0 goes on in the background, as daemons do;
/// whether it does is for the client to find out.
async fn failed_server(host: &mut Host) -> Result<ExitStatus> {
    loop {
        match host.next_event(false).await? {
            Event::Ended(status) if !status.success() => return Ok(status),
            _ => {}
        }
    }
}

/// Asks a server to end, and kills one that does not.
async fn end(host: &mut Host) -> Result<()> {
    if host.has_ended() {
        return Ok(());
    }
    host.program.process.signal(Signal::SIGTERM);
    let deadline = Deadline::new()?;
    tokio::select! {
        biased;
        status = host.ended() => status.map(|_| ()),
        reached = deadline.wait_until(Some(Moment::now().since(0) + PATIENCE_NS)) => {
            reached?;
            host.program.process.signal(Signal::SIGKILL);
            host.ended().await.map(|_| ())
        }
    }
}

/// Runs the client's program to its end.
///
/// # Errors
/// A program that does not start, or that fails: with how, and the last that it said.
async fn drive(orchestrator: &mut Orchestrator, command: &Command, run: RunPlace<'_>) -> Result<()> {
    let Begin { epoch_ns, .. } = orchestrator.begin().await?;
    run_client(orchestrator, command, run, epoch_ns).await.map(drop)
}

/// Runs the client's program from now on to its end. Its record is written, and given.
///
/// # Errors
/// As [`drive`].
pub(super) async fn run_client(
    orchestrator: &mut Orchestrator,
    command: &Command,
    run: RunPlace<'_>,
    epoch_ns: u64,
) -> Result<ProgramRecord> {
    let mut host = Host::start(Side::Client, command, run, epoch_ns, None)?;
    let status = loop {
        tokio::select! {
            biased;
            status = host.ended() => break status?,
            order = orchestrator.next() => match order? {
                // Its address has changed under the program, which nobody tells it.
                Some(Order::Attached { .. } | Order::Detached { .. }) => {}
                Some(order) => bail!("a client is not ordered to {order:?} while it works"),
                None => bail!("the orchestrator is gone"),
            },
        }
    };
    let failed = (!status.success()).then(|| host.failed(status));
    let record = host.into_record().await?;
    orchestrator.write(vec![Record::Program(record.clone())])?;
    failed.map_or(Ok(record), Err)
}

/// Waits, with pauses that grow, until the server is ready.
async fn await_ready(host: &mut Host, readiness: &mut Readiness, orchestrator: &mut Orchestrator) -> Result<()> {
    let deadline = Deadline::new()?;
    let begun_ns = Moment::now().since(0);
    let mut pause_ns = FIRST_PAUSE_NS;
    while !readiness.is_there()? {
        let now_ns = Moment::now().since(0);
        if now_ns - begun_ns > READY_WITHIN_NS {
            return Err(host.never_ready(&readiness.wanted(), READY_WITHIN_NS));
        }
        let next = deadline.wait_until(Some(now_ns + pause_ns));
        let said = tokio::select! {
            biased;
            event = host.next_event(true) => Some(event?),
            reached = next => { reached?; None }
            order = orchestrator.next() => bail!("ordered to {:?} before the server was ready", order?),
        };
        match said {
            Some(Event::Ended(status)) if !status.success() => {
                let wanted = readiness.wanted();
                return Err(host.ended_early(status, &format!("before it was ready; {wanted} was waited for")));
            }
            Some(Event::Lines(lines)) if lines.iter().any(|line| readiness.is_said_by(line)) => return Ok(()),
            Some(_) => {}
            None => pause_ns = (2 * pause_ns).min(LONGEST_PAUSE_NS),
        }
    }
    Ok(())
}
