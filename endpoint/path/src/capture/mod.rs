//! Packet capture at the routers: every packet that arrives at a router, and every packet that leaves it.
//!
//! A packet socket sees packets before netem when they arrive and after netem when they leave. So a dropped packet is
//! in the file once, and a forwarded one twice. In a network of several hosts that is so at each router on its way.
//!
//! **A capture does not change what a run measures.** In virtual time a thread that woke up to write packets would
//! change the order in which server and client run, and advance the clock by reading it. So no such thread exists: the
//! kernel puts the packets into memory, which has room for all, and the file is written when the transfer is over.

mod content;
pub mod key_log;
pub(crate) mod pcapng;
mod ring;
mod routers;
mod watcher;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use netwarp_wire::job::Job;

pub use self::content::Content;
pub use self::key_log::KeyLog;
use self::pcapng::{Packet, PacketDirection};
use self::ring::CapturedPacket;
pub use self::ring::{Ring, Selection};
use self::routers::{Captured, Point, routers_of};
pub use self::watcher::Watcher;
use crate::network::Network;
use crate::topology::Topology;

/// The name of the capture file in the run directory.
pub const FILE_NAME: &str = "capture.pcapng";

/// How many bytes are written to the file in one call.
const WRITE_BYTES: usize = 8 << 20;

/// A running packet capture of a run: at its routers, with the secrets of its TLS connections.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    /// For each router: its captured packets, and the points at which they were captured.
    routers: Vec<(Ring, Vec<Point>)>,
    keys: KeyLog,
    finished: bool,
}

impl Capture {
    /// Starts to capture packets on all routers; the file is written to `directory` at the end.
    ///
    /// # Arguments
    /// * `contents` - about how much each workload sends.
    /// * `keys` - the file in which the roles log their TLS secrets.
    ///
    /// # Errors
    /// The capture would not fit into memory; packet sockets or memory are not available.
    pub fn start(
        network: &Network,
        topology: &Topology<'_>,
        job: &Job,
        contents: &[Content],
        keys: KeyLog,
        directory: &Path,
    ) -> Result<Self> {
        let open = |Captured { router, memory_bytes, points }| {
            let ring = network.within(router, || Ring::open(memory_bytes, None))?;
            Ok((ring, points))
        };
        let routers = routers_of(topology, job, contents)?.into_iter().map(open).collect::<Result<_>>()?;
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
                pcapng::interface(&mut file, &point.name, &point.description).with_context(attempt)?;
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
