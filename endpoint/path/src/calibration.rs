//! Calibration: how many packets each direction of a path got, delivered and dropped, from the kernel's counters.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use netwarp_core::clock::Moment;
use netwarp_wire::job::{Change, Direction, Event, Impairments, Job, Neighbours, Path};
use netwarp_wire::record::{CalibrationRecord, DisciplineRecord};

use crate::netlink::qdisc::NetemCounters;
use crate::network::Network;
use crate::topology::{Crossing, ETHERNET_HEADER_BYTES, Node, NodeKind, Topology};

/// How often counters are read until they balance. They are read one after the other, so a packet that moves on in
/// between may be counted in none or in two of them; an unbalanced reading is repeated after [`PAUSE`].
pub const READINGS: u32 = 100;
/// The time between two readings of counters that do not balance.
pub const PAUSE: Duration = Duration::from_millis(1);

/// Reads the counters of both directions of every path.
pub fn measure(
    network: &mut Network,
    topology: &Topology<'_>,
    job: &Job,
    epoch_ns: u64,
) -> Result<Vec<CalibrationRecord>> {
    let mut records = Vec::new();
    for (path, path_job) in (0..).zip(&job.paths) {
        for (direction, impairments) in path_job.directions() {
            let (count, interval_ns) = match path_job.neighbours {
                Neighbours::Warm => balanced(network, topology, path, path_job, direction, epoch_ns)?,
                // ARP packets begin or end at the router, and packets that wait there for an ARP reply may never leave.
                Neighbours::Cold => {
                    (Count::read(network, topology.crossing(path, direction))?, Moment::now().since(epoch_ns))
                }
            };
            records.push(count.record(path, direction, impairments, interval_ns));
        }
    }
    if job.network.is_some() {
        check_routers(network, topology, job)?;
    }
    Ok(records)
}

fn balanced(
    network: &mut Network,
    topology: &Topology<'_>,
    path: u16,
    path_job: &Path,
    direction: Direction,
    epoch_ns: u64,
) -> Result<(Count, u64)> {
    let (impairments, crossing) = (path_job.toward(direction), topology.crossing(path, direction));
    for _ in 0..READINGS {
        let count = Count::read(network, crossing)?;
        if count.is_balanced(impairments) {
            return Ok((count, Moment::now().since(epoch_ns)));
        }
        sleep(PAUSE);
    }
    let count = Count::read(network, crossing)?;
    if is_the_routers(network, topology, path, path_job)? {
        return Ok((count, Moment::now().since(epoch_ns)));
    }
    bail!("the packets of path {path}, {direction:?}, do not add up: {count:?}")
}

/// Returns whether the packets that do not add up are the router's own: its answers (`ping router`, a TTL that ran out)
/// are delivered without having been offered, and packets to it are offered and not delivered.
///
/// The kernel counts both for all of a router's devices together, so they must explain the difference of both
/// directions together. It does not count ARP, which occurs when a program uses an address that is not the host's.
fn is_the_routers(network: &mut Network, topology: &Topology<'_>, path: u16, path_job: &Path) -> Result<bool> {
    let (mut surplus, mut by_number): (i128, i128) = (0, 0);
    for (direction, impairments) in path_job.directions() {
        if impairments.duplicate_ratio > 0.0 {
            return Ok(false); // the kernel does not count duplicates
        }
        let count = Count::read(network, topology.crossing(path, direction))?;
        surplus += i128::from(count.accounted_packets()) - i128::from(count.offered_packets);
        // On a link, packets that are a router's own are counted at both of its ends.
        let Crossing { sender, bottleneck: Some(bottleneck), .. } = topology.crossing(path, direction) else {
            return Ok(false);
        };
        if bottleneck == sender {
            return Ok(false);
        }
        by_number += i128::from(network.lost_by_number(bottleneck)?);
    }
    let Crossing { sender, bottleneck: Some(bottleneck), receiver } = topology.crossing(path, Direction::Up) else {
        return Ok(false);
    };
    let own = network.own_packets(bottleneck.node)?;
    let mut resolves = false;
    for device in [sender, receiver, bottleneck] {
        resolves |= network.resolves_addresses(device.node)?;
    }
    // What is lost by number came in and went no further, too.
    Ok(resolves || surplus == i128::from(own.sent) - i128::from(own.kept) + by_number)
}

/// Checks that each router of a network sent on, or dropped, or still holds what came to it.
///
/// # Errors
/// The packets of a router do not add up.
fn check_routers(network: &mut Network, topology: &Topology<'_>, job: &Job) -> Result<()> {
    // Nobody counts how many duplicates there are.
    if job.paths.iter().any(|path| path.down.duplicate_ratio > 0.0 || path.up.duplicate_ratio > 0.0) {
        return Ok(());
    }
    for (number, (kind, name)) in (0..).zip(&topology.nodes) {
        if *kind == NodeKind::Router {
            let mut reading = router_surplus(network, topology, Node(number))?;
            for _ in 1..READINGS {
                if reading == 0 {
                    break;
                }
                sleep(PAUSE);
                reading = router_surplus(network, topology, Node(number))?;
            }
            ensure!(reading == 0, "the packets of the router {name} do not add up: {reading} more went than came");
        }
    }
    Ok(())
}

/// Returns how many packets more a router sent, dropped or holds than came to it or were its own.
fn router_surplus(network: &mut Network, topology: &Topology<'_>, router: Node) -> Result<i128> {
    let own = network.own_packets(router)?;
    let mut surplus = i128::from(own.kept) - i128::from(own.sent);
    for crossing in topology.crossings.iter().flatten() {
        if crossing.sender.node == router {
            surplus += i128::from(Count::read(network, *crossing)?.offered_packets);
            // What is lost by number came in and went no further, and is counted as kept, too.
            if let Some(bottleneck) = crossing.bottleneck {
                surplus -= i128::from(network.lost_by_number(bottleneck)?);
            }
        }
        if crossing.receiver.node == router {
            surplus -= i128::from(network.link_counters(crossing.receiver)?.received_packets);
        }
    }
    Ok(surplus)
}

/// Reads back the queueing disciplines that the job asks for, with their counters.
pub fn disciplines(network: &mut Network, topology: &Topology<'_>, job: &Job) -> Result<Vec<DisciplineRecord>> {
    let mut records = Vec::new();
    for (path, path_job) in (0..).zip(&job.paths) {
        for (direction, impairments) in path_job.directions() {
            let Some(asked) = &impairments.discipline else { continue };
            let found = network.discipline(
                topology.crossing(path, direction).bottleneck.context("a host has no discipline")?,
                asked.kind,
            )?;
            records.push(DisciplineRecord {
                path: path.into(),
                direction,
                kind: found.kind,
                limit_packets: found.limit_packets,
                limit_bytes: found.limit_bytes,
                ecn: found.ecn,
                dropped_packets: found.dropped_packets,
                marked_packets: found.marked_packets,
            });
        }
    }
    Ok(records)
}

/// The most bytes that each direction of each path can have delivered at its rates. Pure.
#[derive(Debug)]
pub struct Capacities(Vec<[Capacity; 2]>);

impl Capacities {
    /// Returns the capacities of a job's paths, starting at the epoch.
    pub fn new(job: &Job) -> Self {
        let capacity = |impairments: &Impairments, mtu_bytes| Capacity::new(impairments.rate_bit_s, mtu_bytes);
        let both = |path: &Path| [capacity(&path.down, path.mtu_bytes), capacity(&path.up, path.mtu_bytes)];
        Self(job.paths.iter().map(both).collect())
    }

    /// Applies an event that took effect between `from_ns` and `until_ns`, in nanoseconds since the epoch.
    pub fn apply(&mut self, event: &Event, from_ns: u64, until_ns: u64) {
        if let Change::Rate { direction, rate_bit_s } = event.change {
            let capacity = &mut self.0[event.path as usize][place(direction)];
            // A change that is due at the epoch takes effect before anything is sent.
            if event.at_ns == 0 {
                capacity.rate_bit_s.get_or_insert(rate_bit_s);
            }
            capacity.change(rate_bit_s, from_ns, until_ns);
        }
    }

    /// Returns what is wrong with the calibration records: a direction that delivered more than its rates allow.
    pub fn excess(&self, records: &[CalibrationRecord]) -> Option<String> {
        records.iter().find_map(|record| {
            let CalibrationRecord { path, direction, interval_ns, delivered_packets, delivered_bytes, .. } = record;
            let capacity = &self.0[*path as usize][place(*direction)];
            let most_bytes = capacity.bytes(*interval_ns, *delivered_packets)?;
            (*delivered_bytes > most_bytes).then(|| {
                format!(
                    "path {path} delivered {delivered_bytes} bytes {direction:?} in {} s, but its rate allows no more \
                     than {most_bytes}: packets by-passed the bottleneck",
                    Duration::from_nanos(*interval_ns).as_secs_f64()
                )
            })
        })
    }
}

fn place(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// The most that one direction can have delivered, in billionths of a bit: rate in bit/s times nanoseconds.
#[derive(Debug)]
struct Capacity {
    /// The rate in bit/s; none if it is unlimited or was so at any time.
    rate_bit_s: Option<u64>,
    peak_bit_s: u64,
    /// When this rate took effect, in nanoseconds since the epoch.
    since_ns: u64,
    /// What earlier rates allowed to pass, in billionths of a bit.
    billionths: u128,
    burst_bytes: u64,
    frame_bytes: u64,
}

impl Capacity {
    /// Returns the capacity at the epoch. No packet is counted before its last bit has left; one is allowed for
    /// counters that are read one after the other.
    fn new(rate_bit_s: Option<u64>, mtu_bytes: u32) -> Self {
        let frame_bytes = u64::from(mtu_bytes + ETHERNET_HEADER_BYTES);
        let (peak_bit_s, burst_bytes) = (rate_bit_s.unwrap_or(0), frame_bytes);
        Self { rate_bit_s, peak_bit_s, since_ns: 0, billionths: 0, burst_bytes, frame_bytes }
    }

    /// Changes the rate at some time between `from_ns` and `until_ns`. The packet that is being sent then
    /// still leaves at the old rate.
    fn change(&mut self, rate_bit_s: u64, from_ns: u64, until_ns: u64) {
        let Some(old_bit_s) = self.rate_bit_s else { return };
        self.billionths += u128::from(old_bit_s) * u128::from(from_ns.saturating_sub(self.since_ns));
        self.billionths += u128::from(old_bit_s.max(rate_bit_s)) * u128::from(until_ns - from_ns);
        self.rate_bit_s = Some(rate_bit_s);
        self.peak_bit_s = self.peak_bit_s.max(rate_bit_s);
        self.since_ns = until_ns;
        self.burst_bytes += self.frame_bytes;
    }

    /// Returns the most bytes that can have passed until `until_ns`; none if the rate is unlimited. The kernel rounds
    /// the transmission time of each of the `packets` down to whole nanoseconds.
    fn bytes(&self, until_ns: u64, packets: u64) -> Option<u64> {
        let rest = u128::from(self.rate_bit_s?) * u128::from(until_ns.saturating_sub(self.since_ns));
        let rounding = u128::from(self.peak_bit_s) * u128::from(packets);
        let bytes = (self.billionths + rest + rounding) / 8 / 1_000_000_000;
        Some(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(self.burst_bytes))
    }
}

/// The counters of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets that arrived at the router.
    pub offered_packets: u64,
    /// Their bytes, Ethernet headers included.
    pub offered_bytes: Option<u64>,
    /// Packets that left the router.
    pub delivered_packets: u64,
    /// Their bytes, Ethernet headers included.
    pub delivered_bytes: u64,
    /// The counters of the router's netem.
    pub netem: NetemCounters,
}

impl Count {
    fn read(network: &mut Network, Crossing { sender, bottleneck, receiver }: Crossing) -> Result<Self> {
        let sent = network.link_counters(sender)?;
        let netem = match bottleneck {
            Some(device) => network.netem_counters(device)?,
            None => NetemCounters { lost_packets: Some(0), ..NetemCounters::default() },
        };
        let delivered = network.link_counters(receiver)?;
        // What a router sends is counted behind its queue.
        let is_behind = bottleneck == Some(sender);
        let before_packets = if is_behind { netem.dropped_packets + netem.queued_packets } else { 0 };
        Ok(Self {
            offered_packets: sent.sent_packets + before_packets,
            offered_bytes: (!is_behind).then_some(sent.sent_bytes),
            delivered_packets: delivered.received_packets,
            delivered_bytes: delivered.received_bytes,
            netem,
        })
    }

    /// Returns how many packets were delivered, dropped or wait.
    fn accounted_packets(&self) -> u64 {
        self.delivered_packets + self.netem.dropped_packets + self.netem.queued_packets
    }

    /// Returns whether every packet offered was delivered, was dropped, or is in the queue. With duplication there may
    /// be more: netem does not say how many of its duplicates were dropped again.
    pub fn is_balanced(&self, impairments: &Impairments) -> bool {
        let accounted = self.accounted_packets();
        if impairments.duplicate_ratio > 0.0 {
            accounted >= self.offered_packets
        } else {
            accounted == self.offered_packets
        }
    }

    /// Returns the record of a count that was made `interval_ns` after its beginning.
    pub fn record(
        &self,
        path: u16,
        direction: Direction,
        impairments: &Impairments,
        interval_ns: u64,
    ) -> CalibrationRecord {
        CalibrationRecord {
            path: path.into(),
            direction,
            interval_ns,
            offered_packets: self.offered_packets,
            offered_bytes: self.offered_bytes,
            delivered_packets: self.delivered_packets,
            delivered_bytes: self.delivered_bytes,
            dropped_packets: self.netem.dropped_packets,
            // A lost packet whose duplicate survives counts as lost in netem's statistics, but not as dropped.
            lost_packets: self.netem.lost_packets.filter(|_| impairments.duplicate_ratio == 0.0),
            left_packets: self.netem.queued_packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    fn impairments(duplicate_ratio: f64) -> Impairments {
        let job = golden::job("bulk-quic");
        Impairments { duplicate_ratio, ..job.paths[0].down.clone() }
    }

    fn count(delivered_packets: u64) -> Count {
        let netem = NetemCounters { queued_packets: 2, dropped_packets: 5, lost_packets: Some(4) };
        Count { offered_packets: 100, delivered_packets, netem, ..Count::default() }
    }

    #[test]
    fn packets_must_add_up() {
        assert!(count(93).is_balanced(&impairments(0.0)));
        assert!(!count(92).is_balanced(&impairments(0.0)));
        assert!(!count(94).is_balanced(&impairments(0.0)));
    }

    #[test]
    fn duplicates_may_only_add() {
        assert!(count(94).is_balanced(&impairments(0.01)));
        assert!(!count(92).is_balanced(&impairments(0.01)));
    }

    #[test]
    fn losses_are_told_apart_from_overflow_unless_duplicated() {
        let lost = |duplicate_ratio| {
            let record = count(93).record(0, Direction::Down, &impairments(duplicate_ratio), 1);
            (record.lost_packets, record.dropped_packets)
        };
        assert_eq!(lost(0.0), (Some(4), 5));
        assert_eq!(lost(0.01), (None, 5));
    }

    /// Returns the result of [`Capacities::excess`] for `delivered_bytes` on the first path in one second, after some
    /// changes of rate.
    fn excess(rate_bit_s: Option<u64>, changes: &[(u64, u64)], delivered_bytes: u64) -> Option<String> {
        let mut job = golden::job("bulk-quic");
        job.paths[0].down.rate_bit_s = rate_bit_s;
        let mut capacities = Capacities::new(&job);
        for &(at_ns, rate_bit_s) in changes {
            let change = Change::Rate { direction: Direction::Down, rate_bit_s };
            capacities.apply(&Event { at_ns, path: 0, change }, at_ns, at_ns);
        }
        let counted = Count { delivered_packets: 700, delivered_bytes, ..Count::default() };
        capacities.excess(&[counted.record(0, Direction::Down, &job.paths[0].down, 1_000_000_000)])
    }

    #[test]
    fn no_direction_delivers_more_than_its_rate() {
        let (rate_bit_s, second_bytes) = (8_000_000, 1_000_000);
        assert_eq!(excess(Some(rate_bit_s), &[], second_bytes + 1514), None);
        let message = excess(Some(rate_bit_s), &[], second_bytes + 2 * 1514).expect("more than the rate");
        assert!(message.contains("by-passed the bottleneck"), "{message}");
        assert_eq!(excess(None, &[], u64::MAX), None);
    }

    #[test]
    fn a_rate_that_changes_counts_for_as_long_as_it_holds() {
        let half_ns = 500_000_000;
        let changes = [(0, 8_000_000), (half_ns, 80_000)];
        let (halves_bytes, bursts_bytes) = (500_000 + 5_000, 3 * 1514);
        for rate_bit_s in [None, Some(8_000_000)] {
            assert_eq!(excess(rate_bit_s, &changes, halves_bytes + bursts_bytes), None);
            assert!(excess(rate_bit_s, &changes, halves_bytes + bursts_bytes + 1514).is_some());
        }
        assert_eq!(excess(None, &changes[1..], u64::MAX), None, "it was unlimited at first");
    }
}
