//! A running workload: its server and its client, and their progress.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use netwarp_wire::job::Job;
use netwarp_wire::record::{Failure, OfWorkloadRecord, Record, Side};
use netwarp_wire::role_protocol::Order;
use netwarp_workload::Workload;

use super::host::{Host, Shared};
use super::running_role::Role;

/// The server and the client of one workload of a run.
pub(super) struct Pair<'a> {
    job: &'a Job,
    pub workload: &'a dyn Workload,
    server: Box<dyn Role>,
    client: Box<dyn Role>,
    /// The order to begin for the client, kept from when the server is ready until the client's start time.
    client_begin: Option<Order>,
    client_began: bool,
    /// The path that the client attached to last, until the client has been told.
    attached_to: Option<u32>,
    /// The roles that have done all their work.
    finished: Vec<Side>,
    /// Whether the transport of one of the roles has given up, after which both have ended.
    pub gave_up: bool,
    /// The records of what was delivered, to be verified at the end.
    pub delivered: Vec<Record>,
}

impl<'a> Pair<'a> {
    /// Starts both roles of a job, which read it from `job_file`.
    pub(super) fn spawn<'s>(
        host: &mut dyn Host,
        job: &'a Job,
        job_file: &Path,
        shared: impl Fn(Side) -> Shared<'s>,
    ) -> Result<Self> {
        let server = host.spawn(Side::Server, job, job_file, shared(Side::Server))?;
        let client = host.spawn(Side::Client, job, job_file, shared(Side::Client))?;
        Ok(Self {
            job,
            workload: netwarp_workload::of(&job.only().workload),
            server,
            client,
            client_begin: None,
            client_began: false,
            attached_to: None,
            finished: Vec::new(),
            gave_up: false,
            delivered: Vec::new(),
        })
    }

    /// Returns whether a role of the pair is still running.
    pub(super) fn is_running(&self) -> bool {
        self.server.is_running() || self.client.is_running()
    }

    /// Ends both roles, since the transport of one has given up: there is nothing that they could still do, and what
    /// they would send is on the path of others.
    pub(super) fn give_up(&mut self) {
        self.gave_up = true;
        self.server.stop();
        self.client.stop();
    }

    /// Returns, for a message, the program of the machine that is waited for; none if netwarp does the work itself.
    pub(super) fn running_program(&self) -> Option<String> {
        let side = if self.client_began { Side::Client } else { Side::Server };
        let command = self.workload.command_line(side)?;
        let waiting = if self.client_began { "still ran" } else { "was not ready" };
        Some(format!("; the {}'s program {waiting}: {command}", side.name()))
    }

    pub(super) fn role(&self, side: Side) -> &dyn Role {
        match side {
            Side::Client => &*self.client,
            Side::Server => &*self.server,
        }
    }

    pub(super) fn role_mut(&mut self, side: Side) -> &mut dyn Role {
        match side {
            Side::Client => &mut *self.client,
            Side::Server => &mut *self.server,
        }
    }

    /// Notes that the server is ready and keeps the client's order to begin until its start time.
    pub(super) fn server_is_ready(&mut self, begin: Order) {
        self.client_begin = Some(begin);
    }

    /// Returns when the client is to begin, in nanoseconds after the epoch; none if it has begun or its server is not
    /// ready.
    pub(super) fn begins_ns(&self) -> Option<u64> {
        self.client_begin.as_ref().map(|_| self.job.only().start_ns)
    }

    /// Orders the client to begin if the server is ready and the start time has passed.
    pub(super) fn begin_client(&mut self, elapsed_ns: u64) -> Result<()> {
        match self.client_begin.take_if(|_| elapsed_ns >= self.job.only().start_ns) {
            Some(begin) => {
                self.client.order(&begin)?;
                self.client_began = true;
                self.notify_attached()
            }
            None => Ok(()),
        }
    }

    /// Tells the client of its newest path, now or as soon as it has begun.
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

    /// Tells the client that it has lost its address on this path. A client that has not begun uses no path and is not
    /// told.
    pub(super) fn detached(&mut self, path: u32) -> Result<()> {
        let is_there = self.client_began && self.client.is_running();
        if is_there { self.client.order(&Order::Detached { path }) } else { Ok(()) }
    }

    /// Notes that a role has done all its work. If it is the client, orders the server to finish.
    pub(super) fn role_is_done(&mut self, side: Side) -> Result<()> {
        self.finished.push(side);
        if side == Side::Client { self.server.order(&Order::Finish {}) } else { Ok(()) }
    }

    /// Handles the end of a role's process.
    ///
    /// # Errors
    /// The role had not done its work, or its process failed.
    pub(super) fn role_is_gone(&self, side: Side, how: Option<String>) -> Result<(), Failure> {
        if how.is_none() && self.finished.contains(&side) {
            return Ok(());
        }
        let how = how.unwrap_or_else(|| "exited without a word".to_owned());
        Err(self.failure(Failure { stage: side.name().to_owned(), message: format!("the {} {how}", side.name()) }))
    }

    /// Returns a record of one of the roles, marked with the workload's name if the run has several.
    pub(super) fn record(&self, line: Record) -> Record {
        match &self.job.only().name {
            Some(workload) => Record::OfWorkload(OfWorkloadRecord { workload: workload.clone(), line: Box::new(line) }),
            None => line,
        }
    }

    /// Returns a failure of this workload, with the workload's name in its message if the run has several.
    pub(super) fn failure(&self, Failure { stage, message }: Failure) -> Failure {
        match &self.job.only().name {
            Some(workload) => Failure { stage, message: format!("{workload}: {message}") },
            None => Failure { stage, message },
        }
    }

    /// Returns how what was delivered differs from what was to be sent; none if it does not.
    pub(super) fn difference(&self) -> Result<Option<String>> {
        self.workload.difference(self.job, &self.delivered)
    }
}

/// The job files of a run with several workloads, or with a network of its own, one for each, for the roles to read. They are removed when this is
/// dropped.
pub(super) struct JobFiles(Vec<PathBuf>);

impl JobFiles {
    /// Writes the jobs, each into a directory of its own beside the run's job file.
    pub(super) fn write(jobs: &[Job], job_file: &Path) -> Result<Self> {
        let mut files = Self(Vec::new());
        if let [one] = jobs
            && one.only().ends.is_none()
        {
            return Ok(files);
        }
        for job in jobs {
            let name = job.only().name.as_deref().context("one of several workloads has no name")?;
            let file = job_file.with_file_name(name).join("job.json");
            let attempt = || format!("write the job of the workload {name}, {}", file.display());
            let directory = file.parent().with_context(attempt)?;
            fs::create_dir_all(directory).with_context(attempt)?;
            files.0.push(file.clone());
            // A role is told of the path between its host and the other one.
            let mut own = job.clone();
            own.only_mut().ends = None;
            fs::write(&file, serde_json::to_vec(&own)?).with_context(attempt)?;
        }
        Ok(files)
    }

    /// Returns the file of the job with this index.
    pub(super) fn file<'a>(&'a self, place: usize, job_file: &'a Path) -> &'a Path {
        self.0.get(place).map_or(job_file, |file| file)
    }
}

impl Drop for JobFiles {
    fn drop(&mut self) {
        for directory in self.0.iter().filter_map(|file| file.parent()) {
            // The run is over, and its records say how it went.
            let _ = fs::remove_dir_all(directory);
        }
    }
}
