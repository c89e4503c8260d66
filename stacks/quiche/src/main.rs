//! quiche as server or client of runs (`docs/role-protocol.md`), or, without arguments, of the QUIC interop runner.

mod client;
mod connection;
mod interop;
mod outbox;
mod server;
mod socket;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use netwarp_role::{IDLE_BEYOND, Job, PROTOCOL, Resume, Side, grow_heap_by_large_steps};
use netwarp_virtual_time::held_clock;

fn main() -> ExitCode {
    netwarp_role::run(interop::run, |side, job, orchestrator, server| {
        grow_heap_by_large_steps()?;
        if held_clock::is_virtual() {
            held_clock::hold();
        }
        match side {
            Side::Server => server::serve(job, orchestrator, server),
            Side::Client => client::drive(job, orchestrator, server),
        }
    })
}

/// Returns quiche's configuration of a job's connections.
///
/// # Errors
/// quiche does not have the job's congestion control.
fn config(job: &Job) -> Result<quiche::Config> {
    let (transport, streams) = (&job.transport, u64::from(job.bulk.chunks) + 1);
    let idle = Duration::from_nanos(job.limits.virtual_ns) + IDLE_BEYOND;
    let mut config =
        limited_config(PROTOCOL.as_bytes(), job.payload_bytes() as usize, transport.buffer_bytes, streams, idle)?;
    let known = ["cubic", "reno", "bbr2"].contains(&transport.congestion.as_str());
    let named = known.then(|| config.set_cc_algorithm_name(&transport.congestion).ok()).flatten();
    named.with_context(|| format!("quiche has cubic, reno and bbr2, not {:?}", transport.congestion))?;
    config.set_initial_congestion_window_packets(transport.initial_window_packets as usize);
    config.enable_pacing(true);
    if transport.resume == Resume::ZeroRtt {
        config.enable_early_data();
    }
    Ok(config)
}

/// Returns a configuration of quiche with these limits for connections.
///
/// # Arguments
/// * `protocol` - the application protocol (ALPN) that this end offers.
/// * `payload_bytes` - the UDP payload of a full packet, in bytes.
/// * `window_bytes` - the flow-control window of the connection and of each stream, in bytes.
/// * `streams` - how many streams the peer may open.
/// * `idle` - the time without packets after which a connection is given up.
fn limited_config(
    protocol: &[u8],
    payload_bytes: usize,
    window_bytes: u64,
    streams: u64,
    idle: Duration,
) -> Result<quiche::Config> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[protocol])?;
    config.set_max_idle_timeout(idle.as_millis() as u64);
    config.set_max_recv_udp_payload_size(payload_bytes);
    config.set_max_send_udp_payload_size(payload_bytes);
    config.set_initial_max_data(window_bytes);
    config.set_initial_max_stream_data_bidi_local(window_bytes);
    config.set_initial_max_stream_data_bidi_remote(window_bytes);
    config.set_max_connection_window(window_bytes);
    config.set_max_stream_window(window_bytes);
    config.set_initial_max_streams_bidi(streams);
    Ok(config)
}
