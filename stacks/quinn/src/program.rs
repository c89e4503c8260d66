//! The program: a role, or, without arguments, an endpoint of the QUIC interop runner.

use std::process::ExitCode;

use netwarp_role::{Side, block_on};

use crate::{client, interop, server};

/// Runs as a role or as an interop endpoint, and returns the program's exit status.
pub(crate) fn run() -> ExitCode {
    netwarp_role::run(interop::run, |side, job, orchestrator, server| {
        block_on(async {
            match side {
                Side::Server => server::serve(job, orchestrator, server).await,
                Side::Client => client::drive(job, orchestrator, server).await,
            }
        })
    })
}
