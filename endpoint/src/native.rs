//! One run on the host's own kernel, in real time, in namespaces that end with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use netwarp_path::userns;
use netwarp_programs::on_host::{self, NetworkOf};
use netwarp_wire::job::Job;
use netwarp_wire::record::{ClockKind, Failure};
use netwarp_workload::sandbox;

use crate::check;
use crate::host::{Host, Namespaces};
use crate::orchestrate;

/// The name of the job file in the run directory.
const JOB_FILE: &str = "job.json";

/// Carries out `run_directory/job.json`. Failures are in the records and are printed on standard error as well.
pub(crate) fn run(run_directory: &Path) -> ExitCode {
    run_apart_if_of_programs(run_directory, NetworkOf::Run, || run_here(run_directory))
}

/// Calls `run`, in a process apart ([`on_host::apart`]) if the job in `run_directory` runs programs of the machine.
pub(crate) fn run_apart_if_of_programs(
    run_directory: &Path,
    network: NetworkOf,
    run: impl FnOnce() -> ExitCode,
) -> ExitCode {
    let is_of_programs = check::load(&run_directory.join(JOB_FILE)).is_ok_and(|job| job.has_programs());
    if !is_of_programs {
        return run();
    }
    on_host::apart(network, run).unwrap_or_else(|error| complain(&format!("{error:#}")))
}

fn run_here(run_directory: &Path) -> ExitCode {
    let (prepared, finished) = (run_directory.to_owned(), run_directory.to_owned());
    let prepare = move |job: &Job| prepare(job, &prepared);
    let mut host = Namespaces::new(ClockKind::Real, prepare, move |job| sandbox::keep_written(job, &finished));
    run_on(run_directory, &mut host)
}

fn prepare(job: &Job, run_directory: &Path) -> Result<()> {
    match sandbox::of_run(job) {
        Some(sandbox) => sandbox::build_files(job, &absolute(run_directory)?, &sandbox, &sandbox.hosts()),
        None => userns::enter_private_netns().map(drop),
    }
}

/// Carries out `run_directory/job.json` on these hosts, as [`run`] does.
pub(crate) fn run_on(run_directory: &Path, host: &mut dyn Host) -> ExitCode {
    match live(run_directory, host) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(failure)) => complain(&format!("{}: {}", failure.stage, failure.message)),
        Err(error) => complain(&format!("{error:#}")),
    }
}

fn live(run_directory: &Path, host: &mut dyn Host) -> Result<Option<Failure>> {
    // Roles receive the path of the job under this directory.
    orchestrate::run_directory(&absolute(run_directory)?, host)
}

fn absolute(run_directory: &Path) -> Result<PathBuf> {
    let attempt = || format!("find the run directory {}", run_directory.display());
    fs::canonicalize(run_directory).with_context(attempt)
}

/// Prints an error on standard error.
pub(crate) fn complain(message: &str) -> ExitCode {
    eprintln!("netwarp-endpoint: {message}");
    ExitCode::FAILURE
}
