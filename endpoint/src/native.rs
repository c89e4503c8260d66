//! One run on the host's own kernel, in real time, in namespaces that end with it.
//!
//! Programs of the machine are root of a user namespace, whoever starts them: so they may do nothing to the host that its user
//! may not, and Landlock keeps them from writing to what has no layer ([`crate::programs::host_layers`]).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use crate::check;
use crate::host::{Host, Namespaces};
use crate::job::Job;
use crate::netns::{unshare_mounts_and_messages, unshare_processes};
use crate::orchestrate;
use crate::programs::host_layers::HostFiles;
use crate::programs::root::{self, Base};
use crate::programs::written;
use crate::record::{ClockKind, Failure};
use crate::userns;
use crate::workload::{self, Sandbox};

/// The job, in the run directory.
const JOB_FILE: &str = "job.json";

/// Carries out `run_directory/job.json`. What goes wrong is in the records, and said on standard error as well.
pub(crate) fn run(run_directory: &Path) -> ExitCode {
    let is_of_programs =
        check::load(&run_directory.join(JOB_FILE)).is_ok_and(|job| workload::of(&job.workload).sandbox(&job).is_some());
    if !is_of_programs {
        return run_here(run_directory);
    }
    match apart() {
        Ok(Process::Inner) => run_here(run_directory),
        Ok(Process::Outer(code)) => code,
        Err(error) => complain(&format!("{error:#}")),
    }
}

/// Which of two processes this is.
enum Process {
    /// The first of a process number space of its own.
    Inner,
    /// The one that waited for it: how it ended.
    Outer(ExitCode),
}

/// Goes on as root of a user namespace, and as the first process of a process number space: when it ends, however it does, the kernel
/// ends all that it has started and buries them. Programs would else outlive their roles as the children of whoever started the run, who
/// does not know them.
fn apart() -> Result<Process> {
    userns::enter_private_userns()?;
    unshare_processes()?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }.context("start the first process of the run (fork)")? {
        ForkResult::Child => {
            set_pdeathsig(Signal::SIGKILL).context("ask to die with the run (prctl PR_SET_PDEATHSIG)")?;
            Ok(Process::Inner)
        }
        ForkResult::Parent { child } => {
            let ended = waitpid(child, None).context("wait for the run's first process")?;
            let is_success = matches!(ended, WaitStatus::Exited(_, 0));
            Ok(Process::Outer(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
        }
    }
}

fn run_here(run_directory: &Path) -> ExitCode {
    let (prepared, finished) = (run_directory.to_owned(), run_directory.to_owned());
    let prepare = move |job: &Job| prepare(job, &prepared);
    let mut host = Namespaces::new(ClockKind::Real, prepare, move |job| finish(job, &finished));
    run_on(run_directory, &mut host)
}

fn prepare(job: &Job, run_directory: &Path) -> Result<()> {
    let workload = workload::of(&job.workload);
    let Some(sandbox) = workload.sandbox(job) else { return userns::enter_private_netns().map(drop) };
    let run_directory = absolute(run_directory)?;
    unshare_mounts_and_messages()?;
    let files = HostFiles::now()?;
    root::mount_memory(sandbox.written_bytes)?;
    files.reveal(&run_directory)?;
    workload.files().into_iter().try_for_each(|file| files.reveal(file))?;
    root::build(&Base::Host(files), sandbox.working_directory, &sandbox.hosts())?;
    workload.fill_sandbox(job)
}

fn finish(job: &Job, run_directory: &Path) -> Result<()> {
    match workload::of(&job.workload).sandbox(job) {
        Some(Sandbox { keep: true, .. }) => written::keep(&run_directory.join(written::KEPT)),
        _ => Ok(()),
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
    // Roles are given the job by this name.
    orchestrate::run_directory(&absolute(run_directory)?, host)
}

fn absolute(run_directory: &Path) -> Result<PathBuf> {
    let attempt = || format!("find the run directory {}", run_directory.display());
    fs::canonicalize(run_directory).with_context(attempt)
}

/// Says on standard error what went wrong.
pub(crate) fn complain(message: &str) -> ExitCode {
    eprintln!("netwarp-endpoint: {message}");
    ExitCode::FAILURE
}
