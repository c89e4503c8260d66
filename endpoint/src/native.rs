//! One run on the host's own kernel, in real time, in namespaces that end with it.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::host::{Host, Namespaces};
use crate::orchestrate;
use crate::record::{ClockKind, Failure};
use crate::userns;

/// Carries out `run_directory/job.json`. What goes wrong is in the records, and said on standard error as well.
pub(crate) fn run(run_directory: &Path) -> ExitCode {
    let mut host = Namespaces::new(ClockKind::Real, |_| userns::enter_private_netns().map(drop), |_| Ok(()));
    carry_out(run_directory, &mut host)
}

/// Carries out `run_directory/job.json` on these hosts, as [`run`] does.
pub(crate) fn carry_out(run_directory: &Path, host: &mut dyn Host) -> ExitCode {
    match live(run_directory, host) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(failure)) => complain(&format!("{}: {}", failure.stage, failure.message)),
        Err(error) => complain(&format!("{error:#}")),
    }
}

fn live(run_directory: &Path, host: &mut dyn Host) -> Result<Option<Failure>> {
    // Roles are given the job by this name.
    let run_directory = std::path::absolute(run_directory)
        .with_context(|| format!("find the run directory {}", run_directory.display()))?;
    orchestrate::run_directory(&run_directory, host)
}

/// Says on standard error what went wrong.
pub(crate) fn complain(message: &str) -> ExitCode {
    eprintln!("netwarp-endpoint: {message}");
    ExitCode::FAILURE
}
