//! An endpoint by the conventions of the QUIC interop runner, which says in environment variables what to do. Files are
//! fetched by HTTP/0.9 over QUIC (`hq-interop`): the request is a line, and the answer is the file.

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

/// The test cases that this program supports. With quiche a program can choose neither the cipher suite nor when keys
/// are updated; quiche does not mark packets for ECN, and has only version 1.
const TEST_CASES: [&str; 6] = ["handshake", "transfer", "multiconnect", "retry", "resumption", "zerortt"];

/// The flow-control windows, in bytes: larger than the runner's files.
const WINDOW_BYTES: u64 = 64 << 20;

/// The UDP payload of a full packet over Ethernet and IPv4, in bytes.
const PAYLOAD_BYTES: usize = 1472;
/// The UDP payload of a full packet over Ethernet and IPv6, whose header is 20 bytes longer.
const IPV6_PAYLOAD_BYTES: usize = PAYLOAD_BYTES - 20;

/// The number of requests that a connection may have open at a time; QUIC's stream limit is raised as they are
/// answered.
const MOST_STREAMS: u64 = 256;

/// The time without packets after which a connection is given up.
const IDLE: Duration = Duration::from_secs(30);

/// Carries out the task that the environment variables describe, and returns the program's exit status.
pub(crate) fn run() -> ExitCode {
    interop::run(&TEST_CASES, |test_case, task| match task {
        Task::Serve => server::serve(test_case),
        Task::Fetch(requests) => client::fetch(&interop::requests(&requests)?, test_case),
    })
}

/// Returns quiche's configuration, for either side, of connections to a server at this address.
fn config(test_case: &str, server: SocketAddr) -> Result<quiche::Config> {
    let payload_bytes = if server.is_ipv6() { IPV6_PAYLOAD_BYTES } else { PAYLOAD_BYTES };
    let mut config = limited_config(interop::HQ.as_bytes(), payload_bytes, WINDOW_BYTES, MOST_STREAMS, IDLE)?;
    if test_case == "zerortt" {
        config.enable_early_data();
    }
    config.log_keys();
    Ok(config)
}

/// Makes a connection log its TLS secrets, if the environment names a file for that.
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
