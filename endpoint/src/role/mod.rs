//! The two role processes of a run, each in its own network namespace: the server, which accepts connections and serves
//! them, and the client.
//!
//! A role reads [`Order`]s from its [`Orchestrator`], and answers with [`Message`]s.

pub(crate) mod containment;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_core::addresses::Family;
use netwarp_core::arrival_log::Span;
use netwarp_core::clock::Moment;
use netwarp_core::connection_gauges;
use netwarp_core::orchestrator::Orchestrator;
use netwarp_transport::error::{self, Error, Kind};
use netwarp_transport::stack_of;
use netwarp_transport::{Dialer, Handshake, Listener, Place};
use netwarp_wire::job::Job;
use netwarp_wire::record::{Failure, GaveUpRecord, Record, Side};
use netwarp_wire::role_protocol::{Message, Order};
use netwarp_workload::command::RunPlace;
use netwarp_workload::{End, Handovers, OverConnections, Run, sandbox, traffic};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::check;

/// Carries out the server's part of a job file, until the order to finish.
///
/// # Arguments
/// * `host` - the name of the host in the job's network whose program is to be run, if that is not the workload's
///   server.
pub(crate) fn server(job: &Path, place: Place, host: Option<&str>) -> ExitCode {
    run(Side::Server, async |orchestrator: &mut Orchestrator| {
        let loaded = load(job)?;
        if let End::Program(program) = netwarp_workload::of(&loaded.only().workload).end(&loaded, Side::Server) {
            ensure!(place.only_from.is_none(), "programs run by another host's word only where they are contained");
            return program.serve(orchestrator, run_of(&loaded, job)?.on(host)).await;
        }
        ensure!(host.is_none(), "only programs run on further hosts");
        serve(orchestrator, loaded, directory_of(job)?, place).await
    })
}

/// Runs the server's program of a job from another host, in a process that [`containment`] has contained.
fn contained_server(job: &Job) -> ExitCode {
    run(Side::Server, async |orchestrator: &mut Orchestrator| {
        match netwarp_workload::of(&job.only().workload).end(job, Side::Server) {
            End::Program(program) => program.serve(orchestrator, RunPlace::new(job, None, true)).await,
            End::Connections(_) => bail!("the server's work is not done by a program"),
        }
    })
}

/// Carries out the client's part of a job file, with the server at this address.
pub(crate) fn client(job: &Path, server: SocketAddr) -> ExitCode {
    run(Side::Client, async |orchestrator: &mut Orchestrator| {
        let loaded = load(job)?;
        if let End::Program(program) = netwarp_workload::of(&loaded.only().workload).end(&loaded, Side::Client) {
            return program.drive(orchestrator, run_of(&loaded, job)?).await;
        }
        drive(orchestrator, loaded, directory_of(job)?, server).await
    })
}

/// Reads a role's job, which must have exactly one workload.
fn load(file: &Path) -> Result<Job> {
    let job = check::load(file)?;
    ensure!(job.alone().is_some(), "a role carries out one workload, and {} has several", file.display());
    Ok(job)
}

/// Returns the job's workload if this program itself carries it out, over connections, on this side; otherwise an
/// error.
fn over_connections(job: &Job, side: Side) -> Result<&dyn OverConnections> {
    match netwarp_workload::of(&job.only().workload).end(job, side) {
        End::Connections(workload) => Ok(workload),
        End::Program(_) => {
            bail!("the {}'s work is done by a program with sockets of its own", side.name())
        }
    }
}

fn run_of<'a>(job: &'a Job, file: &'a Path) -> Result<RunPlace<'a>> {
    let is_shared = sandbox::of_run(job).is_none_or(|sandbox| sandbox.is_shared);
    Ok(RunPlace::new(job, Some(directory_of(file)?), is_shared))
}

fn directory_of(job_file: &Path) -> Result<&Path> {
    job_file.parent().context("the job file lies in no directory")
}

async fn serve(orchestrator: &mut Orchestrator, job: Job, directory: &Path, place: Place) -> Result<()> {
    let begin = orchestrator.begin().await?;
    let mut listener = stack_of(job.only().transport.kind).listen(&job, place)?;
    let first = netwarp_workload::of(&job.only().workload).first_reached_by(&job);
    let mut other = first.map(|first| stack_of(first.only().transport.kind).listen(&first, place)).transpose()?;
    orchestrator.send(&Message::Ready { certificate: listener.certificate().map(hex::encode) })?;
    let run = Arc::new(Run::new(job, &begin, place.address, directory.to_owned()));
    let (finish, finished) = watch::channel(false);
    let mut served = JoinSet::new();
    let mut is_reached = false;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                is_reached = true;
                served.spawn(serve_one(run.clone(), accepted?, finished.clone()));
            }
            accepted = accept_at(&mut other) => {
                is_reached = true;
                served.spawn(serve_one(run.clone(), accepted?, finished.clone()));
            }
            Some(records) = served.join_next() => {
                orchestrator.write(unless_strangers(&run, records.context("serving a client")?)?)?;
            }
            order = orchestrator.next() => match order? {
                None | Some(Order::Finish {}) => break,
                Some(order) => bail!("a server is not ordered to {order:?} while it serves"),
            },
        }
    }
    if !is_reached {
        orchestrator.write(over_connections(&run.job, Side::Server)?.unreached(&run)?)?;
    }
    finish.send_replace(true);
    while let Some(records) = served.join_next().await {
        orchestrator.write(unless_strangers(&run, records.context("serving a client")?)?)?;
    }
    orchestrator.write(run.arrival_log.lock().expect("no holder panics").records())
}

/// Returns the records of a connection at the server. A failed connection is assumed to be a stranger's, and has no
/// records, if hosts outside the run could reach the server: if it was the client's, the client reports the failure,
/// which also fails the run.
fn unless_strangers(run: &Run, records: error::Result<Vec<Record>>) -> error::Result<Vec<Record>> {
    match records {
        Err(error) if run.token.is_some() => {
            eprintln!("netwarp-endpoint server: gave up a connection: {error:#}");
            Ok(Vec::new())
        }
        Err(error) if is_of_the_path(run, &error) => Ok(vec![gave_up(Side::Server, run, &error)]),
        records => records,
    }
}

/// Returns whether a connection was lost because of the path: the peer no longer answered, or, in a network described
/// by the job (there workloads have names), the peer's kernel reset an unknown connection because a router with NAT had
/// forgotten the client's port. If the peer itself fails, it reports that.
fn is_of_the_path(run: &Run, error: &Error) -> bool {
    let may_be_translated = run.job.only().name.is_some();
    error.kind() == Kind::TimedOut || error.kind() == Kind::Reset && may_be_translated
}

/// Returns the record of a connection that a side's transport has given up because of the path.
fn gave_up(side: Side, run: &Run, cause: &Error) -> Record {
    let at_ns = Moment::now().since(run.epoch_ns);
    Record::GaveUp(GaveUpRecord { side, at_ns, cause: format!("{cause:#}") })
}

/// Accepts the next connection; without a listener, waits forever. Dropping this future loses no connection.
async fn accept_at(listener: &mut Option<Box<dyn Listener>>) -> error::Result<Handshake> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Completes the handshake of a connection and serves it. A handshake is abandoned when the run is finished.
async fn serve_one(
    run: Arc<Run>,
    handshake: Handshake,
    mut finished: watch::Receiver<bool>,
) -> error::Result<Vec<Record>> {
    let connection = tokio::select! {
        biased;
        established = handshake => established,
        Ok(_) = finished.wait_for(|finished| *finished) => return Ok(Vec::new()),
    };
    match connection {
        Ok(connection) => over_connections(&run.job, Side::Server)?.serve(&run, connection, finished).await,
        Err(_) if foreign_client(&run.job) => Ok(Vec::new()),
        Err(error) => run.ignore_if_abandoned(error, None).map(|()| Vec::new()),
    }
}

/// Returns whether the client is an installed program. Such a client may open connections that it does not use, and its
/// exit status says whether it failed.
fn foreign_client(job: &Job) -> bool {
    matches!(netwarp_workload::of(&job.only().workload).end(job, Side::Client), End::Program(_))
}

async fn drive(orchestrator: &mut Orchestrator, job: Job, directory: &Path, server: SocketAddr) -> Result<()> {
    let begin = orchestrator.begin().await?;
    let certificate =
        begin.certificate.as_ref().map(hex::decode).transpose().context("reading the server's certificate")?;
    let dialer = stack_of(job.only().transport.kind).dialer(&job, server.ip(), certificate.as_deref())?;
    let run = Arc::new(Run { certificate, ..Run::new(job, &begin, server, directory.to_owned()) });
    let (handovers, seen_handovers) = watch::channel(Handovers::default());
    let mut driven = over_connections(&run.job, Side::Client)?.drive(&run, &dialer, seen_handovers);
    let records = loop {
        tokio::select! {
            biased;
            records = &mut driven => break match records {
                Err(error) if is_of_the_path(&run, &error) && run.token.is_none() => {
                    vec![gave_up(Side::Client, &run, &error)]
                }
                records => records?,
            },
            order = orchestrator.next() => match order? {
                Some(Order::Attached { path }) => on_client_attached(&run, &*dialer, &handovers, path)?,
                Some(Order::Detached { path }) => {
                    let attempt = || format!("leaving path {path}");
                    dialer.detached(address_on(&run.job, path)?).with_context(attempt)?;
                }
                Some(order) => bail!("a client is not ordered to {order:?} while it works"),
                None => bail!("the orchestrator is gone"),
            },
        }
    };
    orchestrator.write(records)?;
    orchestrator.write(run.arrival_log.lock().expect("no holder panics").records())
}

/// Notifies transport and workload that the client now has its address on this path. The transport is notified first,
/// as the workload may open a connection at once.
fn on_client_attached(run: &Run, dialer: &dyn Dialer, handovers: &watch::Sender<Handovers>, path: u32) -> Result<()> {
    let told_ns = Moment::now().since(run.epoch_ns);
    run.arrival_log.lock().expect("no holder panics").record_handover(told_ns, path, Span::of(&run.job, path, told_ns));
    dialer.attached(address_on(&run.job, path)?).with_context(|| format!("moving to path {path}"))?;
    handovers.send_modify(|handovers| handovers.count += 1);
    Ok(())
}

fn address_on(job: &Job, path: u32) -> Result<IpAddr> {
    let index = u8::try_from(path).with_context(|| format!("there is no path {path}"))?;
    Ok(Family::of(job).client(index))
}

/// Runs a role on a single-threaded event loop, and reports to the orchestrator how it ended. An error that cannot be
/// reported to the orchestrator is printed.
fn run(side: Side, role: impl AsyncFnOnce(&mut Orchestrator) -> Result<()>) -> ExitCode {
    try_run(side, role).unwrap_or_else(|error| {
        eprintln!("netwarp-endpoint {}: {error:#}", side.name());
        ExitCode::FAILURE
    })
}

fn try_run(side: Side, role: impl AsyncFnOnce(&mut Orchestrator) -> Result<()>) -> Result<ExitCode> {
    // If the orchestrator has ended before this call, no order to begin will come.
    set_pdeathsig(Signal::SIGKILL).context("asking to die with the orchestrator (prctl PR_SET_PDEATHSIG)")?;
    connection_gauges::inherit()?;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // Each blocking call of the kernel's transports needs a thread; in `traffic`, each flow that is under way does.
    let runtime =
        builder.enable_io().max_blocking_threads(traffic::MOST_OPEN).build().context("starting the event loop")?;
    let code = runtime.block_on(async {
        let mut orchestrator = Orchestrator::open()?;
        let (last, code) = match role(&mut orchestrator).await.and_then(|()| orchestrator.write_usage(side)) {
            Ok(()) => (Message::Done {}, ExitCode::SUCCESS),
            Err(error) => {
                let failure = Failure { stage: side.name().to_owned(), message: format!("{error:#}") };
                (Message::Failed { failure }, ExitCode::FAILURE)
            }
        };
        orchestrator.send(&last).map(|()| code)
    });
    // A blocking call may still wait for a peer that no longer exists.
    runtime.shutdown_background();
    code
}
