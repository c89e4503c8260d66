//! The file system that a workload's installed programs see.

use std::net::IpAddr;
use std::path::Path;

use anyhow::Result;
use netwarp_core::addresses::{Family, ipv4_beside};
use netwarp_path::topology::{Topology, host_of};
use netwarp_programs::files_of::FilesOf;
use netwarp_programs::root;
use netwarp_programs::{on_host, written};
use netwarp_wire::job::Job;
use netwarp_wire::record::Side;

/// The properties of the file system that installed programs see.
pub struct Sandbox<'a> {
    /// The directory in which programs start.
    pub working_directory: &'a Path,
    /// Whether both hosts have the same files and message queues; otherwise each has its own.
    pub is_shared: bool,
    /// Whether the files that programs write are kept.
    pub keep: bool,
    /// The maximum number of bytes that programs can write to files if they run without a guest, whose memory would
    /// limit it.
    pub written_bytes: u64,
    /// Additional host names of the server.
    pub server_names: &'a [&'a str],
}

impl Sandbox<'_> {
    /// Makes the run directory look empty on hosts with separate files: it contains the output of the other hosts'
    /// programs.
    pub fn hide(&self, job: &Job, run_directory: &Path) -> Result<()> {
        if self.is_shared || self.working_directory.starts_with(run_directory) {
            return Ok(());
        }
        FilesOf::run(false, &hosts_of(job)).iter().try_for_each(|files| root::hide(*files, run_directory))
    }

    /// Returns the host names that resolve in the run, with their addresses. In a network these are the names of all
    /// hosts, and `server` and `client` for the workload's hosts.
    pub fn names<'a>(&'a self, job: &'a Job) -> Vec<(&'a str, IpAddr)> {
        let named = if job.network.is_some() { names_in_network(job) } else { self.names_on_path(job) };
        let is_dual = job.paths.iter().all(|path| path.dual);
        let beside = named.iter().filter(|_| is_dual).map(|(name, address)| (*name, ipv4_beside(*address)));
        named.iter().copied().chain(beside).collect()
    }

    fn names_on_path<'a>(&'a self, job: &'a Job) -> Vec<(&'a str, IpAddr)> {
        let family = Family::of(job);
        let usual = [("client", family.client(0)), ("server", family.server(0)), ("router", family.router(0))];
        let further = self.server_names.iter().map(|name| (*name, family.server(0)));
        usual.into_iter().chain(further).collect()
    }
}

fn names_in_network(job: &Job) -> Vec<(&str, IpAddr)> {
    let topology = Topology::of(job);
    let all: Vec<_> = topology.hosts().into_iter().map(|(name, (_, address))| (name.to_owned(), address)).collect();
    let address = |name: &str| all.iter().find(|(other, _)| other == name).map(|(_, address)| *address);
    let hosts = job.network.iter().flat_map(|network| &network.hosts).map(|name| &**name);
    let sides = [Side::Server, Side::Client].map(|side| (side.name(), host_of(job.only(), side)));
    let aliases = sides.into_iter().filter(|(alias, _)| address(alias).is_none());
    let named = hosts.map(|name| (name, name)).chain(aliases);
    named.filter_map(|(name, host)| Some((name, address(host)?))).collect()
}

/// Returns the names of the hosts on which programs of a job run, the client's last.
pub fn hosts_of(job: &Job) -> Vec<&str> {
    let one = job.only();
    let further = super::of(&one.workload).further_programs().iter().map(|program| &*program.host);
    [host_of(one, Side::Server)].into_iter().chain(further).chain([host_of(one, Side::Client)]).collect()
}

/// Returns the file system of a run's programs; `None` if it runs none. A run with programs has only one workload.
pub fn of_run(job: &Job) -> Option<Sandbox<'_>> {
    super::of(&job.alone()?.workload).sandbox(job)
}

/// Builds the file systems that a job's programs see on a host.
///
/// # Arguments
/// * `run_directory` - where the programs' output is kept; it remains visible to the caller.
/// * `hosts` - host names that resolve, with their addresses.
pub fn build_files(job: &Job, run_directory: &Path, sandbox: &Sandbox<'_>, hosts: &[(&str, IpAddr)]) -> Result<()> {
    let workload = super::of(&job.only().workload);
    let in_sight: Vec<_> = workload.files().into_iter().chain([run_directory]).collect();
    let all = FilesOf::run(sandbox.is_shared, &hosts_of(job));
    on_host::lay_files(&all, sandbox.written_bytes, sandbox.working_directory, &in_sight, hosts)?;
    sandbox.hide(job, run_directory)?;
    workload.fill_sandbox(job)
}

/// Keeps the files that a job's programs have written, if the job says so.
pub fn keep_written(job: &Job, run_directory: &Path) -> Result<()> {
    match of_run(job) {
        Some(Sandbox { keep: true, is_shared, .. }) => {
            written::keep(is_shared, &hosts_of(job), &run_directory.join(written::KEPT))
        }
        _ => Ok(()),
    }
}
