//! The file system that a workload's programs of the machine see.

use std::net::IpAddr;
use std::path::Path;

use anyhow::Result;
use netwarp_core::addresses::Family;
use netwarp_programs::files_of::FilesOf;
use netwarp_programs::root;
use netwarp_programs::{on_host, written};
use netwarp_wire::job::Job;

/// What programs of the machine see.
pub struct Sandbox<'a> {
    /// The directory in which programs start.
    pub working_directory: &'a Path,
    /// Whether both hosts have the same files and message queues; otherwise each has its own.
    pub is_shared: bool,
    /// Whether the files that they write are kept.
    pub keep: bool,
    /// The most bytes that they can write to files, where a guest's memory does not limit it.
    pub written_bytes: u64,
    /// Further host names of the server.
    pub server_names: &'a [&'a str],
}

impl Sandbox<'_> {
    /// Makes hosts with files of their own see the run directory as empty: the other's output would be in it.
    pub fn hide(&self, run_directory: &Path) -> Result<()> {
        if self.is_shared || self.working_directory.starts_with(run_directory) {
            return Ok(());
        }
        FilesOf::run(false).iter().try_for_each(|files| root::hide(*files, run_directory))
    }

    /// Returns the host names that resolve in a run with a path of its own, with their addresses.
    pub fn hosts(&self, family: Family) -> Vec<(&str, IpAddr)> {
        let usual = [("client", family.client(0)), ("server", family.server(0)), ("router", family.router(0))];
        let further = self.server_names.iter().map(|name| (*name, family.server(0)));
        usual.into_iter().chain(further).collect()
    }
}

/// Returns the file systems of a run's programs, if it has any. A run with programs has no other workload.
pub fn of_run(job: &Job) -> Option<Sandbox<'_>> {
    super::of(&job.alone()?.workload).sandbox(job)
}

/// Builds the file systems that a job's programs see on a host.
///
/// # Arguments
/// * `run_directory` - where their output is kept; it remains visible to the caller.
/// * `hosts` - host names that resolve, with their addresses.
pub fn build_files(job: &Job, run_directory: &Path, sandbox: &Sandbox<'_>, hosts: &[(&str, IpAddr)]) -> Result<()> {
    let workload = super::of(&job.only().workload);
    let in_sight: Vec<_> = workload.files().into_iter().chain([run_directory]).collect();
    let all = FilesOf::run(sandbox.is_shared);
    on_host::lay_files(all, sandbox.written_bytes, sandbox.working_directory, &in_sight, hosts)?;
    sandbox.hide(run_directory)?;
    workload.fill_sandbox(job)
}

/// Keeps the files that a job's programs have written, if the job says so.
pub fn keep_written(job: &Job, run_directory: &Path) -> Result<()> {
    match of_run(job) {
        Some(Sandbox { keep: true, is_shared, .. }) => written::keep(is_shared, &run_directory.join(written::KEPT)),
        _ => Ok(()),
    }
}
