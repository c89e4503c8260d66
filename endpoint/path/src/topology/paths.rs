//! The network of a job's paths: a client and a server, and between them a router for each path. Pure.
//!
//! ```text
//! client 10.i.1.1 ── 10.i.1.254 router 10.i.2.254 ── 10.i.2.1 server        (path i, every network a /24)
//! ```
//!
//! Over IPv6 it is the same with 2001:db8:i:1::1, 2001:db8:i:1::fe and so on, every network a /64.
//!
//! With several paths, a packet's destination decides which one it takes: only a path's own router leads to its
//! networks, and no rule looks at the source. Unless a program chooses another, a packet has its host's address on that
//! path as its source. A packet from the client's address on one path to the server's on another takes the server's
//! path, and the answer takes the client's; neither MPTCP nor SCTP uses such pairs here.
//!
//! [`super::handover`] describes a client that moves between paths.

use std::net::IpAddr;

use netwarp_core::addresses::{Family, ROUTER};
use netwarp_wire::job::{Job, Path};
use netwarp_wire::record::Side;

use super::graph::{Crossing, Device, End, Link, Node, NodeKind, Presence, Topology};
use super::{Route, handover, initial_window};

/// The node of the client.
pub const CLIENT: Node = Node(0);

/// The node of the server.
pub const SERVER: Node = Node(1);

/// The node number of the first path's router. The routers of other paths have the next numbers.
const FIRST_ROUTER: u16 = 2;

/// Returns the job's paths with their numbers.
pub(super) fn numbered(paths: &[Path]) -> impl Iterator<Item = (u8, &Path)> {
    (0..=u8::MAX).zip(paths)
}

/// Returns the topology of a job's paths.
pub(super) fn of_paths(job: &Job) -> Topology<'_> {
    let nodes = [Side::Client, Side::Server].map(|side| (NodeKind::Host, side.name().to_owned())).to_vec();
    let mut topology = Topology { nodes, links: vec![], crossings: vec![] };
    for (number, path) in numbered(&job.paths) {
        topology.nodes.push((NodeKind::Router, format!("router {number}")));
        let links = links(number, path, job);
        let [near, far] = links.each_ref().map(|link| link.ends.each_ref().map(|end| end.device));
        topology.crossings.push([
            Crossing { sender: far[0], bottleneck: Some(near[1]), receiver: near[0] },
            Crossing { sender: near[0], bottleneck: Some(far[1]), receiver: far[0] },
        ]);
        topology.links.extend(links);
    }
    topology
}

/// Returns the client's and the server's link to a path's router.
fn links<'a>(path: u8, description: &'a Path, job: &'a Job) -> [Link<'a>; 2] {
    let moves = job.timeline.has_handovers();
    let router = Node(FIRST_ROUTER + u16::from(path));
    let family = Family::of(job);
    let [of_client, of_server] = [[path, 1], [path, 2]];
    let near = host_end(CLIENT, path, family.client(path));
    let far = host_end(SERVER, path, family.server(path));
    let to_server = Route::new(near.device, family.address(of_server, 0), family.address(of_client, ROUTER));
    let to_client = Route::new(far.device, family.address(of_client, 0), family.address(of_server, ROUTER));
    let window = initial_window(&job.workloads);
    let link = |end: End<'a>, name: &str, place, network, egress| {
        let device = Device::of(router, place);
        let address = family.address(network, ROUTER);
        let name = name.to_owned();
        let far = End { device, name, address, presence: Presence::Always, egress: Some(egress), routes: vec![] };
        Link { number: path.into(), path: description, ends: [end, far] }
    };
    let mut links = [
        link(End { routes: vec![to_server.with_window(window)], ..near }, "to-client", 0, of_client, &description.down),
        link(End { routes: vec![to_client.with_window(window)], ..far }, "to-server", 1, of_server, &description.up),
    ];
    if moves {
        handover::rearrange(path, &mut links, family.address([0, 2], 0));
    }
    links
}

fn host_end<'a>(host: Node, path: u8, address: IpAddr) -> End<'a> {
    let device = Device::of(host, path.into());
    End { device, name: format!("path{path}"), address, presence: Presence::Always, egress: None, routes: vec![] }
}
