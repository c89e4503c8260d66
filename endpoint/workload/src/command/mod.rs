//! Workload `command`: programs that are not part of netwarp: a server, a client, and in a network any number on
//! further hosts.
//!
//! The server is started first, the further programs one after another, each when the previous one is ready
//! ([`netwarp_programs::readiness`]), and the client last. The run is over when the client has ended. The run fails if
//! the client ends with a status other than 0, or any of the others does so before the client ends.

mod host;

use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Result, bail, ensure};
use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::deadline::Deadline;
use netwarp_core::orchestrator::{Begin, Orchestrator};
use netwarp_programs::readiness::{FIRST_PAUSE_NS, LONGEST_PAUSE_NS, Readiness};
use netwarp_transport::StateSource;
use netwarp_wire::job::{Command, HostProgram, Job, Ready};
use netwarp_wire::record::{ProgramRecord, Record, Side};
use netwarp_wire::role_protocol::{Message, Order};
use nix::sys::signal::Signal;

use self::host::Event;
pub use self::host::RunPlace;
pub(super) use self::host::{Host, PATH};
use super::{ByProgram, End, Sandbox, Workload};

/// How many bytes programs are assumed to exchange in a captured run. A run fails if it has more packets than the
/// memory reserved for this size can hold.
const CAPTURED_CONTENT_BYTES: u64 = 64 << 20;

/// How long a server may take to end after SIGTERM, before it is killed, in nanoseconds.
const PATIENCE_NS: u64 = 5_000_000_000;

/// How long a server may take to get ready, in nanoseconds of the run's clock.
const READY_WITHIN_NS: u64 = 60_000_000_000;

impl Workload for Command {
    fn end(&self, _job: &Job, _side: Side) -> End<'_> {
        End::Program(self)
    }

    fn sandbox<'a>(&'a self, _job: &'a Job) -> Option<Sandbox<'a>> {
        let working_directory = Path::new(&self.working_directory);
        Some(Sandbox {
            working_directory,
            is_shared: self.shared,
            keep: self.keep,
            written_bytes: self.memory_bytes / 2,
            server_names: &[],
        })
    }

    fn start_date_s(&self) -> Option<u64> {
        Some(self.start_date_s)
    }

    fn command_line(&self, side: Side) -> Option<String> {
        let argv = if side == Side::Server { &self.server } else { &self.client };
        Some(argv.join(" "))
    }

    fn further_programs(&self) -> &[HostProgram] {
        &self.programs
    }

    fn content_bytes(&self) -> u64 {
        CAPTURED_CONTENT_BYTES
    }

    /// Returns TCP as the only source: programs may use any transport, and their TCP connections are sampled.
    fn state_sources(&self, _job: &Job) -> Vec<StateSource> {
        vec![StateSource::Tcp]
    }
}

#[async_trait(?Send)]
impl ByProgram for Command {
    async fn serve(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> Result<()> {
        serve(orchestrator, self, run, None).await
    }

    async fn drive(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> Result<()> {
        let Begin { epoch_ns, .. } = orchestrator.begin().await?;
        run_client(orchestrator, self, run, epoch_ns).await.map(drop)
    }
}

/// Runs the server's program until the orchestrator says that the client is done.
///
/// # Arguments
/// * `certificate` - hex DER of the certificate that the server will present, if it has one.
///
/// # Errors
/// The program does not start, does not get ready, or ends early; the message says how, with its last output.
pub(super) async fn serve(
    orchestrator: &mut Orchestrator,
    command: &Command,
    run: RunPlace<'_>,
    certificate: Option<String>,
) -> Result<()> {
    let Begin { epoch_ns, .. } = orchestrator.begin().await?;
    let ready = run.program_of(command, Side::Server)?.ready;
    let mut host = Host::start(Side::Server, command, run, epoch_ns, None)?;
    if let Err(error) = serve_until_finished(orchestrator, &mut host, ready, certificate, epoch_ns).await {
        // By the interop runner's conventions its exit status says why.
        if host.has_ended_with_meaning() {
            orchestrator.write(vec![Record::Program(host.into_record().await?)])?;
        }
        return Err(error);
    }
    end(&mut host).await?;
    orchestrator.write(vec![Record::Program(host.into_record().await?)])
}

async fn serve_until_finished(
    orchestrator: &mut Orchestrator,
    host: &mut Host,
    ready: &Ready,
    certificate: Option<String>,
    epoch_ns: u64,
) -> Result<()> {
    let mut readiness = Readiness::of(ready)?;
    await_ready(host, &mut readiness, orchestrator).await?;
    host.ready_ns = Some(Moment::now().since(epoch_ns));
    orchestrator.send(&Message::Ready { certificate })?;
    tokio::select! {
        biased;
        order = orchestrator.next() => ensure!(matches!(order?, None | Some(Order::Finish {})), "a server is only ordered to finish"),
        status = failed_server(host) => return Err(host.ended_early(status?, "before the client had")),
    }
    Ok(())
}

/// Handles a server that ends early. One that exits with status 0 may continue in the background, as daemons do; the
/// client finds out whether it does.
async fn failed_server(host: &mut Host) -> Result<ExitStatus> {
    loop {
        match host.next_event(false).await? {
            Event::Ended(status) if !status.success() => return Ok(status),
            _ => {}
        }
    }
}

/// Ends a server with SIGTERM, and kills it if it does not end in time.
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

/// Runs the client's program to its end. Reports its record to the orchestrator, and returns it.
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
                // The host's address has changed; the program is not notified.
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

/// Waits, with growing pauses, until the server is ready.
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
