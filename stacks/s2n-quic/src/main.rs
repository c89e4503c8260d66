//! s2n-quic as server or client of netwarp's runs (`docs/role-protocol.md`).

mod chunk_stream;
mod client;
mod clock;
mod counters;
mod endpoint;
mod server;

use std::process::ExitCode;

use anyhow::Context as _;
use netwarp_role::Side;
use tokio::runtime::Builder;

fn main() -> ExitCode {
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
