//! Samples queues and connections during a run: the queues of bottlenecks at the routers, and the connections at the
//! host that sends the content.
//!
//! A sample costs about as much as thirty packets: it takes a dozen system calls, which are expensive in a guest. So
//! the interval between samples depends on how many packets are carried meanwhile ([`Pace`]), unless the job fixes the
//! interval.

mod connections;
mod pace;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use netwarp_core::addresses::Family;
use netwarp_core::connection_gauges::SharedGauges;
use netwarp_core::connection_sample::{Activity, ConnectionState, Limits};
use netwarp_path::network::{Network, QueueSample};
use netwarp_path::topology::{Device, Node, Topology, host_of};
use netwarp_wire::job::{Direction, Job};
use netwarp_wire::record::{ConnectionSamplesRecord, QueueSamplesRecord, Record, Side};

use self::connections::Source;
use self::pace::Pace;

/// Takes the samples of a run, and keeps them until its end.
pub(crate) struct Sampler {
    pace: Pace,
    /// The sources of the state of the senders' connections, with the side and the host of each.
    sources: Vec<(Side, Node, Source)>,
    /// The queues that are sampled; those of the same router are adjacent.
    queues: Vec<SampledQueue>,
    /// Each connection's side and samples.
    connections: BTreeMap<ConnectionKey, (Side, Vec<Sampled>)>,
}

/// Identifies a connection: local port, peer port, number and host.
type ConnectionKey = (u16, u16, u64, Node);

/// The queue of one direction of a path, with its samples. The time of a sample is in nanoseconds after the run's
/// epoch.
struct SampledQueue {
    path: u32,
    direction: Direction,
    device: Device,
    samples: Vec<(u64, QueueSample)>,
}

/// One sample of a connection: its time in nanoseconds after the run's epoch, and the state that was read then.
struct Sampled {
    at_ns: u64,
    state: ConnectionState,
    /// For how long, until this sample, the connection was busy, limited by the peer's receive window, and limited by
    /// the send buffer; in nanoseconds.
    limits_ns: [u64; 3],
}

impl Sampler {
    /// Creates the sampler for a job; `None` if the job asks for no samples.
    pub(crate) fn new(job: &Job, topology: &Topology<'_>) -> Result<Option<Self>> {
        let Some(sampling) = &job.sampling else { return Ok(None) };
        Ok(Some(Self {
            pace: Pace::new(sampling),
            sources: sources(job, topology)?,
            queues: queues(job, topology),
            connections: BTreeMap::new(),
        }))
    }

    /// Returns the memory that the role of this side must share for the state of its connections; `None` if it need not
    /// share any.
    pub(crate) fn gauges(&self, side: Side) -> Option<&SharedGauges> {
        self.sources.iter().filter(|(of, ..)| *of == side).find_map(|(.., source)| source.gauges.as_ref())
    }

    /// Returns when the next sample is due, in nanoseconds after the run's epoch.
    pub(crate) fn next_ns(&self) -> u64 {
        self.pace.next_ns()
    }

    /// Takes a sample of all queues and connections, if one is due at `elapsed_ns` after the run's epoch.
    pub(crate) fn take(&mut self, elapsed_ns: u64, network: &mut Network) -> Result<()> {
        if elapsed_ns < self.next_ns() {
            return Ok(());
        }
        let mut carried_packets = 0;
        for of_router in self.queues.chunk_by_mut(|one, other| one.device.node == other.device.node) {
            let devices: Vec<Device> = of_router.iter().map(|queue| queue.device).collect();
            for (queue, sample) in of_router.iter_mut().zip(network.sample_queues(&devices)?) {
                carried_packets += sample.sent_packets;
                queue.samples.push((elapsed_ns, sample));
            }
        }
        for (side, host, source) in &self.sources {
            for sample in source.sample(network, *host)? {
                let kept = self.connections.entry((sample.port, sample.peer_port, sample.number, *host));
                let (_, kept) = kept.or_insert_with(|| (*side, Vec::new()));
                kept.push(Sampled::after(kept.last(), elapsed_ns, sample.state));
            }
        }
        self.pace.taken(elapsed_ns, carried_packets);
        Ok(())
    }

    /// Returns the records of all samples. A queue or connection without a sample has no record.
    pub(crate) fn records(self) -> impl Iterator<Item = Record> {
        let queues = self.queues.into_iter().filter(|queue| !queue.samples.is_empty());
        let queues = queues.map(|queue| queue_record(queue.path, queue.direction, &queue.samples));
        let of_connection = |((port, peer_port, ..), (side, samples)): (ConnectionKey, (_, Vec<_>))| {
            connection_record(side, if side == Side::Server { port } else { peer_port }, &samples)
        };
        let mut connections: Vec<_> = self.connections.into_iter().map(of_connection).collect();
        connections.sort_by(by_all_columns);
        queues.map(Record::QueueSamples).chain(connections.into_iter().map(Record::ConnectionSamples))
    }
}

/// Compares two connections' records by all columns, for an order of the records that does not depend on the clients'
/// ports, which are random.
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

/// Returns the queues to sample: all paths between client and server or, in a described network, all links with a rate.
fn queues(job: &Job, topology: &Topology<'_>) -> Vec<SampledQueue> {
    let mut queues = Vec::new();
    for (path, described) in (0..).zip(&job.paths) {
        for (direction, impairments) in described.directions() {
            let fills = impairments.rate_bit_s.is_some() || impairments.shaper_queue_bytes.is_some();
            let device = topology.crossing(path, direction).bottleneck;
            if let Some(device) = device.filter(|_| fills || job.network.is_none()) {
                queues.push(SampledQueue { path: path.into(), direction, device, samples: Vec::new() });
            }
        }
    }
    queues
}

/// Returns the sources of the state of the senders' connections, for all workloads. All roles of a side share the same
/// memory.
fn sources(job: &Job, topology: &Topology<'_>) -> Result<Vec<(Side, Node, Source)>> {
    let hosts = topology.hosts();
    let mut sources: Vec<(Side, Node, Source)> = Vec::new();
    for each in job.each_alone() {
        let workload = netwarp_workload::of(&each.only().workload);
        let side = workload.direction().sender();
        let (host, _) = hosts.get(host_of(each.only(), side)).context("a workload's host is none of the network")?;
        for kind in workload.state_sources(&each) {
            let is_read = |(of, at, source): &(Side, Node, Source)| {
                *of == side && source.kind == kind && (at == host || source.gauges.is_some())
            };
            if !sources.iter().any(is_read) {
                sources.push((side, *host, Source::of(kind, Family::of(job))?));
            }
        }
    }
    Ok(sources)
}

fn queue_record(path: u32, direction: Direction, samples: &[(u64, QueueSample)]) -> QueueSamplesRecord {
    let column = |of: fn(&QueueSample) -> u64| samples.iter().map(|(_, sample)| of(sample)).collect();
    QueueSamplesRecord {
        path,
        direction,
        at_ns: samples.iter().map(|(at_ns, _)| *at_ns).collect(),
        sent_bytes: column(|sample| sample.sent_bytes),
        backlog_bytes: column(|sample| sample.backlog_bytes),
        backlog_packets: column(|sample| sample.backlog_packets),
        dropped_packets: column(|sample| sample.dropped_packets),
        marked_packets: column(|sample| sample.marked_packets),
    }
}

fn connection_record(side: Side, server_port: u16, samples: &[Sampled]) -> ConnectionSamplesRecord {
    let column = |of: fn(&Sampled) -> u64| samples.iter().map(of).collect();
    ConnectionSamplesRecord {
        side,
        server_port: server_port.into(),
        at_ns: column(|sample| sample.at_ns),
        cwnd_bytes: column(|sample| sample.state.cwnd_bytes),
        ssthresh_bytes: column(|sample| sample.state.ssthresh_bytes),
        rtt_ns: column(|sample| sample.state.rtt_ns),
        unacked_bytes: column(|sample| sample.state.unacked_bytes),
        acked_bytes: samples.iter().filter_map(|sample| sample.state.acked_bytes).collect(),
        retrans_packets: column(|sample| sample.state.retrans_packets),
        pacing_rate_bit_s: column(|sample| sample.state.pacing_rate_bit_s),
        busy_ns: column(|sample| sample.limits_ns[0]),
        rwnd_limited_ns: column(|sample| sample.limits_ns[1]),
        sndbuf_limited_ns: column(|sample| sample.limits_ns[2]),
        has_sent_all: samples.iter().map(|sample| sample.state.has_sent_all).collect(),
        recovering: unless_default(samples, |state| state.repair.is_recovering),
        timeout_ns: unless_default(samples, |state| state.repair.timeout_ns),
        timeout_recoveries: unless_default(samples, |state| state.repair.timeout_recoveries),
        delivery_rate_bit_s: unless_default(samples, |state| state.delivery_rate_bit_s),
    }
}

/// Returns a column that not every stack reports; empty if all its values are the default.
fn unless_default<T: Default + PartialEq>(samples: &[Sampled], of: fn(&ConnectionState) -> T) -> Vec<T> {
    let column: Vec<T> = samples.iter().map(|sample| of(&sample.state)).collect();
    if column.iter().all(|value| *value == T::default()) { Vec::new() } else { column }
}

impl Sampled {
    /// Creates the sample that follows `last`. If the stack does not count for how long the connection was limited, the
    /// whole time since the last sample is attributed to its current activity.
    fn after(last: Option<&Self>, at_ns: u64, state: ConnectionState) -> Self {
        let limits_ns = match state.limits {
            Limits::Counted(limits_ns) => limits_ns,
            Limits::Now(activity) => {
                let (last_ns, limits_ns) = last.map_or((at_ns, [0; 3]), |last| (last.at_ns, last.limits_ns));
                let is_so =
                    [activity != Activity::Idle, activity == Activity::PeerFull, activity == Activity::BufferFull];
                std::array::from_fn(|place| limits_ns[place] + if is_so[place] { at_ns - last_ns } else { 0 })
            }
        };
        Self { at_ns, state, limits_ns }
    }
}

#[cfg(test)]
mod tests {
    use netwarp_core::connection_sample::Repair;

    use super::*;

    /// Returns the record of a connection with these samples: times in nanoseconds, and the activity at each.
    fn sampled(samples: &[(u64, Activity)]) -> ConnectionSamplesRecord {
        let mut kept: Vec<Sampled> = Vec::new();
        for &(at_ns, activity) in samples {
            let state = ConnectionState {
                cwnd_bytes: 1,
                ssthresh_bytes: 0,
                rtt_ns: 0,
                unacked_bytes: 0,
                acked_bytes: None,
                retrans_packets: 0,
                pacing_rate_bit_s: 0,
                delivery_rate_bit_s: 0,
                limits: Limits::Now(activity),
                has_sent_all: false,
                repair: Repair::default(),
            };
            kept.push(Sampled::after(kept.last(), at_ns, state));
        }
        connection_record(Side::Server, 4433, &kept)
    }

    #[test]
    fn what_is_not_counted_stands_for_the_time_since_the_sample_before() {
        use Activity::{BufferFull, Busy, Idle, PeerFull};
        let record = sampled(&[(10, Busy), (20, Busy), (50, PeerFull), (60, BufferFull), (100, Idle)]);
        assert_eq!(record.busy_ns, [0, 10, 40, 50, 50]);
        assert_eq!((record.rwnd_limited_ns, record.sndbuf_limited_ns), (vec![0, 0, 30, 30, 30], vec![0, 0, 0, 10, 10]));
        assert!(record.acked_bytes.is_empty());
    }

    #[test]
    fn the_order_of_connections_hangs_on_no_port() {
        let of = |at_ns| sampled(&[(at_ns, Activity::Idle)]);
        let sorted = |mut records: Vec<ConnectionSamplesRecord>| {
            records.sort_by(by_all_columns);
            records
        };
        assert_eq!(sorted(vec![of(20), of(10)]), sorted(vec![of(10), of(20)]));
    }
}
