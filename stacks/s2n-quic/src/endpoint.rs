//! Creates s2n-quic's clients and servers with the settings of a job.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use netwarp_role::{IDLE_BEYOND, Identity, Job, PROTOCOL, anywhere};
use s2n_quic::provider::congestion_controller::{self, Endpoint, bbr, cubic};
use s2n_quic::provider::io::tokio as io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::s2n_tls as tls;
use s2n_quic::{Client, Server};

use crate::counters::Counting;

/// The largest flow-control window that s2n-quic can represent, in bytes.
const LARGEST_WINDOW_BYTES: u64 = u32::MAX as u64;

/// Creates a client that trusts only the certificate `trusted` (PEM).
///
/// # Errors
/// s2n-quic does not have an option of the job.
pub(crate) fn client(job: &Job, trusted: &str, server: SocketAddr) -> Result<Client> {
    let own = anywhere(server);
    match congestion(job)? {
        Congestion::Cubic(controller) => client_with(job, trusted, own, controller),
        Congestion::Bbr(controller) => client_with(job, trusted, own, controller),
    }
}

/// Creates a server that listens at an address.
///
/// # Errors
/// As [`client`]; the address is not available.
pub(crate) fn server(job: &Job, identity: &Identity, address: SocketAddr) -> Result<Server> {
    match congestion(job)? {
        Congestion::Cubic(controller) => server_with(job, identity, address, controller),
        Congestion::Bbr(controller) => server_with(job, identity, address, controller),
    }
}

/// The congestion controls that s2n-quic has.
enum Congestion {
    Cubic(congestion_controller::Cubic),
    Bbr(congestion_controller::Bbr),
}

fn congestion(job: &Job) -> Result<Congestion> {
    let window_bytes = job.initial_window_bytes();
    match job.transport.congestion.as_str() {
        "cubic" => {
            Ok(Congestion::Cubic(cubic::Builder::default().with_initial_congestion_window(window_bytes).build()))
        }
        "bbr" => Ok(Congestion::Bbr(bbr::Builder::default().with_initial_congestion_window(window_bytes).build())),
        other => bail!("s2n-quic has cubic and bbr, not {other:?}"),
    }
}

fn client_with<C: Endpoint>(job: &Job, trusted: &str, own: SocketAddr, controller: C) -> Result<Client> {
    let security = tls::Client::builder()
        .with_certificate(trusted)
        .and_then(|builder| builder.with_application_protocols([PROTOCOL]))
        .and_then(tls::client::Builder::build)
        .map_err(|error| anyhow!("trust the server's certificate: {error}"))?;
    let never = "this cannot fail";
    Client::builder()
        .with_tls(security)
        .context(never)?
        .with_io(socket(job, own)?)
        .context("open a socket")?
        .with_limits(limits(job)?)
        .context(never)?
        .with_congestion_controller(controller)
        .context(never)?
        .with_event(Counting)
        .context(never)?
        .start()
        .context("start s2n-quic")
}

fn server_with<C: Endpoint>(job: &Job, identity: &Identity, address: SocketAddr, controller: C) -> Result<Server> {
    let (certificate, key) = (&identity.certificate_pem, &identity.key_pem);
    let security = tls::Server::builder()
        .with_certificate(certificate.as_str(), key.as_str())
        .and_then(|builder| builder.with_application_protocols([PROTOCOL]))
        .and_then(tls::server::Builder::build)
        .map_err(|error| anyhow!("use the certificate: {error}"))?;
    let never = "this cannot fail";
    Server::builder()
        .with_tls(security)
        .context(never)?
        .with_io(socket(job, address)?)
        .with_context(|| format!("listen at {address}"))?
        .with_limits(limits(job)?)
        .context(never)?
        .with_congestion_controller(controller)
        .context(never)?
        .with_event(Counting)
        .context(never)?
        .start()
        .with_context(|| format!("start s2n-quic at {address}"))
}

/// Returns a UDP socket whose packets are as large as the path allows from the first one on. s2n-quic's MTU includes
/// the headers of IP and UDP.
fn socket(job: &Job, address: SocketAddr) -> Result<io::Provider> {
    let mtu_bytes =
        u16::try_from(job.payload_bytes() + job.headers_bytes()).context("s2n-quic counts packets in 16 bits")?;
    let buffer_bytes = usize::try_from(job.transport.buffer_bytes).context("size the buffers")?;
    io::Builder::default()
        .with_receive_address(address)
        .and_then(|builder| builder.with_recv_buffer_size(buffer_bytes))
        .and_then(|builder| builder.with_send_buffer_size(buffer_bytes))
        .and_then(|builder| builder.with_max_mtu(mtu_bytes))
        .and_then(|builder| builder.with_initial_mtu(mtu_bytes))
        .and_then(io::Builder::build)
        .context("size the packets")
}

fn limits(job: &Job) -> Result<Limits> {
    let window_bytes = job.transport.buffer_bytes.min(LARGEST_WINDOW_BYTES);
    let idle = Duration::from_nanos(job.limits.virtual_ns) + IDLE_BEYOND;
    let streams = u64::from(job.bulk.chunks) + 1;
    Limits::new()
        .with_data_window(window_bytes)
        .and_then(|limits| limits.with_bidirectional_local_data_window(window_bytes))
        .and_then(|limits| limits.with_bidirectional_remote_data_window(window_bytes))
        .and_then(|limits| limits.with_max_send_buffer_size(window_bytes as u32))
        .and_then(|limits| limits.with_max_open_local_bidirectional_streams(streams))
        .and_then(|limits| limits.with_max_open_remote_bidirectional_streams(streams))
        .and_then(|limits| limits.with_max_idle_timeout(idle))
        .and_then(|limits| limits.with_max_handshake_duration(idle))
        .map_err(|error| anyhow!("set s2n-quic's limits: {error}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Returns a job with a bulk transfer that the planner has written.
    fn job() -> Job {
        let golden = "../../tests/golden/job-bulk-quic-stack.json";
        Job::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(golden)).unwrap()
    }

    #[test]
    fn the_first_flight_is_counted_in_payloads() {
        let mut job = job();
        job.transport.initial_window_packets = 10;
        job.transport.mss_bytes = Some(1200);
        assert_eq!(job.initial_window_bytes(), 12_000);
    }

    #[test]
    fn a_congestion_control_that_s2n_quic_lacks_is_refused() {
        let mut job = job();
        for (name, is_there) in [("cubic", true), ("bbr", true), ("reno", false)] {
            name.clone_into(&mut job.transport.congestion);
            assert_eq!(congestion(&job).is_ok(), is_there, "{name}");
        }
    }
}
