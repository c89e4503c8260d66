//! Samples of queues and connections during a run: of the bottlenecks at the routers, and of the connections at the
//! sender of the content.
//!
//! A sample costs about as much as thirty packets: it takes a dozen system calls, which are expensive in a guest. So
//! the interval depends on how many packets are carried meanwhile ([`Pace`]), unless the job fixes it.

mod connections;
mod pace;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use netwarp_core::gauges::SharedGauges;
use netwarp_path::network::{Network, QueueSample};
use netwarp_path::topology::{Namespace, bottleneck};
use netwarp_wire::job::{Direction, Job, Workload};
use netwarp_wire::record::{ConnectionSamplesRecord, QueueSamplesRecord, Record, Side};

use self::connections::{Activity, ConnectionSample, Limits, Source};
use self::pace::Pace;

/// The samples of a run taken so far.
pub(crate) struct Sampler {
    pace: Pace,
    /// Where the senders' connections are read, by side.
    sources: Vec<(Side, Source)>,
    queues: Vec<QueueSamplesRecord>,
    /// The samples of each connection, by local port, peer port and the connection's number.
    connections: BTreeMap<(u16, u16, u64), ConnectionSamplesRecord>,
}

impl Sampler {
    /// Creates the sampler of a job; none if the job is not to be sampled.
    ///
    /// # Errors
    /// The memory shared with roles cannot be created.
    pub(crate) fn new(job: &Job) -> Result<Option<Self>> {
        let Some(sampling) = &job.sampling else { return Ok(None) };
        let numbers = 0..u32::try_from(job.paths.len()).unwrap_or(u32::MAX);
        let directions = |path| [Direction::Down, Direction::Up].map(|direction| no_samples(path, direction));
        Ok(Some(Self {
            pace: Pace::new(sampling),
            sources: sources(job)?,
            queues: numbers.flat_map(directions).collect(),
            connections: BTreeMap::new(),
        }))
    }

    /// Returns the memory that a role must share with this process, if any.
    pub(crate) fn gauges(&self, side: Side) -> Option<&SharedGauges> {
        self.sources.iter().filter(|(of, _)| *of == side).find_map(|(_, source)| match source {
            Source::Gauges(shared) => Some(shared),
            Source::Tcp | Source::Sctp => None,
        })
    }

    /// Returns when the next sample is due, in nanoseconds after the epoch.
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
        for (side, source) in &self.sources {
            let namespace = match side {
                Side::Client => Namespace::Client,
                Side::Server => Namespace::Server,
            };
            for sample in source.sample(network, namespace)? {
                let kept = self.connections.entry((sample.port, sample.peer_port, sample.number));
                push_connection(kept.or_insert_with(|| no_connection_samples(*side, &sample)), elapsed_ns, &sample);
            }
        }
        self.pace.taken(elapsed_ns, carried_packets);
        Ok(())
    }

    /// Returns the records of all samples. A queue or connection without a sample has no record.
    pub(crate) fn records(self) -> impl Iterator<Item = Record> {
        let queues = self.queues.into_iter().filter(|queue| !queue.at_ns.is_empty()).map(Record::QueueSamples);
        let mut connections: Vec<_> = self.connections.into_values().collect();
        connections.sort_by(by_all_columns);
        queues.chain(connections.into_iter().map(Record::ConnectionSamples))
    }
}

/// Compares two connections by all columns of their samples: they are told apart by the clients' ports, which are random.
fn by_all_columns(one: &ConnectionSamplesRecord, other: &ConnectionSamplesRecord) -> Ordering {
    fn key(record: &ConnectionSamplesRecord) -> (bool, u32, [&[u64]; 11], &[bool]) {
        let columns = [
            &record.at_ns,
            &record.cwnd_bytes,
            &record.ssthresh_bytes,
            &record.rtt_ns,
            &record.unacked_bytes,
            &record.acked_bytes,
            &record.retrans_packets,
            &record.pacing_rate_bit_s,
            &record.busy_ns,
            &record.rwnd_limited_ns,
            &record.sndbuf_limited_ns,
        ];
        (record.side == Side::Server, record.server_port, columns.map(Vec::as_slice), &record.has_sent_all)
    }
    key(one).cmp(&key(other))
}

/// Returns where the senders' connections of all workloads are read, by side.
fn sources(job: &Job) -> Result<Vec<(Side, Source)>> {
    let mut sources: Vec<(Side, Source)> = Vec::new();
    for each in job.workloads() {
        let side = sender(&each.workload);
        for kind in Source::kinds(&each) {
            if !sources.iter().any(|(of, source)| *of == side && source.is_of(kind)) {
                sources.push((side, Source::of(kind)?));
            }
        }
    }
    Ok(sources)
}

/// Returns the side that sends the content; for programs that are not ours, it is assumed to be the server.
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
        server_port: match side {
            Side::Client => sample.peer_port.into(),
            Side::Server => sample.port.into(),
        },
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
        has_sent_all: Vec::new(),
    }
}

fn push_connection(kept: &mut ConnectionSamplesRecord, at_ns: u64, sample: &ConnectionSample) {
    let [busy_ns, rwnd_limited_ns, sndbuf_limited_ns] = limits_ns(kept, at_ns, sample.limits);
    kept.at_ns.push(at_ns);
    kept.cwnd_bytes.push(sample.cwnd_bytes);
    kept.ssthresh_bytes.push(sample.ssthresh_bytes);
    kept.rtt_ns.push(sample.rtt_ns);
    kept.unacked_bytes.push(sample.unacked_bytes);
    kept.acked_bytes.extend(sample.acked_bytes);
    kept.retrans_packets.push(sample.retrans_packets);
    kept.pacing_rate_bit_s.push(sample.pacing_rate_bit_s);
    kept.busy_ns.push(busy_ns);
    kept.rwnd_limited_ns.push(rwnd_limited_ns);
    kept.sndbuf_limited_ns.push(sndbuf_limited_ns);
    kept.has_sent_all.push(sample.has_sent_all);
}

/// Returns for how long, in nanoseconds, a connection was busy, and limited by its peer's receive window and by its
/// send buffer. For a connection that does not count that itself, the whole time since the last sample is attributed to
/// its present activity.
fn limits_ns(kept: &ConnectionSamplesRecord, at_ns: u64, limits: Limits) -> [u64; 3] {
    let activity = match limits {
        Limits::Counted(limits_ns) => return limits_ns,
        Limits::Now(activity) => activity,
    };
    let last = |column: &Vec<u64>| column.last().copied().unwrap_or(0);
    let since_last_ns = at_ns - kept.at_ns.last().copied().unwrap_or(at_ns);
    let spent_ns = |is_so: bool| if is_so { since_last_ns } else { 0 };
    [
        last(&kept.busy_ns) + spent_ns(activity != Activity::Idle),
        last(&kept.rwnd_limited_ns) + spent_ns(activity == Activity::PeerFull),
        last(&kept.sndbuf_limited_ns) + spent_ns(activity == Activity::BufferFull),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_stands_for_the_time_since_the_sample_before() {
        let sample = |activity| ConnectionSample { limits: Limits::Now(activity), ..idle() };
        let mut kept = no_connection_samples(Side::Server, &sample(Activity::Idle));
        use Activity::{BufferFull, Busy, Idle, PeerFull};
        for (at_ns, activity) in [(10, Busy), (20, Busy), (50, PeerFull), (60, BufferFull), (100, Idle)] {
            push_connection(&mut kept, at_ns, &sample(activity));
        }
        assert_eq!(kept.busy_ns, [0, 10, 40, 50, 50]);
        assert_eq!((kept.rwnd_limited_ns, kept.sndbuf_limited_ns), (vec![0, 0, 30, 30, 30], vec![0, 0, 0, 10, 10]));
        assert!(kept.acked_bytes.is_empty());
    }

    #[test]
    fn the_order_of_connections_hangs_on_no_port() {
        let of = |port, at_ns| {
            let sample = ConnectionSample { peer_port: port, ..idle() };
            let mut kept = no_connection_samples(Side::Server, &sample);
            push_connection(&mut kept, at_ns, &sample);
            kept
        };
        let sorted = |mut records: Vec<ConnectionSamplesRecord>| {
            records.sort_by(by_all_columns);
            records
        };
        assert_eq!(sorted(vec![of(1, 20), of(2, 10)]), sorted(vec![of(1, 10), of(2, 20)]));
    }

    fn idle() -> ConnectionSample {
        ConnectionSample {
            port: 4433,
            peer_port: 1,
            number: 0,
            cwnd_bytes: 1,
            ssthresh_bytes: 0,
            rtt_ns: 0,
            unacked_bytes: 0,
            acked_bytes: None,
            retrans_packets: 0,
            pacing_rate_bit_s: 0,
            limits: Limits::Now(Activity::Idle),
            has_sent_all: false,
        }
    }
}
