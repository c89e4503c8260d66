//! quiche as server or client of netwarp's runs: by the role protocol (`docs/role-protocol.md`), or, without arguments, by the
//! contract of the QUIC interop runner.

mod client;
mod connection;
mod interop;
mod outbox;
mod server;
mod socket;

use std::env;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use netwarp_role::{Arguments, Job, Orchestrator, Resume, Side, grow_heap_by_large_steps, without_cpu_randomness};
use netwarp_virtual_time::held_clock;

/// Where the server listens.
const PORT: u16 = 4433;

/// What both ends say they speak.
const PROTOCOL: &[u8] = b"netwarp";

/// How much longer than the run connections may be idle.
const IDLE_BEYOND_MS: u64 = 10_000;

fn main() -> ExitCode {
    if env::args_os().len() == 1 && env::var_os("ROLE").is_some() {
        return interop::run();
    }
    let started = without_cpu_randomness()
        .and_then(|()| grow_heap_by_large_steps())
        .and_then(|()| Ok((Arguments::read()?, Orchestrator::open()?)));
    let (arguments, mut orchestrator) = match started {
        Ok(started) => started,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    if held_clock::is_virtual() {
        held_clock::hold();
    }
    let worked = work(&arguments, &mut orchestrator);
    match orchestrator.end(arguments.side, &worked) {
        Ok(()) if worked.is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn work(arguments: &Arguments, orchestrator: &mut Orchestrator) -> Result<()> {
    let job = Job::read(&arguments.job)?;
    let server = (arguments.address, PORT).into();
    match arguments.side {
        Side::Server => server::serve(&job, orchestrator, server),
        Side::Client => client::drive(&job, orchestrator, server),
    }
}

/// What the job says, in quiche's terms.
///
/// # Errors
/// A congestion control that quiche does not have.
fn config(job: &Job) -> Result<quiche::Config> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    let (transport, payload_bytes) = (&job.transport, job.payload_bytes() as usize);
    let known = ["cubic", "reno", "bbr2"].contains(&transport.congestion.as_str());
    let named = known.then(|| config.set_cc_algorithm_name(&transport.congestion).ok()).flatten();
    named.with_context(|| format!("quiche has cubic, reno and bbr2, not {:?}", transport.congestion))?;
    config.set_application_protos(&[PROTOCOL])?;
    config.set_max_idle_timeout(job.limits.virtual_ns / 1_000_000 + IDLE_BEYOND_MS);
    config.set_max_recv_udp_payload_size(payload_bytes);
    config.set_max_send_udp_payload_size(payload_bytes);
    config.set_initial_congestion_window_packets(transport.initial_window_packets as usize);
    config.enable_pacing(true);
    let window_bytes = transport.buffer_bytes;
    config.set_initial_max_data(window_bytes);
    config.set_initial_max_stream_data_bidi_local(window_bytes);
    config.set_initial_max_stream_data_bidi_remote(window_bytes);
    config.set_max_connection_window(window_bytes);
    config.set_max_stream_window(window_bytes);
    config.set_initial_max_streams_bidi(u64::from(job.bulk.chunks) + 1);
    if transport.resume == Resume::ZeroRtt {
        config.enable_early_data();
    }
    Ok(config)
}
