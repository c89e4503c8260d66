//! The course of every role: it is started, it works, and it tells the orchestrator how that ended.

use std::env;
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Result;
use netwarp_wire::record::{Record, Side};

use crate::chunk::arrived;
use crate::environment::{Arguments, without_cpu_randomness};
use crate::job::Job;
use crate::orchestrator::Orchestrator;

/// Runs a program to its end, and returns its status: a role, or, without arguments, an endpoint of the QUIC interop
/// runner.
///
/// # Arguments
/// * `interop` - does what the runner says in the environment.
/// * `work` - does the job as one side, with the server at an address.
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
