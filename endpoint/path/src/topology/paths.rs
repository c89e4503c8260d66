//! The network of a job's paths: a client and a server, and between them a router for each path. Pure.
//!
//! ```text
//! client 10.i.1.1 ── 10.i.1.254 router 10.i.2.254 ── 10.i.2.1 server        (path i, every network a /24)
//! ```
//!
//! With several paths, the destination decides: each path's networks are reached by its router alone, and a packet leaves
//! from the address it has there unless its sender says otherwise. No rule looks at the source. A packet from the client's
//! address on one path to the server's on another travels by the destination's path, its answer by the other: reachable,
//! and used by neither MPTCP nor SCTP here.
//!
//! A client that moves between paths is another matter: [`super::handover`].

use std::net::Ipv4Addr;

use netwarp_core::addresses::{client_address, router_address, server_address};
use netwarp_wire::job::{Job, Path};
use netwarp_wire::record::Side;

use super::graph::{Crossing, Device, End, Link, Node, NodeKind, Presence, Topology};
use super::{Route, handover, initial_window};

/// The node of the client.
pub const CLIENT: Node = Node(0);

/// The node of the server.
pub const SERVER: Node = Node(1);

/// The first path's router; those of others follow.
const FIRST_ROUTER: u16 = 2;

/// The routers' last byte in both of their networks.
const ROUTER_BYTE: u8 = 254;

/// The job's paths, with their numbers.
pub(super) fn numbered(paths: &[Path]) -> impl Iterator<Item = (u8, &Path)> {
    (0..=u8::MAX).zip(paths)
}

/// The network that the server's address on a path is in.
pub(super) fn server_network(path: u8) -> Ipv4Addr {
    network_of(server_address(path))
}

/// Returns the network of a job's paths.
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

/// The client's and the server's link to a path's router.
fn links<'a>(path: u8, description: &'a Path, job: &'a Job) -> [Link<'a>; 2] {
    let moves = job.timeline.has_handovers();
    let router = Node(FIRST_ROUTER + u16::from(path));
    let near = host_end(CLIENT, path, client_address(path));
    let far = host_end(SERVER, path, server_address(path));
    let to_server = Route::new(near.device, server_network(path), router_address(path));
    let to_client = Route::new(far.device, network_of(client_address(path)), beside(server_address(path)));
    let window = initial_window(&job.workloads);
    let link = |end: End<'a>, name: &str, place, egress| {
        let device = Device::of(router, place);
        let address = beside(end.address);
        let name = name.to_owned();
        let far = End { device, name, address, presence: Presence::Always, egress: Some(egress), routes: vec![] };
        Link { number: path.into(), path: description, ends: [end, far] }
    };
    let mut links = [
        link(End { routes: vec![to_server.with_window(window)], ..near }, "to-client", 0, &description.down),
        link(End { routes: vec![to_client.with_window(window)], ..far }, "to-server", 1, &description.up),
    ];
    if moves {
        handover::rearrange(path, &mut links);
    }
    links
}

fn host_end<'a>(host: Node, path: u8, address: Ipv4Addr) -> End<'a> {
    let device = Device::of(host, path.into());
    End { device, name: format!("path{path}"), address, presence: Presence::Always, egress: None, routes: vec![] }
}

fn network_of(address: Ipv4Addr) -> Ipv4Addr {
    address & Ipv4Addr::new(255, 255, 255, 0)
}

/// The router's address in the network of a host's.
fn beside(address: Ipv4Addr) -> Ipv4Addr {
    network_of(address) | Ipv4Addr::new(0, 0, 0, ROUTER_BYTE)
}
