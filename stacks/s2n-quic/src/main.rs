//! s2n-quic as server or client of netwarp's runs (`docs/role-protocol.md`).

mod carry;
mod client;
mod clock;
mod counters;
mod endpoint;
mod server;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use netwarp_role::{Arguments, Job, Orchestrator, Side, without_cpu_randomness};
use tokio::runtime;

/// Where the server listens.
const PORT: u16 = 4433;

fn main() -> ExitCode {
    let started =
        without_cpu_randomness().and_then(|()| Ok((Arguments::read()?, Orchestrator::open()?, event_loop()?)));
    let (arguments, mut orchestrator, event_loop) = match started {
        Ok(started) => started,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let worked = event_loop.block_on(work(&arguments, &mut orchestrator));
    match orchestrator.end(arguments.side, &worked) {
        Ok(()) if worked.is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// One thread's event loop.
fn event_loop() -> Result<runtime::Runtime> {
    let mut builder = runtime::Builder::new_current_thread();
    builder.enable_io().enable_time().build().context("start the event loop")
}

async fn work(arguments: &Arguments, orchestrator: &mut Orchestrator) -> Result<()> {
    let job = Job::read(&arguments.job)?;
    let server = (arguments.address, PORT).into();
    match arguments.side {
        Side::Server => server::serve(&job, orchestrator, server).await,
        Side::Client => client::drive(&job, orchestrator, server).await,
    }
}
