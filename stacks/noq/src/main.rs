//! noq as server or client of runs, with the program of `stacks/quinn`: noq is a fork of quinn, and has quinn's
//! interface.

#[path = "../../quinn/src/chunk_stream.rs"]
mod chunk_stream;
#[path = "../../quinn/src/client.rs"]
mod client;
#[path = "../../quinn/src/endpoint.rs"]
mod endpoint;
#[path = "../../quinn/src/interop.rs"]
mod interop;
#[path = "../../quinn/src/program.rs"]
mod program;
#[path = "../../quinn/src/security.rs"]
mod security;
#[path = "../../quinn/src/server.rs"]
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run()
}
