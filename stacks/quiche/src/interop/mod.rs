//! An endpoint by the contract of the QUIC interop runner, which tells it in environment variables what to do. Files
//! are fetched by HTTP/0.9 over QUIC (`hq-interop`): the request is a line, and the answer is the file.

mod client;
mod server;

use std::env;
use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use netwarp_role::interop::{self, Task};

use crate::limited_config;

/// The test cases that this program supports. Quiche chooses neither the cipher suite nor when keys are updated, marks
/// nothing for ECN, and has version 1 alone.
const TEST_CASES: [&str; 6] = ["handshake", "transfer", "multiconnect", "retry", "resumption", "zerortt"];

/// The flow-control windows, in bytes: larger than the runner's files.
const WINDOW_BYTES: u64 = 64 << 20;

/// The UDP payload of a full packet over Ethernet and IPv4, in bytes.
const PAYLOAD_BYTES: usize = 1472;
/// The same over IPv6, whose header is 20 bytes longer.
const IPV6_PAYLOAD_BYTES: usize = PAYLOAD_BYTES - 20;

/// The number of requests that one connection may have at a time; it is raised as they are answered.
const MOST_STREAMS: u64 = 256;

/// How long nothing may arrive before a connection is given up.
const IDLE: Duration = Duration::from_secs(30);

/// Does what the environment asks for, and returns the program's status.
pub(crate) fn run() -> ExitCode {
    interop::run(&TEST_CASES, |test_case, task| match task {
        Task::Serve => server::serve(test_case),
        Task::Fetch(requests) => client::fetch(&interop::requests(&requests)?, test_case),
    })
}

/// Returns the configuration of both sides of a connection to this address of a server.
fn config(test_case: &str, server: SocketAddr) -> Result<quiche::Config> {
    let payload_bytes = if server.is_ipv6() { IPV6_PAYLOAD_BYTES } else { PAYLOAD_BYTES };
    let mut config = limited_config(interop::HQ.as_bytes(), payload_bytes, WINDOW_BYTES, MOST_STREAMS, IDLE)?;
    if test_case == "zerortt" {
        config.enable_early_data();
    }
    config.log_keys();
    Ok(config)
}

/// Has a connection log its secrets, if the environment names a file for that.
fn log_secrets(connection: &mut quiche::Connection) -> Result<()> {
    let Some(name) = env::var_os("SSLKEYLOGFILE").filter(|name| !name.is_empty()) else { return Ok(()) };
    let file: File = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&name)
        .with_context(|| format!("open the key log {}", Path::new(&name).display()))?;
    connection.set_keylog(Box::new(file));
    Ok(())
}
