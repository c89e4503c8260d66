//! Measures the delay of an idle path after the workload, with small UDP packets that the server's host echoes.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use netwarp_core::addresses::Family;
use netwarp_core::clock::Moment;
use netwarp_wire::job::{Impairments, Job, Path};
use netwarp_wire::record::{ClockKind, OfWorkloadRecord, ProbeRecord, Record, Side};

use crate::network::Network;
use crate::topology::{CLIENT, Device, Node, SERVER, Topology, host_of};

/// How many probes are sent, one after the other.
const PROBES: u32 = 8;

/// How far a delay drawn from netem's tables can lie from the mean, as a multiple of the jitter (`NETEM_DIST_SCALE`).
const JITTERS: u64 = 4;

/// How much longer than the path's delay a probe may take, in real time, because of the kernels at both ends.
const GRACE: Duration = Duration::from_secs(1);

/// The pause between two checks whether a path is idle.
const IDLE_PAUSE: Duration = Duration::from_millis(10);
/// The virtual time after which probing is given up if the path is still not idle.
const IDLE_VIRTUAL: Duration = Duration::from_secs(600);
/// The real time after which probing is given up if the path is still not idle.
const IDLE_REAL: Duration = Duration::from_secs(5);

/// Returns the size of a probe on the wire: Ethernet, IP and UDP headers, and the probe's number.
fn wire_bytes(is_ipv6: bool) -> u64 {
    14 + if is_ipv6 { 40 } else { 20 } + 8 + 4
}

/// Probes every path. No probe is sent, and the record says so, on a path to which the client is not attached, whose
/// rate is 0, or that does not become idle.
///
/// # Arguments
/// * `paths` - the job's paths after all events of the timeline.
pub fn probe(
    network: &mut Network,
    topology: &Topology<'_>,
    job: &Job,
    paths: &[Path],
    clock: ClockKind,
) -> Result<Vec<Record>> {
    if job.network.is_some() {
        let now = Job { paths: paths.to_vec(), ..job.clone() };
        return now.each_alone().iter().map(|alone| probe_between(network, topology, alone, clock)).collect();
    }
    let (family, mut records) = (Family::of(job), Vec::new());
    for (index, path) in (0..=u8::MAX).zip(paths) {
        let server = family.server(if job.timeline.has_handovers() { 0 } else { index });
        let bottlenecks = topology.bottlenecks(index.into()).into_iter().flatten().collect();
        let way = Way { client: (CLIENT, family.client(index)), server: (SERVER, server), bottlenecks };
        records.push(Record::Probe(probe_path(network, &way, path, clock)?.record(index)));
    }
    Ok(records)
}

/// Probes the links between the two hosts of a workload. `alone` is the job with this workload only. The record names
/// the workload.
fn probe_between(network: &mut Network, topology: &Topology<'_>, alone: &Job, clock: ClockKind) -> Result<Record> {
    let one = alone.only();
    let hosts = topology.hosts();
    let host = |side| hosts.get(host_of(one, side)).copied().context("a workload's host was not built");
    let links = one.ends.iter().flat_map(|ends| &ends.links).filter_map(|&link| u16::try_from(link).ok());
    let bottlenecks = links.flat_map(|link| topology.bottlenecks(link)).flatten().collect();
    let way = Way { client: host(Side::Client)?, server: host(Side::Server)?, bottlenecks };
    let line = Record::Probe(probe_path(network, &way, &alone.paths[0], clock)?.record(0));
    let workload = one.name.clone().context("a workload of a network has no name")?;
    Ok(Record::OfWorkload(OfWorkloadRecord { workload, line: Box::new(line) }))
}

/// The route of a path's probes: both hosts with their addresses, and the devices between them whose queues must be
/// empty.
struct Way {
    client: (Node, IpAddr),
    server: (Node, IpAddr),
    bottlenecks: Vec<Device>,
}

fn probe_path(network: &mut Network, way: &Way, path: &Path, clock: ClockKind) -> Result<Fastest> {
    let mut fastest = Fastest::default();
    let is_open = |impairments: &Impairments| impairments.rate_bit_s != Some(0);
    if path.attached && is_open(&path.down) && is_open(&path.up) && falls_idle(network, &way.bottlenecks, clock)? {
        let client = network.udp_socket(way.client.0, way.client.1)?;
        let server = network.udp_socket(way.server.0, way.server.1)?;
        client.connect(server.local_addr()?).context("aim the probes at the server")?;
        server.set_read_timeout(Some(patience(path, &path.up))).context("set a receive time-out")?;
        client.set_read_timeout(Some(patience(path, &path.down))).context("set a receive time-out")?;
        for number in 0..PROBES {
            fastest.sent += 1;
            if let Some((up_ns, down_ns)) = there_and_back(&client, &server, number)? {
                fastest.add(up_ns, down_ns);
            }
        }
    }
    Ok(fastest)
}

fn falls_idle(network: &mut Network, bottlenecks: &[Device], clock: ClockKind) -> Result<bool> {
    let patience = match clock {
        ClockKind::Virtual => IDLE_VIRTUAL,
        ClockKind::Real => IDLE_REAL,
    };
    let start = Moment::now();
    loop {
        let mut queued_packets = 0;
        for device in bottlenecks {
            queued_packets += network.netem_counters(*device)?.queued_packets;
        }
        if queued_packets == 0 {
            return Ok(true);
        }
        if Duration::from_nanos(Moment::now().since(start.since(0))) > patience {
            return Ok(false);
        }
        sleep(IDLE_PAUSE);
    }
}

/// Sends a probe and returns its one-way delays up and down, in nanoseconds; `None` if the probe or its echo was lost.
/// The echo goes to the probe's source address: the router's, if the router translates addresses.
fn there_and_back(client: &UdpSocket, server: &UdpSocket, number: u32) -> Result<Option<(u64, u64)>> {
    let sent = Moment::now().since(0);
    client.send(&number.to_be_bytes()).context("send a probe")?;
    let Some(source) = source_of(server, number)? else { return Ok(None) };
    let echoed = Moment::now().since(0);
    server.send_to(&number.to_be_bytes(), source).context("send an echo")?;
    if source_of(client, number)?.is_none() {
        return Ok(None);
    }
    let received = Moment::now().since(0);
    Ok(Some((echoed - sent, received - echoed)))
}

/// Waits for the probe with this number, ignoring duplicates and late probes, and returns its source address; [`None`]
/// if it was lost.
fn source_of(socket: &UdpSocket, number: u32) -> Result<Option<SocketAddr>> {
    let mut payload = [0; 4];
    loop {
        match socket.recv_from(&mut payload) {
            Ok((_, source)) if payload == number.to_be_bytes() => return Ok(Some(source)),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
            Err(error) => return Err(error).context("receive a probe"),
        }
    }
}

/// Returns how long to wait for a probe in one direction: the longest time that it can take there.
fn patience(path: &Path, impairments: &Impairments) -> Duration {
    let serialisation_ns = impairments.rate_bit_s.map_or(0, |rate| wire_bytes(path.ipv6) * 8 * 1_000_000_000 / rate);
    let longest_ns =
        impairments.delay_ns.saturating_add(JITTERS * impairments.jitter_ns + impairments.longest_repair_ns());
    let delay_ns = longest_ns.saturating_add(impairments.aggregate_ns);
    GRACE.saturating_add(Duration::from_nanos(delay_ns.saturating_add(serialisation_ns)))
}

/// The result of probing: how many probes were sent and echoed, and their smallest delays.
#[derive(Debug, Default)]
struct Fastest {
    sent: u32,
    received: u32,
    round_trip_ns: Option<u64>,
    down_ns: Option<u64>,
    up_ns: Option<u64>,
}

impl Fastest {
    fn add(&mut self, up_ns: u64, down_ns: u64) {
        let smaller = |old: Option<u64>, new: u64| Some(old.map_or(new, |old| old.min(new)));
        self.received += 1;
        self.round_trip_ns = smaller(self.round_trip_ns, up_ns + down_ns);
        self.up_ns = smaller(self.up_ns, up_ns);
        self.down_ns = smaller(self.down_ns, down_ns);
    }

    fn record(&self, path: u8) -> ProbeRecord {
        ProbeRecord {
            path: path.into(),
            sent: self.sent,
            received: self.received,
            min_rtt_ns: self.round_trip_ns,
            min_delay_down_ns: self.down_ns,
            min_delay_up_ns: self.up_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_are_of_each_direction_alone() {
        let mut fastest = Fastest { sent: 3, ..Fastest::default() };
        fastest.add(50, 70);
        fastest.add(60, 55);
        let record = fastest.record(3);
        assert_eq!((record.path, record.received, record.min_rtt_ns), (3, 2, Some(115)));
        assert_eq!((record.min_delay_up_ns, record.min_delay_down_ns), (Some(50), Some(55)));
    }

    #[test]
    fn a_probe_loopback_comes_back() {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        client.send(&7_u32.to_be_bytes()).unwrap();
        assert!(there_and_back(&client, &server, 8).unwrap().is_some(), "a late probe was taken for a new one");
    }
}
