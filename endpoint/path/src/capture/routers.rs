//! Which routers' packets a capture has, at which points, and how much memory they may take. Pure.

use anyhow::{Result, bail, ensure};
use netwarp_wire::job::{Exchange, Job, Workload};

use super::Content;
use crate::topology::{Device, End, Link, Node, NodeKind, Topology};

/// The most memory for a capture's rings, in bytes: a guest has 1 GiB.
const MEMORY_MAX_BYTES: u64 = 640 << 20;

/// The most bytes that a packet takes in the ring beyond its payload: packet headers, the kernel's metadata, alignment.
const OVERHEAD_BYTES: u64 = 200;

/// A router whose packets are captured.
#[derive(Debug)]
pub(super) struct Captured {
    pub router: Node,
    /// The size of its ring, in bytes.
    pub memory_bytes: u64,
    pub points: Vec<Point>,
}

/// A point at which packets are captured: an interface and a direction, with a name for the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub index: u32,
    pub outgoing: bool,
    pub name: String,
    pub description: String,
}

/// Returns the routers of a job's network that are captured.
///
/// # Arguments
/// * `contents` - about how much each workload sends.
///
/// # Errors
/// The capture would not fit into memory.
pub(super) fn routers_of(topology: &Topology<'_>, job: &Job, contents: &[Content]) -> Result<Vec<Captured>> {
    match &job.network {
        Some(_) => routers_of_network(topology, job, contents),
        None => routers_of_paths(topology, job, contents.iter().copied().sum()),
    }
}

/// Returns the routers of the paths between one client and one server, one for each path.
fn routers_of_paths(topology: &Topology<'_>, job: &Job, content: Content) -> Result<Vec<Captured>> {
    ensure!(
        content.bytes <= MEMORY_MAX_BYTES / 2,
        "a capture is kept in memory until the transfer is over, and {} bytes of content, captured before and after the \
         path, are more than its {} MiB: capture a smaller workload",
        content.bytes,
        MEMORY_MAX_BYTES >> 20
    );
    let most_bytes = MEMORY_MAX_BYTES / job.paths.len() as u64;
    let memory_bytes = (captured_bytes(job, content) + (16 << 20)).min(most_bytes);
    let router = |path| {
        let [Some(down), Some(up)] = topology.bottlenecks(path) else { bail!("a host's packets are not captured") };
        let points = points_of_path([down, up], (job.paths.len() > 1).then_some(path));
        Ok(Captured { router: down.node, memory_bytes, points: points.into() })
    };
    (0..).take(job.paths.len()).map(router).collect()
}

/// Returns the routers of a network, each with room for the content of the workloads whose packets it forwards.
fn routers_of_network(topology: &Topology<'_>, job: &Job, contents: &[Content]) -> Result<Vec<Captured>> {
    let is_router = |node: Node| topology.nodes[usize::from(node.0)].0 == NodeKind::Router;
    let nodes = (0..).map(Node).take(topology.nodes.len()).filter(|node| is_router(*node));
    let mut routers: Vec<Captured> = nodes
        .map(|router| {
            let forwards = |exchange: &Exchange| {
                // Further programs of a command may send anywhere.
                if matches!(&exchange.workload, Workload::Command(command) if !command.programs.is_empty()) {
                    return true;
                }
                let mut links = exchange.ends.iter().flat_map(|ends| &ends.links);
                links.any(|link| topology.links[*link as usize].ends.iter().any(|end| end.device.node == router))
            };
            let forwarded = job.workloads.iter().zip(contents).filter(|(exchange, _)| forwards(exchange));
            let memory_bytes = captured_bytes(job, forwarded.map(|(_, content)| *content).sum()) + (2 << 20);
            Captured { router, memory_bytes, points: points_of_router(topology, router) }
        })
        .collect();
    let memory_bytes: u64 = routers.iter().map(|each| each.memory_bytes).sum();
    // What programs send is not known beforehand; of everything else two thirds are certain to be captured.
    ensure!(
        memory_bytes / 3 * 2 <= MEMORY_MAX_BYTES || job.has_programs(),
        "a capture is kept in memory until the transfers are over, and what {} routers forward would take {} MiB of its {}: \
         capture smaller workloads, or a smaller network",
        routers.len(),
        memory_bytes >> 20,
        MEMORY_MAX_BYTES >> 20
    );
    let share = (MEMORY_MAX_BYTES as f64 / memory_bytes as f64).min(1.0);
    routers.iter_mut().for_each(|each| each.memory_bytes = (each.memory_bytes as f64 * share) as u64);
    Ok(routers)
}

/// Returns about how many bytes a router's ring needs for the packets of the content: each is captured twice and
/// acknowledged by another packet, and half as many may be sent again.
fn captured_bytes(job: &Job, content: Content) -> u64 {
    (2 * content.bytes + 4 * content.packets(job) * OVERHEAD_BYTES) * 3 / 2
}

/// Returns the four points of a router at which packets are captured: ingress and egress of each of its two devices.
/// `down` is the device that sends towards the client, `up` the one that sends towards the server.
///
/// # Arguments
/// * `path` - the number of the router's path, if there are several.
fn points_of_path([down, up]: [Device; 2], path: Option<u16>) -> [Point; 4] {
    let prefix = path.map(|path| format!("path{path}-")).unwrap_or_default();
    let point = |device: Device, outgoing, name, description: &str| Point {
        index: device.index,
        outgoing,
        name: format!("{prefix}{name}"),
        description: description.to_owned(),
    };
    [
        point(down, false, "client-side-in", "up, offered: what the client sent, before netem"),
        point(down, true, "client-side-out", "down, delivered: what reaches the client, after netem"),
        point(up, false, "server-side-in", "down, offered: what the server sent, before netem"),
        point(up, true, "server-side-out", "up, delivered: what reaches the server, after netem"),
    ]
}

/// Returns the points of a network's router: ingress and egress of the device of each of its links, named by the node at
/// the other end.
fn points_of_router(topology: &Topology<'_>, router: Node) -> Vec<Point> {
    let name = |node: Node| &topology.nodes[usize::from(node.0)].1;
    let own = name(router);
    let both = |[end, other]: [&End<'_>; 2]| {
        let (index, neighbour) = (end.device.index, name(other.device.node));
        [
            Point {
                index,
                outgoing: false,
                name: format!("{own}-from-{neighbour}"),
                description: format!("what arrives at {own} from {neighbour}"),
            },
            Point {
                index,
                outgoing: true,
                name: format!("{own}-to-{neighbour}"),
                description: format!("what {own} sends to {neighbour}, after the link's queue, delay and losses"),
            },
        ]
    };
    let ends = topology.links.iter().flat_map(|Link { ends: [first, second], .. }| [[first, second], [second, first]]);
    ends.filter(|[end, _]| end.device.node == router).flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use netwarp_wire::golden;

    use super::*;
    use crate::topology::CLIENT;

    const BOTTLENECKS: [Device; 2] = [Device::of(CLIENT, 0), Device::of(CLIENT, 1)];

    #[test]
    fn every_point_of_a_path_has_a_name_of_its_own() {
        let names = |path| points_of_path(BOTTLENECKS, path).map(|point| point.name);
        assert_eq!(names(None), ["client-side-in", "client-side-out", "server-side-in", "server-side-out"]);
        assert_eq!(names(Some(1))[3], "path1-server-side-out");
    }

    fn content(bytes: u64, messages: u64) -> Content {
        Content { bytes, messages }
    }

    #[test]
    fn more_than_memory_holds_is_refused() {
        let job = golden::job("bulk-quic");
        let topology = Topology::of(&job);
        let enough = routers_of_paths(&topology, &job, content(10_000_000, 0)).unwrap()[0].memory_bytes;
        assert!((24_000_000..64_000_000).contains(&enough), "{enough} for 10 MB");
        let small = routers_of_paths(&topology, &job, content(10_000_000, 200_000)).unwrap()[0].memory_bytes;
        assert!(small > 4 * 200_000 * OVERHEAD_BYTES, "{small} for 200 000 messages");
        let refused = routers_of_paths(&topology, &job, content(1_000_000_000, 0)).unwrap_err().to_string();
        assert!(refused.contains("1000000000 bytes") && refused.contains("640 MiB"), "{refused}");
    }

    #[test]
    fn a_networks_routers_have_room_for_what_they_forward() {
        let job = golden::job("dumbbell");
        let topology = Topology::of(&job);
        let contents = vec![content(10_000_000, 0); job.workloads.len()];
        let routers = routers_of_network(&topology, &job, &contents).unwrap();
        let names: Vec<_> = routers[0].points.iter().map(|point| &*point.name).collect();
        assert_eq!(names[..2], ["left-from-right", "left-to-right"]);
        let distinct: BTreeSet<_> = routers.iter().flat_map(|each| &each.points).map(|point| &point.name).collect();
        assert_eq!(distinct.len(), 2 * 2 * 3, "two routers of three links each");
        assert!(routers.iter().all(|each| each.memory_bytes > 30_000_000 * contents.len() as u64));
        let refused =
            routers_of_network(&topology, &job, &vec![content(1 << 30, 0); contents.len()]).unwrap_err().to_string();
        assert!(refused.contains("2 routers") && refused.contains("of its 640"), "{refused}");
    }

    #[test]
    fn what_leaves_towards_the_client_leaves_by_the_bottleneck_of_the_way_down() {
        let [_, out, ..] = points_of_path(BOTTLENECKS, None);
        assert_eq!((out.index, out.outgoing), (BOTTLENECKS[0].index, true));
    }
}
