//! Carries out one run on the host's own kernel, in real time, in namespaces that end with the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use netwarp_path::userns;
use netwarp_programs::on_host::{self, NetworkOf};
use netwarp_wire::job::Job;
use netwarp_wire::record::ClockKind;
use netwarp_workload::sandbox;

use super::namespaces::Namespaces;
use crate::check;
use crate::complain::complain;
use crate::run;
use crate::run::host::Host;

/// The name of the job file in the run directory.
const JOB_FILE: &str = "job.json";

/// Carries out `run_directory/job.json`. Failures are in the records and are printed on standard error as well.
pub(crate) fn run(run_directory: &Path) -> ExitCode {
    run_apart_if_of_programs(run_directory, NetworkOf::Run, || run_here(run_directory))
}

/// Calls `run`, in a separate process ([`on_host::apart`]) if the job in `run_directory` runs installed programs.
pub(super) fn run_apart_if_of_programs(
    run_directory: &Path,
    network: NetworkOf,
    run: impl FnOnce() -> ExitCode,
) -> ExitCode {
    let is_of_programs = check::load(&run_directory.join(JOB_FILE)).is_ok_and(|job| job.has_programs());
    if !is_of_programs {
        return run();
    }
    on_host::apart(network, run).unwrap_or_else(|error| complain(format_args!("{error:#}")))
}

fn run_here(run_directory: &Path) -> ExitCode {
    let prepared = run_directory.to_owned();
    let mut host = Namespaces::new(ClockKind::Real, move |job| prepare(job, &prepared));
    run_on(run_directory, &mut host)
}

fn prepare(job: &Job, run_directory: &Path) -> Result<()> {
    refuse_kernel_parameters(job)?;
    match sandbox::of_run(job) {
        Some(sandbox) => sandbox::build_files(job, &absolute(run_directory)?, &sandbox, &sandbox.names(job)),
        None => userns::enter_private_netns().map(drop),
    }
}

/// Refuses a job that sets a parameter of the whole kernel, because the kernel is the host's.
pub(super) fn refuse_kernel_parameters(job: &Job) -> Result<()> {
    ensure!(job.hystart().is_none(), "transport.tcp.hystart is for guests: it is a parameter of the whole kernel");
    Ok(())
}

/// Carries out `run_directory/job.json`, as [`run`] does, on the machines of `host`.
pub(super) fn run_on(run_directory: &Path, host: &mut dyn Host) -> ExitCode {
    // Roles get the path of the job in this form, below this directory.
    match absolute(run_directory).and_then(|directory| run::run_directory(&directory, host)) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(failure)) => complain(format_args!("{}: {}", failure.stage, failure.message)),
        Err(error) => complain(format_args!("{error:#}")),
    }
}

fn absolute(run_directory: &Path) -> Result<PathBuf> {
    let attempt = || format!("find the run directory {}", run_directory.display());
    fs::canonicalize(run_directory).with_context(attempt)
}
