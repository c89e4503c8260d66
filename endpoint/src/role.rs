//! The two role processes of a run: the server and the client, each in its own network namespace.
//!
//! A role reads [`Order`]s from standard input and answers with [`Message`]s on descriptor 3.

use std::fs::File;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd as _, FromRawFd as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::arrival_log::Span;
use crate::check;
use crate::clock::{self, Moment};
use crate::gauges;
use crate::job::Job;
use crate::message_pipe::MESSAGE_FD;
use crate::record::{Failure, GaveUpRecord, Record, Side};
use crate::request_prefix::RequestPrefix;
use crate::role_process;
use crate::role_protocol::{Message, Order};
use crate::topology;
use crate::transport::{Connection, Dialer, Error, Listener, Pending, Place, error};
use crate::usage::Usage;
use crate::workload::command::RunPlace;
use crate::workload::{self, End, Handovers, OverConnections, Run};

/// The content of the order to begin.
#[derive(Debug)]
pub(crate) struct Begin {
    /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`.
    pub epoch_ns: u64,
    /// Hex DER of the server's certificate, for a client that needs it.
    pub certificate: Option<String>,
    /// The prefix of every request, where strangers could reach the server.
    pub token: Option<RequestPrefix>,
}

/// Serves the clients of a job file until the order to finish.
pub(crate) fn server(job: &Path, place: Place) -> ExitCode {
    run(Side::Server, async |orchestrator: &mut Orchestrator| {
        let loaded = check::load(job)?;
        if let End::Program(program) = workload::of(&loaded.workload).end(&loaded, Side::Server) {
            ensure!(place.only_from.is_none(), "programs run by another host's word only where they are contained");
            return program.serve(orchestrator, run_of(&loaded, job)?).await;
        }
        serve(orchestrator, loaded, directory_of(job)?, place).await
    })
}

/// Runs the server's program of a job that came from another host, in a process that [`crate::programs::containment`] has contained.
pub(crate) fn contained_server(job: &Job) -> ExitCode {
    run(Side::Server, async |orchestrator: &mut Orchestrator| {
        match workload::of(&job.workload).end(job, Side::Server) {
            End::Program(program) => program.serve(orchestrator, RunPlace { job, directory: None }).await,
            End::Connections(_) => bail!("the server's work is not done by a program"),
        }
    })
}

/// Carries out a job file's workload against the server at this address.
pub(crate) fn client(job: &Path, server: SocketAddr) -> ExitCode {
    run(Side::Client, async |orchestrator: &mut Orchestrator| {
        let loaded = check::load(job)?;
        if let End::Program(program) = workload::of(&loaded.workload).end(&loaded, Side::Client) {
            return program.drive(orchestrator, run_of(&loaded, job)?).await;
        }
        drive(orchestrator, loaded, directory_of(job)?, server).await
    })
}

/// Returns the job's workload, if this program carries it out itself over connections on this side.
fn over_connections(job: &Job, side: Side) -> Result<&dyn OverConnections> {
    match workload::of(&job.workload).end(job, side) {
        End::Connections(workload) => Ok(workload),
        End::Program(_) => {
            bail!("the {}'s work is done by a program with sockets of its own", role_process::name(side))
        }
    }
}

fn run_of<'a>(job: &'a Job, file: &'a Path) -> Result<RunPlace<'a>> {
    Ok(RunPlace { job, directory: Some(directory_of(file)?) })
}

fn directory_of(job_file: &Path) -> Result<&Path> {
    job_file.parent().context("the job file lies in no directory")
}

async fn serve(orchestrator: &mut Orchestrator, job: Job, directory: &Path, place: Place) -> Result<()> {
    let begin = orchestrator.begin().await?;
    let mut listener = job.transport.kind.stack().listen(&job, place)?;
    let first = workload::of(&job.workload).first_reached_by(&job);
    let mut other = first.map(|first| first.transport.kind.stack().listen(&first, place)).transpose()?;
    orchestrator.send(&Message::Ready { certificate: listener.certificate().map(hex::encode) })?;
    let run = Arc::new(Run::new(job, &begin, place.address, directory.to_owned()));
    let (finish, finished) = watch::channel(false);
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                served.spawn(serve_one(run.clone(), accepted?, finished.clone()));
            }
            accepted = accept_at(&mut other) => {
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
    finish.send_replace(true);
    while let Some(records) = served.join_next().await {
        orchestrator.write(unless_strangers(&run, records.context("serving a client")?)?)?;
    }
    orchestrator.write(run.arrival_log.lock().expect("no holder panics").records())
}

/// Returns the records of a connection. Where strangers could reach the server, a connection that fails is taken for a
/// stranger's: if it was the client's, the client reports the failure, which fails the run as well.
fn unless_strangers(run: &Run, records: Result<Vec<Record>>) -> Result<Vec<Record>> {
    match records {
        Err(error) if run.token.is_some() => {
            eprintln!("netwarp-endpoint server: gave up a connection: {error:#}");
            Ok(Vec::new())
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::TimedOut(_))) => {
            Ok(vec![gave_up(Side::Server, run, &error)])
        }
        records => records,
    }
}

/// Returns the record of a connection that a side's transport has given up, since the peer did not answer any more.
/// That is a result of the path, on which nobody else is.
fn gave_up(side: Side, run: &Run, cause: &anyhow::Error) -> Record {
    let at_ns = Moment::now().since(run.epoch_ns);
    Record::GaveUp(GaveUpRecord { side, at_ns, cause: format!("{cause:#}") })
}

/// Accepts the next connection, where there is a listener. Dropping this future loses no connection.
async fn accept_at(listener: &mut Option<Box<dyn Listener>>) -> error::Result<Pending<'static, Box<dyn Connection>>> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Serves one connection, starting with its handshake. A handshake is abandoned when the run is finished.
async fn serve_one(
    run: Arc<Run>,
    handshake: Pending<'static, Box<dyn Connection>>,
    mut finished: watch::Receiver<bool>,
) -> Result<Vec<Record>> {
    let connection = tokio::select! {
        biased;
        established = handshake => established,
        Ok(_) = finished.wait_for(|finished| *finished) => return Ok(Vec::new()),
    };
    match connection {
        Ok(connection) => Ok(over_connections(&run.job, Side::Server)?.serve(&run, connection, finished).await?),
        Err(_) if foreign_client(&run.job) => Ok(Vec::new()),
        Err(error) => Ok(run.ignore_if_abandoned(error, None).map(|()| Vec::new())?),
    }
}

/// Returns whether the client is a program of the machine. It may open connections that it does not use, and reports
/// itself how it ended.
fn foreign_client(job: &Job) -> bool {
    matches!(workload::of(&job.workload).end(job, Side::Client), End::Program(_))
}

async fn drive(orchestrator: &mut Orchestrator, job: Job, directory: &Path, server: SocketAddr) -> Result<()> {
    let begin = orchestrator.begin().await?;
    let certificate =
        begin.certificate.as_ref().map(hex::decode).transpose().context("reading the server's certificate")?;
    let dialer = job.transport.kind.stack().dialer(&job, server.ip(), certificate.as_deref())?;
    let run = Arc::new(Run { certificate, ..Run::new(job, &begin, server, directory.to_owned()) });
    let (handovers, seen_handovers) = watch::channel(Handovers::default());
    let mut driven = over_connections(&run.job, Side::Client)?.drive(&run, &dialer, seen_handovers);
    let records = loop {
        tokio::select! {
            biased;
            records = &mut driven => break match records {
                Err(Error::TimedOut(cause)) if run.token.is_none() => vec![gave_up(Side::Client, &run, &cause)],
                records => records?,
            },
            order = orchestrator.next() => match order? {
                Some(Order::Attached { path }) => on_client_attached(&run, &*dialer, &handovers, path)?,
                Some(Order::Detached { path }) => {
                    let attempt = || format!("leaving path {path}");
                    dialer.detached(address_on(path)?.into()).with_context(attempt)?;
                }
                Some(order) => bail!("a client is not ordered to {order:?} while it works"),
                None => bail!("the orchestrator is gone"),
            },
        }
    };
    orchestrator.write(records)?;
    orchestrator.write(run.arrival_log.lock().expect("no holder panics").records())
}

/// Reports that the client now has its address on this path. The transport is told before the workload, which may dial
/// as soon as it knows.
fn on_client_attached(run: &Run, dialer: &dyn Dialer, handovers: &watch::Sender<Handovers>, path: u32) -> Result<()> {
    let told_ns = Moment::now().since(run.epoch_ns);
    run.arrival_log.lock().expect("no holder panics").record_handover(told_ns, path, Span::of(&run.job, path, told_ns));
    dialer.attached(address_on(path)?.into()).with_context(|| format!("moving to path {path}"))?;
    handovers.send_modify(|handovers| handovers.count += 1);
    Ok(())
}

fn address_on(path: u32) -> Result<Ipv4Addr> {
    let index = u8::try_from(path).with_context(|| format!("there is no path {path}"))?;
    Ok(topology::client_address(index))
}

/// Runs a role on a single-threaded event loop and tells the orchestrator how it ended.
fn run(side: Side, role: impl AsyncFnOnce(&mut Orchestrator) -> Result<()>) -> ExitCode {
    let stage = role_process::name(side);
    // If the orchestrator has ended already, no order to begin will come.
    if let Err(errno) = set_pdeathsig(Signal::SIGKILL) {
        return complain(stage, &format!("asking to die with the orchestrator (prctl PR_SET_PDEATHSIG): {errno}"));
    }
    if let Err(error) = gauges::inherit() {
        return complain(stage, &format!("{error:#}"));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(stage, &format!("starting the event loop: {error}")),
    };
    let code = runtime.block_on(async {
        let mut orchestrator = match Orchestrator::open() {
            Ok(orchestrator) => orchestrator,
            Err(error) => return complain(stage, &format!("{error:#}")),
        };
        let (last, code) = match role(&mut orchestrator).await.and_then(|()| orchestrator.write_usage(side)) {
            Ok(()) => (Message::Done {}, ExitCode::SUCCESS),
            Err(error) => {
                let failure = Failure { stage: stage.to_owned(), message: format!("{error:#}") };
                (Message::Failed { failure }, ExitCode::FAILURE)
            }
        };
        orchestrator.send(&last).map_or_else(|error| complain(stage, &format!("{error:#}")), |()| code)
    });
    // A blocking call may still be waiting for a peer that has gone.
    runtime.shutdown_background();
    code
}

/// Reports an error that cannot be sent to the orchestrator.
fn complain(stage: &str, message: &str) -> ExitCode {
    eprintln!("netwarp-endpoint {stage}: {message}");
    ExitCode::FAILURE
}

/// The pipes to and from the orchestrator.
pub(crate) struct Orchestrator {
    orders: Lines<BufReader<Receiver>>,
    messages: File,
    /// The CPU time used before the order to begin.
    usage: Option<Usage>,
}

impl Orchestrator {
    fn open() -> Result<Self> {
        let orders = std::io::stdin().as_fd().try_clone_to_owned().context("taking standard input")?;
        let orders = Receiver::from_owned_fd(orders)
            .context("standard input is not a pipe of orders: roles are started by the orchestrator, not by hand")?;
        // Programs of the machine that a role starts are not to speak for it.
        // SAFETY: the call takes numbers, and fails where the descriptor is not open.
        if unsafe { libc::fcntl(MESSAGE_FD, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            bail!("descriptor {MESSAGE_FD} is not open: roles are started by the orchestrator, not by hand");
        }
        // SAFETY: the descriptor is open, and the orchestrator opened it for this role to own.
        let messages = unsafe { File::from_raw_fd(MESSAGE_FD) };
        Ok(Self { orders: BufReader::new(orders).lines(), messages, usage: None })
    }

    /// Waits for the order to begin.
    ///
    /// # Errors
    /// Another order, or none.
    pub(crate) async fn begin(&mut self) -> Result<Begin> {
        match self.next().await? {
            Some(Order::Begin { epoch_ns, certificate, token }) => {
                self.usage = Some(Usage::now()?);
                let token = token.map(RequestPrefix::try_from).transpose().map_err(anyhow::Error::msg)?;
                Ok(Begin { epoch_ns, certificate, token })
            }
            Some(order) => bail!("ordered to {order:?} before having begun"),
            None => bail!("standard input closed before the order to begin"),
        }
    }

    /// Returns the next order; none when the orchestrator has closed the pipe. Dropping this future loses no order.
    ///
    /// # Errors
    /// An order that is not understood.
    pub(crate) async fn next(&mut self) -> Result<Option<Order>> {
        let Some(line) = self.orders.next_line().await.context("reading an order")? else { return Ok(None) };
        serde_json::from_str(&line).map(Some).with_context(|| format!("reading the order {line:?}"))
    }

    /// Sends records to the orchestrator, which writes them to `records.jsonl`.
    ///
    /// # Errors
    /// An orchestrator that is gone.
    pub(crate) fn write(&mut self, records: Vec<Record>) -> Result<()> {
        records.into_iter().try_for_each(|record| self.send(&Message::Write { line: Box::new(record) }))
    }

    /// Writes the record of the CPU time that this side has used since the order to begin; none in virtual time, where
    /// computing is free.
    fn write_usage(&mut self, side: Side) -> Result<()> {
        match self.usage.filter(|_| !clock::is_virtual()) {
            Some(start) => self.write(vec![Usage::now()?.since(start, side)]),
            None => Ok(()),
        }
    }

    /// Sends the orchestrator a message.
    ///
    /// # Errors
    /// An orchestrator that is gone.
    pub(crate) fn send(&mut self, message: &Message) -> Result<()> {
        let mut line = serde_json::to_vec(message).context("encoding a message")?;
        line.push(b'\n');
        self.messages.write_all(&line).with_context(|| format!("writing a message to descriptor {MESSAGE_FD}"))
    }
}
