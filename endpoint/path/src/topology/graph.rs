//! The network of a run: nodes, links between them, and the ends of links that impair packets. Pure.
//!
//! A path from client to server is a network like any other: two hosts, a router, and two links.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netwarp_wire::job::{Direction, Impairments, Path};

use super::Route;

/// The interface index of a node's first device.
pub const FIRST_INDEX: u32 = 10;

/// The difference between the interface index of a bottleneck's queue and its own.
const QUEUE_INDICES: u32 = 10;

/// A host or a router, each with a network namespace of its own, by its index in [`Topology::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(pub u16);

/// A network device, by node and interface index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// The node to which it belongs.
    pub node: Node,
    /// The interface index, which is chosen here and so need not be looked up.
    pub index: u32,
}

impl Device {
    /// Returns a node's device, by its place among the node's devices. After every ten of them, ten indices are free
    /// for the devices of their queues.
    pub const fn of(node: Node, place: u32) -> Self {
        Self { node, index: FIRST_INDEX + place / QUEUE_INDICES * 2 * QUEUE_INDICES + place % QUEUE_INDICES }
    }

    /// Returns the device through which packets pass before this one, if a shaper keeps this one's rate. It delays and
    /// queues them; in this device they then spend the time of their transmission.
    pub(crate) fn queue(self) -> Self {
        Self { index: self.index + QUEUE_INDICES, ..self }
    }

    /// Returns the device's MAC address, which is fixed and locally administered.
    pub(crate) fn mac(self) -> [u8; 6] {
        let [_, _, high, low] = self.index.to_be_bytes();
        let [kind, number] = match self.node {
            Node(host @ 0..2) => [host.to_le_bytes()[0] + 1, 0],
            Node(other) => (0x300 + other - 2).to_be_bytes(),
        };
        [0x02, 0, high, kind, number, low]
    }
}

/// The role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// It sends and receives packets of its own.
    Host,
    /// It forwards the packets of others.
    Router,
}

/// The network of a run.
#[derive(Debug)]
pub struct Topology<'a> {
    /// Its hosts and routers, with their names in messages.
    pub nodes: Vec<(NodeKind, String)>,
    /// Its links; those of one path follow each other. In a network that a job describes, each is a path.
    pub links: Vec<Link<'a>>,
    /// The devices that packets pass in each direction, down and up, of each of the job's paths.
    pub crossings: Vec<[Crossing; 2]>,
}

/// A cable between two nodes, with a network of its own.
#[derive(Debug)]
pub struct Link<'a> {
    /// The number of the job's path to which it belongs.
    pub number: u16,
    /// The path with that number, whose impairments its ends have.
    pub path: &'a Path,
    /// Both ends. On a path from client to server, the host comes before the router.
    pub ends: [End<'a>; 2],
}

/// An end of a link: a device of one of its nodes.
#[derive(Debug)]
pub struct End<'a> {
    /// The device at this end.
    pub device: Device,
    /// The device's name.
    pub name: String,
    /// Its address in the link's network.
    pub address: IpAddr,
    /// The time during which it has that address.
    pub presence: Presence,
    /// The impairments of the packets that leave by it; none on a host, whose stack would notice (TCP small queues).
    pub egress: Option<&'a Impairments>,
    /// The routes that use it.
    pub routes: Vec<Route>,
}

/// The time during which a device has its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// During the whole run.
    Always,
    /// Never: its node is reached at another address.
    Never,
    /// While its host is attached to the path.
    Attached,
}

/// The devices that the packets of one direction of a path pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// The device from which they are sent.
    pub sender: Device,
    /// The router's device whose egress impairs them, which on a link of a network is the sender; `None` where a host
    /// sends.
    pub bottleneck: Option<Device>,
    /// The device at which they arrive.
    pub receiver: Device,
}

impl Topology<'_> {
    /// Returns the hosts by their names, each with its first address.
    pub fn hosts(&self) -> BTreeMap<&str, (Node, IpAddr)> {
        let mut hosts = BTreeMap::new();
        for end in self.links.iter().flat_map(|link| &link.ends) {
            if let (NodeKind::Host, name) = &self.nodes[usize::from(end.device.node.0)] {
                hosts.entry(&**name).or_insert((end.device.node, end.address));
            }
        }
        hosts
    }

    /// Returns the devices that packets pass in a direction of a path.
    ///
    /// # Panics
    /// The job has no such path.
    pub fn crossing(&self, path: u16, direction: Direction) -> Crossing {
        let [down, up] = self.crossings[usize::from(path)];
        match direction {
            Direction::Down => down,
            Direction::Up => up,
        }
    }

    /// Returns the devices whose egress impairs a path's packets, down and up; `None` where a host sends.
    ///
    /// # Panics
    /// The job has no such path.
    pub fn bottlenecks(&self, path: u16) -> [Option<Device>; 2] {
        self.crossings[usize::from(path)].map(|crossing| crossing.bottleneck)
    }
}
