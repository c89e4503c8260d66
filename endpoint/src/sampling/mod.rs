//! What queues and connections are like while a run goes on: the bottlenecks at the routers, and the kernel's connections at the
//! content's sender.
//!
//! A sample costs about as much as thirty packets: it is a dozen system calls, and a guest's are dear. So its time is chosen by
//! what the packets cost meanwhile ([`Pace`]), unless the job says how often.

mod pace;

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use self::pace::Pace;
use crate::job::{Direction, Job, Workload};
use crate::netlink::sock_diag::ConnectionSample;
use crate::network::{Network, QueueSample};
use crate::record::{ConnectionSamplesRecord, QueueSamplesRecord, Record, Side};
use crate::topology::{Namespace, bottleneck};

/// The samples of a run, until now.
#[derive(Debug)]
pub(crate) struct Sampler {
    pace: Pace,
    /// Who sends content.
    sides: Vec<Side>,
    queues: Vec<QueueSamplesRecord>,
    /// By the port of the connection's end and that of the other.
    connections: BTreeMap<(u16, u16), ConnectionSamplesRecord>,
}

impl Sampler {
    /// For a job that is to be sampled.
    pub(crate) fn new(job: &Job) -> Option<Self> {
        let sampling = job.sampling.as_ref()?;
        let numbers = 0..u32::try_from(job.paths.len()).unwrap_or(u32::MAX);
        let directions = |path| [Direction::Down, Direction::Up].map(|direction| no_samples(path, direction));
        Some(Self {
            pace: Pace::new(sampling),
            sides: senders(job),
            queues: numbers.flat_map(directions).collect(),
            connections: BTreeMap::new(),
        })
    }

    /// When the next sample is due.
    pub(crate) fn next_ns(&self) -> u64 {
        self.pace.next_ns()
    }

    /// Takes a sample, if one is due.
    ///
    /// # Errors
    /// A kernel that does not answer.
    pub(crate) fn take(&mut self, elapsed_ns: u64, network: &mut Network) -> Result<()> {
        if elapsed_ns < self.next_ns() {
            return Ok(());
        }
        let mut carried_packets = 0;
        for both in self.queues.chunks_mut(2) {
            let path = u8::try_from(both[0].path).context("there are fewer paths")?;
            let devices = [Direction::Down, Direction::Up].map(|direction| bottleneck(path, direction));
            for (kept, sample) in both.iter_mut().zip(network.sample_queues(devices)?) {
                carried_packets += sample.sent_packets;
                push_queue(kept, elapsed_ns, &sample);
            }
        }
        for &side in &self.sides {
            let namespace = match side {
                Side::Client => Namespace::Client,
                Side::Server => Namespace::Server,
            };
            for sample in network.sample_connections(namespace)? {
                let kept = self.connections.entry((sample.port, sample.peer_port));
                push_connection(kept.or_insert_with(|| no_connection_samples(side, &sample)), elapsed_ns, &sample);
            }
        }
        self.pace.taken(elapsed_ns, carried_packets);
        Ok(())
    }

    /// All that was seen. What was never seen has no record.
    pub(crate) fn records(self) -> impl Iterator<Item = Record> {
        let queues = self.queues.into_iter().filter(|queue| !queue.at_ns.is_empty()).map(Record::QueueSamples);
        queues.chain(self.connections.into_values().map(Record::ConnectionSamples))
    }
}

/// Who sends content, of all workloads together.
fn senders(job: &Job) -> Vec<Side> {
    let mut sides = Vec::new();
    for each in job.workloads() {
        let side = sender(&each.workload);
        if !sides.contains(&side) {
            sides.push(side);
        }
    }
    sides
}

/// Who sends the content; of programs that are not ours, the server is taken to.
fn sender(workload: &Workload) -> Side {
    let direction = match workload {
        Workload::Bulk(bulk) => bulk.direction,
        Workload::Flow(flow) => flow.direction,
        Workload::Stream(_) | Workload::Command(_) | Workload::Page(_) | Workload::Rr(_) => Direction::Down,
    };
    match direction {
        Direction::Down => Side::Server,
        Direction::Up => Side::Client,
    }
}

fn no_samples(path: u32, direction: Direction) -> QueueSamplesRecord {
    QueueSamplesRecord {
        path,
        direction,
        at_ns: Vec::new(),
        sent_bytes: Vec::new(),
        backlog_bytes: Vec::new(),
        backlog_packets: Vec::new(),
        dropped_packets: Vec::new(),
        marked_packets: Vec::new(),
    }
}

fn push_queue(kept: &mut QueueSamplesRecord, at_ns: u64, sample: &QueueSample) {
    kept.at_ns.push(at_ns);
    kept.sent_bytes.push(sample.sent_bytes);
    kept.backlog_bytes.push(sample.backlog_bytes);
    kept.backlog_packets.push(sample.backlog_packets);
    kept.dropped_packets.push(sample.dropped_packets);
    kept.marked_packets.push(sample.marked_packets);
}

fn no_connection_samples(side: Side, sample: &ConnectionSample) -> ConnectionSamplesRecord {
    ConnectionSamplesRecord {
        side,
        port: sample.port.into(),
        peer_port: sample.peer_port.into(),
        at_ns: Vec::new(),
        cwnd_bytes: Vec::new(),
        ssthresh_bytes: Vec::new(),
        rtt_ns: Vec::new(),
        unacked_bytes: Vec::new(),
        acked_bytes: Vec::new(),
        retrans_packets: Vec::new(),
        pacing_rate_bit_s: Vec::new(),
        busy_ns: Vec::new(),
        rwnd_limited_ns: Vec::new(),
        sndbuf_limited_ns: Vec::new(),
    }
}

fn push_connection(kept: &mut ConnectionSamplesRecord, at_ns: u64, sample: &ConnectionSample) {
    let info = &sample.info;
    kept.at_ns.push(at_ns);
    kept.cwnd_bytes.push(info.cwnd_bytes());
    kept.ssthresh_bytes.push(info.ssthresh_bytes());
    kept.rtt_ns.push(info.rtt_ns());
    kept.unacked_bytes.push(info.unacked_bytes());
    kept.acked_bytes.push(info.acked_bytes());
    kept.retrans_packets.push(info.retrans_packets());
    kept.pacing_rate_bit_s.push(info.pacing_rate_bit_s());
    let [busy_ns, rwnd_limited_ns, sndbuf_limited_ns] = info.limits_ns();
    kept.busy_ns.push(busy_ns);
    kept.rwnd_limited_ns.push(rwnd_limited_ns);
    kept.sndbuf_limited_ns.push(sndbuf_limited_ns);
}
