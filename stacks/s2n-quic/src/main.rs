//! s2n-quic as server or client of runs (`docs/role-protocol.md`), or, without arguments, of the QUIC interop runner.

mod chunk_stream;
mod client;
mod counters;
mod endpoint;
mod interop;
mod server;

use std::process::ExitCode;

use netwarp_role::{Side, block_on};

fn main() -> ExitCode {
    netwarp_role::run(interop::run, |side, job, orchestrator, server| {
        block_on(async {
            match side {
                Side::Server => server::serve(job, orchestrator, server).await,
                Side::Client => client::drive(job, orchestrator, server).await,
            }
        })
    })
}
