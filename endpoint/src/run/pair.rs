//! A running workload: its roles (server, client, and programs on further hosts), and their progress.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use netwarp_wire::job::{Contract, HostProgram, Job};
use netwarp_wire::record::{Failure, OfWorkloadRecord, Record, Side};
use netwarp_wire::role_protocol::Order;
use netwarp_workload::Workload;

use super::host::{Host, Part, Shared};
use super::running_role::Role;

/// One of the roles of a workload: its client, its server, or a program on a further host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Player {
    Client,
    /// 0: the workload's server; from 1 on: the program with this number on a further host.
    Server(usize),
}

impl Player {
    pub(super) fn side(self) -> Side {
        match self {
            Self::Client => Side::Client,
            Self::Server(_) => Side::Server,
        }
    }
}

/// The roles of one workload of a run.
pub(super) struct Pair<'a> {
    job: &'a Job,
    pub workload: &'a dyn Workload,
    /// The workload's server, followed by the programs on further hosts, in the order in which they begin.
    servers: Vec<Box<dyn Role>>,
    client: Box<dyn Role>,
    /// How many of `servers` are ready.
    ready: usize,
    /// The client's order to begin, kept from when all servers are ready until the client's start time.
    client_begin: Option<Order>,
    client_began: bool,
    /// The path to which the client was attached last, if the client has not been notified yet.
    attached_to: Option<u32>,
    /// The roles that have reported that they have done their work.
    finished: Vec<Player>,
    /// Whether the transport of one of the roles has given up; all roles have been ended then.
    pub gave_up: bool,
    /// The records of delivered content, to be verified at the end.
    pub delivered: Vec<Record>,
}

impl<'a> Pair<'a> {
    /// Starts all roles of a job. Each reads the job from the `job_file` of its side.
    pub(super) fn spawn<'s>(
        host: &mut dyn Host,
        job: &'a Job,
        job_file: impl Fn(Side) -> &'s Path,
        shared: impl Fn(Side) -> Shared<'s>,
    ) -> Result<Self> {
        let workload = netwarp_workload::of(&job.only().workload);
        let mut spawn = |side, further| host.spawn(Part { side, further }, job, job_file(side), shared(side));
        let further = workload.further_programs().iter().map(|program| Some(&*program.host));
        let servers = std::iter::once(None).chain(further).map(|host| spawn(Side::Server, host));
        let servers = servers.collect::<Result<_>>()?;
        let client = spawn(Side::Client, None)?;
        Ok(Self {
            job,
            workload,
            servers,
            client,
            ready: 0,
            client_begin: None,
            client_began: false,
            attached_to: None,
            finished: Vec::new(),
            gave_up: false,
            delivered: Vec::new(),
        })
    }

    /// Returns whether a role of the workload is still running.
    pub(super) fn is_running(&self) -> bool {
        self.client.is_running() || self.servers.iter().any(|server| server.is_running())
    }

    /// Ends all roles because the transport of one has given up: they cannot achieve anything more, and their packets
    /// would only load the paths of other workloads.
    pub(super) fn give_up(&mut self) {
        self.gave_up = true;
        self.servers.iter_mut().for_each(|server| server.stop());
        self.client.stop();
    }

    /// Returns a text, for an error message, about the installed program that is being waited for; `None` if the
    /// workload has no installed program there.
    pub(super) fn running_program(&self) -> Option<String> {
        let side = if self.client_began { Side::Client } else { Side::Server };
        let waiting = if self.client_began { "still ran" } else { "was not ready" };
        if let (Side::Server, Some(program)) = (side, self.further(Player::Server(self.ready))) {
            return Some(format!("; the program of {} {waiting}: {}", program.host, program.command.join(" ")));
        }
        let command = self.workload.command_line(side)?;
        Some(format!("; the {}'s program {waiting}: {command}", side.name()))
    }

    /// Returns the program on a further host that a role runs; `None` if the role is the workload's own server or
    /// client.
    fn further(&self, player: Player) -> Option<&HostProgram> {
        let Player::Server(number) = player else { return None };
        self.workload.further_programs().get(number.checked_sub(1)?)
    }

    /// Returns all roles, servers first: that is the order in which simultaneous messages are read, because when
    /// several roles fail at once, a server is the more likely cause.
    pub(super) fn roles(&self) -> impl Iterator<Item = (Player, &dyn Role)> {
        let servers = self.servers.iter().enumerate().map(|(number, role)| (Player::Server(number), &**role));
        servers.chain([(Player::Client, &*self.client)])
    }

    pub(super) fn role_mut(&mut self, player: Player) -> &mut dyn Role {
        match player {
            Player::Client => &mut *self.client,
            Player::Server(number) => &mut *self.servers[number],
        }
    }

    /// Orders the workload's server to begin.
    pub(super) fn begin(&mut self, begin: &Order) -> Result<()> {
        self.servers[0].order(begin)
    }

    /// Records that the server that began last is ready. Gives the order to begin to the next server, or, after the
    /// last one, keeps it for the client until the client's start time.
    pub(super) fn server_is_ready(&mut self, begin: Order) -> Result<()> {
        self.ready += 1;
        match self.servers.get_mut(self.ready) {
            Some(next) => next.order(&begin),
            None => {
                self.client_begin = Some(begin);
                Ok(())
            }
        }
    }

    /// Returns when the client is to begin, in nanoseconds after the run's epoch; `None` if it has begun already, or a
    /// server is not ready.
    pub(super) fn begins_ns(&self) -> Option<u64> {
        self.client_begin.as_ref().map(|_| self.job.only().start_ns)
    }

    /// Returns whether a server of the workload has still to get ready.
    pub(super) fn awaits_server(&self) -> bool {
        self.client_begin.is_none() && !self.client_began && !self.gave_up
    }

    /// Returns whether the workload's server is a program installed on this machine.
    pub(super) fn is_program(&self) -> bool {
        self.workload.command_line(Side::Server).is_some()
    }

    /// Orders the client to begin, if all servers are ready and it has not begun.
    pub(super) fn begin_client(&mut self) -> Result<()> {
        let Some(begin) = self.client_begin.take() else { return Ok(()) };
        self.client.order(&begin)?;
        self.client_began = true;
        self.notify_attached()
    }

    /// Notifies the client that it is attached to `path`, now or as soon as it has begun.
    pub(super) fn attached(&mut self, path: u32) -> Result<()> {
        self.attached_to = Some(path);
        self.notify_attached()
    }

    fn notify_attached(&mut self) -> Result<()> {
        match self.attached_to.take_if(|_| self.client_began) {
            Some(path) if self.client.is_running() => self.client.order(&Order::Attached { path }),
            _ => Ok(()),
        }
    }

    /// Notifies the client that it has lost its address on this path. A client that has not begun uses no path, and is
    /// not notified.
    pub(super) fn detached(&mut self, path: u32) -> Result<()> {
        let is_there = self.client_began && self.client.is_running();
        if is_there { self.client.order(&Order::Detached { path }) } else { Ok(()) }
    }

    /// Records that a role has done its work. If it is the client, orders the servers to finish, the last one first.
    pub(super) fn role_is_done(&mut self, player: Player) -> Result<()> {
        self.finished.push(player);
        if player != Player::Client {
            return Ok(());
        }
        self.servers.iter_mut().rev().try_for_each(|server| server.order(&Order::Finish {}))
    }

    /// Handles the end of a role's process.
    ///
    /// # Errors
    /// The role had not done its work, or its process failed.
    pub(super) fn role_is_gone(&self, player: Player, how: Option<String>) -> Result<(), Failure> {
        if how.is_none() && self.finished.contains(&player) {
            return Ok(());
        }
        let side = player.side().name();
        let how = how.unwrap_or_else(|| "exited without a word".to_owned());
        let who = self.further(player).map_or_else(
            || side.to_owned(),
            |program| format!("role of the program of {} ({})", program.host, program.command.join(" ")),
        );
        Err(self.failure(Failure { stage: side.to_owned(), message: format!("the {who} {how}") }))
    }

    /// Returns a role's record, marked with the workload's name if the run has several workloads.
    pub(super) fn record(&self, line: Record) -> Record {
        match &self.job.only().name {
            Some(workload) => Record::OfWorkload(OfWorkloadRecord { workload: workload.clone(), line: Box::new(line) }),
            None => line,
        }
    }

    /// Returns a failure of this workload, with the workload's name in its message if the run has several workloads.
    pub(super) fn failure(&self, Failure { stage, message }: Failure) -> Failure {
        match &self.job.only().name {
            Some(workload) => Failure { stage, message: format!("{workload}: {message}") },
            None => Failure { stage, message },
        }
    }

    /// Returns how the delivered content differs from the expected content; `None` if it is the same.
    pub(super) fn difference(&self) -> Result<Option<String>> {
        self.workload.difference(self.job, &self.delivered)
    }
}

/// The job files that the roles read. Usually that is the run's own job file. In a run with several workloads or in a
/// described network, each workload has an additional file, except a single workload of programs, whose output lies
/// beside the run's own. A client of another implementation than the server's also has one. The additional files are
/// removed when this is dropped.
pub(super) struct JobFiles {
    /// For each workload, the paths of the job files that its roles read: the server's, then the client's.
    of_workloads: Vec<(PathBuf, PathBuf)>,
    /// The directories that were created for additional files.
    directories: Vec<PathBuf>,
}

/// The name of the directory with the job file for a client of another implementation than the server's.
const CLIENT_END: &str = "client-end";

impl JobFiles {
    /// Writes the additional job files, each into a directory beside the run's own job file.
    pub(super) fn write(jobs: &[Job], job_file: &Path) -> Result<Self> {
        let mut files = Self { of_workloads: Vec::new(), directories: Vec::new() };
        for job in jobs {
            let only_one = jobs.len() == 1 && (job.only().ends.is_none() || job.has_programs());
            let server = if only_one { job_file.to_owned() } else { files.add_alone(job, job_file)? };
            let client = match own_end(job) {
                Some(own) => files.add(&own, &server, CLIENT_END)?,
                None => server.clone(),
            };
            files.of_workloads.push((server, client));
        }
        Ok(files)
    }

    fn add_alone(&mut self, job: &Job, job_file: &Path) -> Result<PathBuf> {
        let name = job.only().name.as_deref().context("one of several workloads has no name")?;
        // The role's job has only the path between its host and the other one.
        let mut own = job.clone();
        own.only_mut().ends = None;
        self.add(&own, job_file, name)
    }

    fn add(&mut self, job: &Job, beside: &Path, name: &str) -> Result<PathBuf> {
        let directory = beside.with_file_name(name);
        let file = directory.join("job.json");
        let attempt = || format!("write a role's job, {}", file.display());
        fs::create_dir_all(&directory).with_context(attempt)?;
        self.directories.push(directory);
        fs::write(&file, serde_json::to_vec(job)?).with_context(attempt)?;
        Ok(file)
    }

    /// Returns the job file for the role of a side of the workload with this index.
    pub(super) fn file(&self, place: usize, side: Side) -> &Path {
        let (server, client) = &self.of_workloads[place];
        if side == Side::Server { server } else { client }
    }
}

/// Returns the job for a client of another implementation than the server's; `None` if the client reads the server's
/// job file, or the implementations read no job.
fn own_end(job: &Job) -> Option<Job> {
    let end = job.only().transport.client.as_ref().filter(|end| end.stack.contract == Contract::Roles)?.clone();
    let mut own = job.clone();
    let exchange = own.only_mut();
    exchange.ends = None;
    let transport = &mut exchange.transport;
    (transport.stack, transport.congestion, transport.client) = (Some(end.stack), end.congestion, None);
    Some(own)
}

impl Drop for JobFiles {
    fn drop(&mut self) {
        for directory in &self.directories {
            // Ignored if it fails: the run is over, and its records say how it ended.
            let _ = fs::remove_dir_all(directory);
        }
    }
}
