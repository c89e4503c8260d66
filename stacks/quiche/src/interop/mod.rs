//! What the QUIC interop runner asks of endpoints, in their environment: files by HTTP/0.9 over QUIC (`hq-interop`), in which the
//! request is a line and the answer is the file.

mod client;
mod server;

use std::env;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use netwarp_role::{Side, without_cpu_randomness};

/// The protocol's name.
const HQ: &[u8] = b"hq-interop";

/// By this status an endpoint says that it does not do a test case.
const UNSUPPORTED: u8 = 127;

/// The test cases that this program does.
const TEST_CASES: [&str; 2] = ["handshake", "transfer"];

/// No orders are waited for.
const NO_ORDERS: i32 = -1;

/// Flow-control windows: more than the runner's files have.
const WINDOW_BYTES: u64 = 64 << 20;

/// The UDP payload that Ethernet has room for.
const PAYLOAD_BYTES: usize = 1472;

/// Most requests of one connection.
const MOST_STREAMS: u64 = 2048;

/// When a connection is given up.
const IDLE_MS: u64 = 30_000;

/// Does what the environment asks for.
pub(crate) fn run() -> ExitCode {
    let asked = env::var("TESTCASE").unwrap_or_default();
    if !TEST_CASES.contains(&asked.as_str()) {
        eprintln!("the test case {asked:?} is not supported");
        return ExitCode::from(UNSUPPORTED);
    }
    match without_cpu_randomness().and_then(|()| work()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<()> {
    match side()? {
        Side::Server => server::serve(),
        Side::Client => client::fetch(&env::var("REQUESTS").context("read REQUESTS")?),
    }
}

fn side() -> Result<Side> {
    match env::var("ROLE").as_deref() {
        Ok("server") => Ok(Side::Server),
        Ok("client") => Ok(Side::Client),
        other => bail!("ROLE is server or client, not {other:?}"),
    }
}

/// What both sides say of themselves.
fn config() -> Result<quiche::Config> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[HQ])?;
    config.set_max_idle_timeout(IDLE_MS);
    config.set_max_recv_udp_payload_size(PAYLOAD_BYTES);
    config.set_max_send_udp_payload_size(PAYLOAD_BYTES);
    config.set_initial_max_data(WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_local(WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_remote(WINDOW_BYTES);
    config.set_max_connection_window(WINDOW_BYTES);
    config.set_max_stream_window(WINDOW_BYTES);
    config.set_initial_max_streams_bidi(MOST_STREAMS);
    config.log_keys();
    Ok(config)
}

/// Has a connection log its secrets, if the environment names a file for them.
fn log_secrets(connection: &mut quiche::Connection) -> Result<()> {
    let Some(name) = env::var_os("SSLKEYLOGFILE").filter(|name| !name.is_empty()) else {
        return Ok(());
    };
    let file: File = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&name)
        .with_context(|| format!("open the key log {}", Path::new(&name).display()))?;
    connection.set_keylog(Box::new(file));
    Ok(())
}
