//! quinn as server or client of runs (`docs/role-protocol.md`), or, without arguments, of the QUIC interop runner.

mod chunk_stream;
mod client;
mod endpoint;
mod interop;
mod program;
mod security;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run()
}
