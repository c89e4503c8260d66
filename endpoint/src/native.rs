//! One run on the host's own kernel, in real time, in namespaces that end with it.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::check;
use crate::journal::Journal;
use crate::orchestrate::{self, Stage};
use crate::record::{ClockKind, Failure};
use crate::userns;

/// Carries out `run_directory/job.json`. What goes wrong is in the records, and said on standard error as well.
pub fn run(run_directory: &Path) -> ExitCode {
    match live(run_directory) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(failure)) => complain(&format!("{}: {}", failure.stage, failure.message)),
        Err(error) => complain(&format!("{error:#}")),
    }
}

fn live(run_directory: &Path) -> Result<Option<Failure>> {
    // Roles are given the job by this name.
    let run_directory = std::path::absolute(run_directory)
        .with_context(|| format!("find the run directory {}", run_directory.display()))?;
    let mut journal = Journal::open(&run_directory)?;
    let failure = run_job(&run_directory, &mut journal).err();
    journal.end(failure.clone())?;
    Ok(failure)
}

fn run_job(run_directory: &Path, journal: &mut Journal) -> Result<(), Failure> {
    let job_file = run_directory.join("job.json");
    let job = check::load(&job_file).stage("setup")?;
    userns::enter_private_netns().stage("setup")?;
    orchestrate::run(&job, &job_file, ClockKind::Real, journal)
}

fn complain(message: &str) -> ExitCode {
    eprintln!("netwarp-endpoint: {message}");
    ExitCode::FAILURE
}
