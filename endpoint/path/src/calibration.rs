//! Calibration: how many packets each direction of a path was offered, delivered and dropped, from the kernel's
//! counters.

use anyhow::{Context, Result, bail};
use netwarp_core::clock::Moment;
use netwarp_wire::job::{Direction, Job, Neighbours, Path};
use netwarp_wire::record::{CalibrationRecord, DisciplineRecord};

use crate::asking::Asking;
use crate::count::{Count, read_until};
use crate::network::Network;
use crate::topology::{Crossing, Node, NodeKind, Topology};

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
            records.push(match path_job.neighbours {
                Neighbours::Warm => {
                    let (count, interval_ns) = balanced(network, topology, path, path_job, direction, epoch_ns)?;
                    count.record(path, direction, impairments, interval_ns)
                }
                Neighbours::Cold => {
                    let count = Asking::balanced(network, topology, path, path_job, direction)?;
                    count.record(path, direction, impairments, Moment::now().since(epoch_ns))
                }
            });
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
    let count = read_until(|| Count::read(network, crossing), |count| count.is_balanced(impairments))?;
    if count.is_balanced(impairments) || is_the_routers(network, topology, path, path_job)? {
        return Ok((count, Moment::now().since(epoch_ns)));
    }
    bail!("the packets of path {path}, {direction:?}, do not add up: {count:?}")
}

/// Returns whether packets from or to the router itself explain why a path's counters do not add up: its own packets
/// (replies to `ping router`, errors about an expired TTL) are delivered without having been offered, and packets to it
/// are offered but not delivered.
///
/// The kernel counts such packets for all devices of a router together, so they must explain the differences of both
/// directions together. It does not count ARP, which occurs when a program uses an address that is not the host's.
fn is_the_routers(network: &mut Network, topology: &Topology<'_>, path: u16, path_job: &Path) -> Result<bool> {
    let (mut surplus, mut by_number): (i128, i128) = (0, 0);
    for (direction, impairments) in path_job.directions() {
        if impairments.duplicate_ratio > 0.0 {
            return Ok(false); // the kernel does not count duplicates
        }
        let crossing = topology.crossing(path, direction);
        let count = Count::read(network, crossing)?;
        surplus += i128::from(count.accounted_packets()) - i128::from(count.offered_packets);
        // On a link of a described network, a router's own packets are counted at both ends.
        let Some(bottleneck) = crossing.bottleneck.filter(|device| *device != crossing.sender) else {
            return Ok(false);
        };
        by_number += i128::from(network.lost_by_number(bottleneck)?);
    }
    let Crossing { sender, bottleneck: Some(bottleneck), receiver } = topology.crossing(path, Direction::Up) else {
        return Ok(false);
    };
    let own = network.own_packets(bottleneck.node, path_job)?;
    let mut resolves = false;
    for device in [sender, receiver, bottleneck] {
        resolves |= network.resolves_addresses(device.node)?;
    }
    // Packets lost by number also came in and went no further.
    Ok(resolves || surplus == i128::from(own.sent) - i128::from(own.kept) + by_number)
}

/// Checks that each router of a network forwarded, dropped or still holds every packet that arrived at it.
///
/// # Errors
/// The packets of a router do not add up.
fn check_routers(network: &mut Network, topology: &Topology<'_>, job: &Job) -> Result<()> {
    // The kernel does not count duplicates.
    if job.paths.iter().any(|path| path.down.duplicate_ratio > 0.0 || path.up.duplicate_ratio > 0.0) {
        return Ok(());
    }
    // Nor does it count packets to a router whose MAC address or EtherType was corrupted: the router does not take them
    // for its own.
    let corrupts = job.paths.iter().any(|path| path.down.corrupt_ratio > 0.0 || path.up.corrupt_ratio > 0.0);
    for (number, (kind, name)) in (0..).zip(&topology.nodes) {
        if *kind == NodeKind::Router {
            let is_balanced = |surplus: &i128| *surplus == 0 || (corrupts && *surplus < 0);
            let surplus = read_until(|| router_surplus(network, topology, job, Node(number)), is_balanced)?;
            if !is_balanced(&surplus) {
                let own = network.own_packets(Node(number), &job.paths[0])?;
                bail!("the packets of the router {name} do not add up: {surplus} more went than came ({own:?})");
            }
        }
    }
    Ok(())
}

/// Returns how many more packets a router sent, dropped or holds than it received or generated.
fn router_surplus(network: &mut Network, topology: &Topology<'_>, job: &Job, router: Node) -> Result<i128> {
    let own = network.own_packets(router, &job.paths[0])?;
    // All packets of a router's own are ICMP, and one that it is told to drop counts as sent all the same
    // (`ip_output.c`, `__ip_local_out`).
    let is_silent = topology.is_silent(job, router);
    let mut surplus = i128::from(own.kept) - if is_silent { 0 } else { i128::from(own.sent) };
    let mut by_number = 0;
    for crossing in topology.crossings.iter().flatten() {
        if crossing.sender.node == router {
            surplus += i128::from(Count::read(network, *crossing)?.offered_packets);
            if let Some(bottleneck) = crossing.bottleneck {
                by_number += i128::from(network.lost_by_number(bottleneck)?);
            }
        }
        if crossing.receiver.node == router {
            surplus -= i128::from(network.link_counters(crossing.receiver)?.received_packets);
        }
    }
    Ok(if own.explain(surplus, by_number) { 0 } else { surplus })
}

/// Reads back from the kernel the queueing disciplines that the job asks for, with their counters.
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
