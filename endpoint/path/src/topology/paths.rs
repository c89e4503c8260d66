//! The network of a job's paths: a client and a server, and between them a router for each path. Pure.
//!
//! ```text
//! client 10.i.1.1 ── 10.i.1.254 router 10.i.2.254 ── 10.i.2.1 server        (path i, every network a /24)
//! ```
//!
//! With several paths, a packet's destination decides which one it takes: only a path's router leads to its networks,
//! and no rule looks at the source. Unless its sender says otherwise, a packet has its host's address on that path as
//! its source. A packet from the client's address on one path to the server's on another takes the server's path, and
//! the answer takes the client's; neither MPTCP nor SCTP uses such pairs here.
//!
//! [`super::handover`] describes a client that moves between paths.

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

/// The number of the first path's router. Those of other paths follow.
const FIRST_ROUTER: u16 = 2;

/// The last byte of the routers' addresses in both of their networks.
const ROUTER_BYTE: u8 = 254;

/// Returns the job's paths with their numbers.
pub(super) fn numbered(paths: &[Path]) -> impl Iterator<Item = (u8, &Path)> {
    (0..=u8::MAX).zip(paths)
}

/// Returns the network of the server's address on a path.
fn server_network(path: u8) -> Ipv4Addr {
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

/// Returns the client's and the server's link to a path's router.
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
        handover::rearrange(path, &mut links, server_network(0));
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

/// Returns the router's address in the network of a host's address.
fn beside(address: Ipv4Addr) -> Ipv4Addr {
    network_of(address) | Ipv4Addr::new(0, 0, 0, ROUTER_BYTE)
}
