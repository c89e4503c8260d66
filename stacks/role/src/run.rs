//! The common part of every role's program: starts, works, and reports to the orchestrator how the work ended.

use std::env;
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Result;
use netwarp_wire::record::{Record, Side};

use crate::chunk::arrived;
use crate::environment::{Arguments, without_cpu_randomness};
use crate::job::Job;
use crate::orchestrator::Orchestrator;

/// Runs as a role or, without arguments, as an endpoint of the QUIC interop runner, and returns the program's exit
/// status.
///
/// # Arguments
/// * `interop` - carries out the task that the interop runner describes in environment variables.
/// * `work` - carries out one side's part of the job, with the server at this address.
pub fn run(
    interop: impl FnOnce() -> ExitCode,
    work: impl FnOnce(Side, &Job, &mut Orchestrator, SocketAddr) -> Result<()>,
) -> ExitCode {
    if env::args_os().len() == 1 && env::var_os("ROLE").is_some() {
        return interop();
    }
    let started = without_cpu_randomness().and_then(|()| Ok((Arguments::read()?, Orchestrator::open()?)));
    let (Arguments { side, job, server }, mut orchestrator) = match started {
        Ok(started) => started,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let worked = Job::read(&job).and_then(|job| {
        work(side, &job, &mut orchestrator, server)?;
        let goodput = arrived().record().filter(|_| job.is_recorded_over_time);
        goodput.map_or(Ok(()), |goodput| orchestrator.write(Record::Goodput(goodput)))
    });
    match orchestrator.end(side, &worked) {
        Ok(()) if worked.is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
