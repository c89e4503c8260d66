//! Converts a job's options to quinn's. Pure.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_wire::job::{Job, Page, Workload};
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{EndpointConfig, IdleTimeout, TransportConfig, VarInt};

use super::congestion::Additions;
use crate::tcp::PATIENCE;

/// The smallest datagram that a QUIC path must carry, in bytes of UDP payload (RFC 9000, section 14).
const SMALLEST_DATAGRAM_BYTES: u32 = 1200;

/// The number of unanswered PINGs after which a connection is given up.
const PINGS: u32 = 3;

const UDP_HEADER_BYTES: u32 = 8;
const IPV4_HEADER_BYTES: u32 = 20;
const IPV6_HEADER_BYTES: u32 = 40;

/// Returns quinn's transport parameters for the job. MTU discovery is off, and packets fill the path's MTU from the
/// start, as in TCP, whose MSS comes from the interface.
///
/// # Arguments
/// * `added` - extensions of quinn's congestion control.
///
/// # Errors
/// quinn does not have the congestion control, or the MTU is too small for QUIC.
pub(super) fn transport(job: &Job, address: IpAddr, added: Additions) -> Result<TransportConfig> {
    let options = &job.only().transport;
    let window = VarInt::from_u64(options.buffer_bytes)
        .with_context(|| format!("a QUIC window cannot have {} bytes", options.buffer_bytes))?;
    let datagram_bytes = datagram_bytes(job, address)?;
    let congestion = added.extend(congestion(&options.congestion, initial_window_bytes(job, address)?)?);
    let idle = idle_timeout(job);
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(congestion)
        .send_window(options.send_buffer_bytes)
        .receive_window(window)
        .stream_receive_window(window)
        .initial_mtu(datagram_bytes)
        // Otherwise quinn would take a burst of losses for a decrease of the path's MTU.
        .min_mtu(datagram_bytes)
        .mtu_discovery_config(None)
        .max_idle_timeout(Some(IdleTimeout::try_from(idle).with_context(|| format!("an idle timeout of {idle:?}"))?))
        .keep_alive_interval(keep_alive_interval(job));
    if options.quic.datagrams {
        let buffer_bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        config
            .datagram_send_buffer_size(buffer_bytes(options.send_buffer_bytes))
            .datagram_receive_buffer_size(Some(buffer_bytes(options.buffer_bytes)));
    }
    Ok(config)
}

/// Returns quinn's endpoint parameters for the job.
///
/// # Errors
/// The MTU is too small for QUIC.
pub(crate) fn endpoint(job: &Job, address: IpAddr) -> Result<EndpointConfig> {
    let largest = datagram_bytes(job, address)?;
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(largest).with_context(|| format!("receiving datagrams of {largest} bytes"))?;
    Ok(config)
}

/// Returns the initial congestion window, in bytes of UDP payload.
///
/// # Errors
/// The MTU is too small for QUIC.
pub(crate) fn initial_window_bytes(job: &Job, address: IpAddr) -> Result<u64> {
    Ok(u64::from(job.only().transport.initial_window_packets) * u64::from(datagram_bytes(job, address)?))
}

/// Returns the UDP payload of a full packet, in bytes.
pub(crate) fn datagram_bytes(job: &Job, address: IpAddr) -> Result<u16> {
    let mtu_bytes = job.paths.first().context("the job has no path")?.mtu_bytes;
    let headers_bytes = UDP_HEADER_BYTES + if address.is_ipv4() { IPV4_HEADER_BYTES } else { IPV6_HEADER_BYTES };
    let fitting_bytes = mtu_bytes.saturating_sub(headers_bytes).min(taken_bytes(job));
    let datagram_bytes = job.only().transport.mss_bytes.map_or(fitting_bytes, |mss_bytes| mss_bytes.min(fitting_bytes));
    ensure!(
        datagram_bytes >= SMALLEST_DATAGRAM_BYTES,
        "QUIC needs datagrams of {SMALLEST_DATAGRAM_BYTES} bytes (RFC 9000, section 14): \
         MTU {mtu_bytes} and MSS {:?} leave {datagram_bytes}",
        job.only().transport.mss_bytes
    );
    u16::try_from(datagram_bytes).with_context(|| format!("UDP has no datagrams of {datagram_bytes} bytes"))
}

/// Returns the size of the largest datagram that the peer's implementation accepts. quic-go, which Caddy uses, has
/// buffers for 1 452 bytes, what IPv6 leaves of an Ethernet frame. It announces this (`max_udp_payload_size`) only
/// after it has truncated the first datagram.
fn taken_bytes(job: &Job) -> u32 {
    const BY_QUIC_GO: u32 = 1452;
    match &job.only().workload {
        Workload::Page(Page { client: None, server: Some(_), .. }) => BY_QUIC_GO,
        _ => u32::MAX,
    }
}

fn congestion(name: &str, initial_window_bytes: u64) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    fn with_window<C: ControllerFactory + Default + Send + Sync + 'static>(
        set: fn(&mut C, u64) -> &mut C,
        bytes: u64,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        let mut config = C::default();
        set(&mut config, bytes);
        Arc::new(config)
    }
    Ok(match name {
        "cubic" => with_window(CubicConfig::initial_window, initial_window_bytes),
        "reno" => with_window(NewRenoConfig::initial_window, initial_window_bytes),
        "bbr" => with_window(BbrConfig::initial_window, initial_window_bytes),
        _ => bail!("quinn has no congestion control {name:?}: it has cubic, reno and bbr"),
    })
}

/// Returns the idle time-out, after which a connection is given up: as long as TCP retransmits plus the longest
/// possible delay of the path, so that neither loss nor a slow path looks like a dead peer; but at most the run's time
/// limit.
fn idle_timeout(job: &Job) -> Duration {
    (PATIENCE + job.longest_way()).min(longest_run(job))
}

/// Returns the idle time after which a PING is sent to keep a connection alive; `None` if the run ends before the idle
/// time-out.
fn keep_alive_interval(job: &Job) -> Option<Duration> {
    let idle = idle_timeout(job);
    (idle < longest_run(job)).then(|| idle / PINGS)
}

fn longest_run(job: &Job) -> Duration {
    Duration::from_nanos(job.limits.virtual_ns)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use netwarp_wire::golden;

    use super::*;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    #[test]
    fn datagrams_fill_the_mtu() {
        let mut job = golden::job("bulk-quic");
        assert_eq!((datagram_bytes(&job, V4).unwrap(), datagram_bytes(&job, V6).unwrap()), (1472, 1452));
        assert_eq!(initial_window_bytes(&job, V4).unwrap(), 14_720);
        job.only_mut().transport.mss_bytes = Some(1300);
        assert_eq!(datagram_bytes(&job, V4).unwrap(), 1300);
        job.paths[0].mtu_bytes = 1280;
        assert_eq!(datagram_bytes(&job, V4).unwrap(), 1252);
    }

    #[test]
    fn a_server_of_the_machine_is_sent_what_it_takes() {
        let job = golden::job("page-programs");
        let mut ours = job.clone();
        let Workload::Page(page) = &mut ours.only_mut().workload else { panic!("the golden job is a page") };
        page.client = None;
        assert_eq!(datagram_bytes(&ours, V4).unwrap(), 1452);
        assert_eq!(datagram_bytes(&job, V4).unwrap(), 1472, "a browser says what it takes itself");
    }

    #[test]
    fn a_path_too_narrow_for_quic_is_refused() {
        let mut job = golden::job("bulk-quic");
        job.paths[0].mtu_bytes = 1227;
        let refused = format!("{:#}", transport(&job, V4, Additions::default()).unwrap_err());
        assert!(refused.contains("1227") && refused.contains("1199"), "{refused}");
    }

    #[test]
    fn a_silent_peer_is_given_up_as_late_as_by_tcp_but_not_after_the_run() {
        let mut job = golden::job("bulk-quic");
        let way = job.longest_way();
        assert_eq!(idle_timeout(&job), PATIENCE + way);
        assert_eq!(keep_alive_interval(&job), Some((PATIENCE + way) / 3), "silence alone is no reason");
        job.paths[0].down.rate_bit_s = Some(8);
        assert!(idle_timeout(&job) > PATIENCE + Duration::from_secs(1500), "a packet may take a while");
        job.limits.virtual_ns = 60_000_000_000;
        assert_eq!((idle_timeout(&job), keep_alive_interval(&job)), (Duration::from_secs(60), None));
        transport(&job, V4, Additions::default()).unwrap();
    }

    #[test]
    fn unknown_congestion_control_is_refused() {
        let mut job = golden::job("bulk-quic");
        for known in ["cubic", "reno", "bbr"] {
            job.only_mut().transport.congestion = known.to_owned();
            transport(&job, V4, Additions::default()).unwrap();
        }
        job.only_mut().transport.congestion = "vegas".to_owned();
        let refused = format!("{:#}", transport(&job, V4, Additions::default()).unwrap_err());
        assert!(refused.contains("vegas") && refused.contains("cubic"), "{refused}");
    }
}
