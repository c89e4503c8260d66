//! Creates clients and servers with the settings of a job, and reads the counters of their connections.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use netwarp_role::{IDLE_BEYOND, Identity, Job, PROTOCOL, Stats, nanoseconds, to_pem};
#[cfg(feature = "noq")]
use quic::congestion::Bbr3Config as Bbr;
#[cfg(not(feature = "noq"))]
use quic::congestion::BbrConfig as Bbr;
use quic::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quic::{Connection, Endpoint, EndpointConfig, IdleTimeout, ServerConfig, TokioRuntime, TransportConfig, VarInt};
use rustls::client::Resumption;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use socket2::SockRef;

use crate::security;

/// The name of the available BBR: quinn has version 1, noq version 3.
const BBR: &str = if cfg!(feature = "noq") { "bbr3" } else { "bbr" };

/// The largest Initial packet, in bytes of UDP payload: what IPv6 leaves of an Ethernet frame, and the most that
/// quic-go reads before it has announced its limit.
const MOST_INITIAL_BYTES: u16 = 1452;

/// Creates a client that trusts only this certificate (hex DER).
///
/// # Errors
/// The implementation does not have an option of the job.
pub(crate) fn client(job: &Job, trusted_hex: &str, own: SocketAddr) -> Result<Endpoint> {
    let trusted = CertificateDer::from_pem_slice(to_pem(trusted_hex)?.as_bytes()).context("read the certificate")?;
    let mut tls = security::tls_client([trusted], PROTOCOL, false)?;
    // The stack's manifest does not list session resumption, so it is switched off.
    tls.resumption = Resumption::disabled();
    let mut config = security::client(tls)?;
    config.transport_config(Arc::new(transport(job)?));
    Ok(with_default_client(open(job, own, None)?, config))
}

/// Returns the endpoint with this configuration for its connections.
pub(crate) fn with_default_client(endpoint: Endpoint, config: quic::ClientConfig) -> Endpoint {
    #[cfg(not(feature = "noq"))]
    let mut endpoint = endpoint;
    endpoint.set_default_client_config(config);
    endpoint
}

/// Creates a server that listens at an address.
///
/// # Errors
/// As [`client`]; the address is not available.
pub(crate) fn server(job: &Job, identity: &Identity, address: SocketAddr) -> Result<Endpoint> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate_pem.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).context("read the server's key")?;
    let tls = security::tls_server(vec![certificate.context("read the certificate")?], key, PROTOCOL)?;
    let mut config = security::server(tls)?;
    config.transport_config(Arc::new(transport(job)?));
    open(job, address, Some(config))
}

/// Opens an endpoint at address `own`, with the job's socket buffers.
fn open(job: &Job, own: SocketAddr, server: Option<ServerConfig>) -> Result<Endpoint> {
    let socket = UdpSocket::bind(own).with_context(|| format!("listen at {own}"))?;
    let buffer_bytes = usize::try_from(job.transport.buffer_bytes).context("size the buffers")?;
    let options = SockRef::from(&socket);
    options
        .set_recv_buffer_size(buffer_bytes)
        .and_then(|()| options.set_send_buffer_size(buffer_bytes))
        .context("size the buffers")?;
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(payload_bytes(job)?).context("size the packets")?;
    Endpoint::new(config, server, socket, Arc::new(TokioRuntime)).context("open an endpoint")
}

/// Returns the transport parameters for the job. Packets fill the path's MTU from the first one on.
fn transport(job: &Job) -> Result<TransportConfig> {
    let window = VarInt::from_u64(job.transport.buffer_bytes).context("size the windows")?;
    let idle = Duration::from_nanos(job.limits.virtual_ns) + IDLE_BEYOND;
    let payload_bytes = payload_bytes(job)?;
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(congestion(job)?)
        .send_window(job.transport.buffer_bytes)
        .receive_window(window)
        .stream_receive_window(window)
        .max_concurrent_bidi_streams((job.bulk.chunks + 1).into())
        .initial_mtu(payload_bytes)
        // Otherwise a burst of losses would be taken for a decrease of the path's MTU. Initials are padded to it.
        .min_mtu(payload_bytes.min(MOST_INITIAL_BYTES))
        .mtu_discovery_config(None)
        .max_idle_timeout(Some(IdleTimeout::try_from(idle).with_context(|| format!("an idle timeout of {idle:?}"))?));
    Ok(config)
}

fn payload_bytes(job: &Job) -> Result<u16> {
    u16::try_from(job.payload_bytes()).context("UDP counts packets in 16 bits")
}

fn congestion(job: &Job) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    fn with_window<C: ControllerFactory + Default + Send + Sync + 'static>(
        set: fn(&mut C, u64) -> &mut C,
        bytes: u64,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        let mut config = C::default();
        set(&mut config, bytes);
        Arc::new(config)
    }
    let bytes = u64::from(job.initial_window_bytes());
    Ok(match job.transport.congestion.as_str() {
        "cubic" => with_window(CubicConfig::initial_window, bytes),
        "reno" => with_window(NewRenoConfig::initial_window, bytes),
        name if name == BBR => with_window(Bbr::initial_window, bytes),
        other => bail!("there are cubic, reno and {BBR}, not {other:?}"),
    })
}

/// Returns the counters of a connection, for its record.
pub(crate) fn stats(connection: &Connection) -> Stats {
    #[cfg(not(feature = "noq"))]
    let path = Some(connection.stats().path);
    #[cfg(feature = "noq")]
    let path = connection.path_stats(quic::PathId::ZERO);
    Stats {
        retransmitted_packets: path.as_ref().map(|path| path.lost_packets),
        smoothed_rtt_ns: path.as_ref().map(|path| nanoseconds(path.rtt)),
        congestion_window_bytes: path.as_ref().map(|path| path.cwnd),
        ..Stats::default()
    }
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
    fn a_congestion_control_that_is_not_there_is_refused() {
        let mut job = job();
        for (name, is_there) in [("cubic", true), ("reno", true), (BBR, true), ("bbr2", false)] {
            name.clone_into(&mut job.transport.congestion);
            assert_eq!(congestion(&job).is_ok(), is_there, "{name}");
        }
    }
}
