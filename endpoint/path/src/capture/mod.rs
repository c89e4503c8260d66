//! Packet capture at the routers: every packet that arrives at a router, and every packet that leaves it.
//!
//! A packet socket sees packets before netem when they arrive and after netem when they leave. So a dropped packet is
//! in the file once, and a forwarded one twice.
//!
//! **A capture does not change what a run measures.** In virtual time a thread that woke up to write packets would
//! change the order in which server and client run, and advance the clock by reading it. So no such thread exists: the
//! kernel puts the packets into memory, which has room for all, and the file is written when the transfer is over.

pub mod key_log;
pub(crate) mod pcapng;
mod ring;
mod watcher;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use netwarp_wire::job::Job;

pub use self::key_log::KeyLog;
use self::pcapng::{Packet, PacketDirection};
use self::ring::CapturedPacket;
pub use self::ring::{Ring, Selection};
pub use self::watcher::Watcher;
use crate::network::Network;
use crate::topology::{Device, Topology};

/// The name of the capture file in the run directory.
pub const FILE_NAME: &str = "capture.pcapng";

/// The most memory for a capture's rings, in bytes: a guest has 1 GiB.
const MEMORY_MAX_BYTES: u64 = 640 << 20;

/// The most bytes that a packet takes in the ring beyond its payload: packet headers, the kernel's metadata, alignment.
const OVERHEAD_BYTES: u64 = 200;

/// How many bytes are written to the file in one call.
const WRITE_BYTES: usize = 8 << 20;

/// A running packet capture of a run: at its routers, with the secrets of its TLS connections.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    /// For each router: its captured packets, and the points at which they were captured.
    routers: Vec<(Ring, [Point; 4])>,
    keys: KeyLog,
    finished: bool,
}

impl Capture {
    /// Starts to capture packets on all routers; the file is written to `directory` at the end.
    ///
    /// # Arguments
    /// * `content_bytes` - about how many bytes of content the run sends.
    /// * `keys` - the file in which the roles log their TLS secrets.
    ///
    /// # Errors
    /// The capture would not fit into memory; packet sockets or memory are not available.
    pub fn start(
        network: &Network,
        topology: &Topology<'_>,
        job: &Job,
        content_bytes: u64,
        keys: KeyLog,
        directory: &Path,
    ) -> Result<Self> {
        let memory_bytes = memory_bytes(job, content_bytes)?;
        let open = |path| {
            let [Some(down), Some(up)] = topology.bottlenecks(path) else { bail!("a host's packets are not captured") };
            let bottlenecks = [down, up];
            let ring = network.within(down.node, || Ring::open(memory_bytes, None))?;
            Ok((ring, points(bottlenecks, (job.paths.len() > 1).then_some(path))))
        };
        let routers = (0..).take(job.paths.len()).map(open).collect::<Result<_>>()?;
        Ok(Self { path: directory.join(FILE_NAME), routers, keys, finished: false })
    }

    /// Ends the capture and writes the file, with all packets that have passed the routers so far.
    ///
    /// # Errors
    /// A packet was not captured, or the file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        self.routers.iter().try_for_each(|(ring, _)| ring.stop())?;
        let attempt = || format!("write {}", self.path.display());
        let file = File::create(&self.path).with_context(attempt)?;
        let mut file = BufWriter::with_capacity(WRITE_BYTES, Settled(file));
        pcapng::section(&mut file, concat!("netwarp-endpoint ", env!("CARGO_PKG_VERSION"))).with_context(attempt)?;
        let keys = self.keys.lines().context("read the run's TLS secrets")?;
        if !keys.is_empty() {
            pcapng::tls_key_log(&mut file, &keys).with_context(attempt)?;
        }
        let mut interfaces = BTreeMap::new();
        for (router, (_, points)) in self.routers.iter().enumerate() {
            for point in points {
                pcapng::interface(&mut file, &point.name, point.description).with_context(attempt)?;
                let number = u32::try_from(interfaces.len()).context("count the interfaces")?;
                interfaces.insert((router, point.index, point.outgoing), number);
            }
        }
        for (router, (ring, _)) in self.routers.iter().enumerate() {
            ring.read(|captured| {
                // The router's loopback carries no packets, but is listed as a device like the others.
                let Some(&interface) = interfaces.get(&(router, captured.index, captured.outgoing)) else {
                    return Ok(());
                };
                pcapng::packet(&mut file, &packet(interface, &captured)).with_context(attempt)
            })?;
        }
        file.flush().with_context(attempt)
    }
}

impl Drop for Capture {
    /// Writes the capture even if the run failed; the `end` record says why it failed.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Returns the size of each router's ring in bytes: room for the packets of the content, each captured twice and
/// acknowledged by another packet, plus 50 % for retransmissions.
fn memory_bytes(job: &Job, content_bytes: u64) -> Result<u64> {
    ensure!(
        content_bytes <= MEMORY_MAX_BYTES / 2,
        "a capture is kept in memory until the transfer is over, and {content_bytes} bytes of content, captured before \
         and after the path, are more than its {} MiB: capture a smaller workload",
        MEMORY_MAX_BYTES >> 20
    );
    let mss_bytes = job.workloads.iter().filter_map(|each| each.transport.mss_bytes).min();
    let payload_bytes = u64::from(mss_bytes.unwrap_or(job.paths[0].mtu_bytes)).clamp(100, 1400);
    let packets = content_bytes.div_ceil(payload_bytes);
    let captured_bytes = 2 * content_bytes + 4 * packets * OVERHEAD_BYTES;
    let routers = job.paths.len() as u64;
    Ok((captured_bytes * 3 / 2 + (16 << 20)).min(MEMORY_MAX_BYTES / routers))
}

fn packet<'a>(interface: u32, captured: &CapturedPacket<'a>) -> Packet<'a> {
    let direction = if captured.outgoing { PacketDirection::Outbound } else { PacketDirection::Inbound };
    Packet { interface, time_ns: captured.time_ns, direction, bytes: captured.bytes }
}

/// A file that is synchronised after each write. If the guest's kernel cached the data, the writer would sleep at a
/// later time, and the run's clock would advance.
struct Settled(File);

impl Write for Settled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes)?;
        self.0.sync_data()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A point at which packets are captured: an interface and a direction, with a name for the file.
#[derive(Debug, PartialEq, Eq)]
struct Point {
    index: u32,
    outgoing: bool,
    name: String,
    description: &'static str,
}

/// Returns the four points of a router at which packets are captured: ingress and egress of each of its two devices.
/// `down` is the device that sends towards the client, `up` the one that sends towards the server.
///
/// # Arguments
/// * `path` - the number of the router's path, if there are several.
fn points([down, up]: [Device; 2], path: Option<u16>) -> [Point; 4] {
    let prefix = path.map(|path| format!("path{path}-")).unwrap_or_default();
    let point = |device: Device, outgoing, name, description| Point {
        index: device.index,
        outgoing,
        name: format!("{prefix}{name}"),
        description,
    };
    [
        point(down, false, "client-side-in", "up, offered: what the client sent, before netem"),
        point(down, true, "client-side-out", "down, delivered: what reaches the client, after netem"),
        point(up, false, "server-side-in", "down, offered: what the server sent, before netem"),
        point(up, true, "server-side-out", "up, delivered: what reaches the server, after netem"),
    ]
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;
    use crate::topology::CLIENT;

    const BOTTLENECKS: [Device; 2] = [Device::of(CLIENT, 0), Device::of(CLIENT, 1)];

    #[test]
    fn every_point_of_a_path_has_a_name_of_its_own() {
        let names = |path| points(BOTTLENECKS, path).map(|point| point.name);
        assert_eq!(names(None), ["client-side-in", "client-side-out", "server-side-in", "server-side-out"]);
        assert_eq!(names(Some(1))[3], "path1-server-side-out");
    }

    #[test]
    fn more_than_memory_holds_is_refused() {
        let job = golden::job("bulk-quic");
        let enough = memory_bytes(&job, 10_000_000).unwrap();
        assert!((24_000_000..64_000_000).contains(&enough), "{enough} for 10 MB");
        let refused = memory_bytes(&job, 1_000_000_000).unwrap_err().to_string();
        assert!(refused.contains("1000000000 bytes") && refused.contains("640 MiB"), "{refused}");
    }

    #[test]
    fn what_leaves_towards_the_client_leaves_by_the_bottleneck_of_the_way_down() {
        let [_, out, ..] = points(BOTTLENECKS, None);
        assert_eq!((out.index, out.outgoing), (BOTTLENECKS[0].index, true));
    }
}
