//! s2n-quic as server or client of netwarp's runs: by the role protocol (`docs/role-protocol.md`), or, without arguments,
//! by the contract of the QUIC interop runner.

mod chunk_stream;
mod client;
mod clock;
mod counters;
mod endpoint;
mod interop;
mod server;

use std::env;
use std::process::ExitCode;

use anyhow::Context as _;
use netwarp_role::Side;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    if env::args_os().len() == 1 && env::var_os("ROLE").is_some() {
        return interop::run();
    }
    netwarp_role::run(|side, job, orchestrator, server| {
        let event_loop = Builder::new_current_thread().enable_io().enable_time().build();
        event_loop.context("start the event loop")?.block_on(async {
            match side {
                Side::Server => server::serve(job, orchestrator, server).await,
                Side::Client => client::drive(job, orchestrator, server).await,
            }
        })
    })
}
