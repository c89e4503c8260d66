//! s2n-quic as server or client of runs (`docs/role-protocol.md`), or, without arguments, of the QUIC interop runner.

mod chunk_stream;
mod client;
mod counters;
mod endpoint;
mod interop;
mod server;

use std::env;
use std::process::ExitCode;

use netwarp_role::{Side, block_on};

fn main() -> ExitCode {
    if env::args_os().len() == 1 && env::var_os("ROLE").is_some() {
        return interop::run();
    }
    netwarp_role::run(|side, job, orchestrator, server| {
        block_on(async {
            match side {
                Side::Server => server::serve(job, orchestrator, server).await,
                Side::Client => client::drive(job, orchestrator, server).await,
            }
        })
    })
}
