//! The network of a run: nodes, links between them, and the ends of links that impair packets. Pure.
//!
//! A path from client to server is a network like any other: two hosts, a router, and two links.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netwarp_wire::job::{Direction, Impairments, Path};

use super::Route;

/// The interface index of a node's first device.
pub const FIRST_INDEX: u32 = 10;

/// The difference between the interface indices of a bottleneck's device and of the additional device with its queue.
const QUEUE_INDICES: u32 = 10;

/// A host or a router, as its index in [`Topology::nodes`]. Each has its own network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(pub u16);

/// A network device, by node and interface index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// The node to which the device belongs.
    pub node: Node,
    /// The interface index. It is chosen in advance, so that it need not be looked up.
    pub index: u32,
}

impl Device {
    /// Returns the `place`-th device of a node. After every ten interface indices, the next ten are left free for the
    /// additional devices of queues ([`Self::queue`]).
    pub const fn of(node: Node, place: u32) -> Self {
        Self { node, index: FIRST_INDEX + place / QUEUE_INDICES * 2 * QUEUE_INDICES + place % QUEUE_INDICES }
    }

    /// Returns the additional device through which packets pass before this one if a shaper enforces this one's rate.
    /// The additional device delays and queues packets; this one then delays each by its transmission time.
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
    /// Sends and receives its own packets.
    Host,
    /// Forwards packets of others.
    Router,
}

/// The network of a run.
#[derive(Debug)]
pub struct Topology<'a> {
    /// Hosts and routers, with their names for messages.
    pub nodes: Vec<(NodeKind, String)>,
    /// The links; the two links of one path are adjacent. In a network that a job describes, each link is a path.
    pub links: Vec<Link<'a>>,
    /// The devices that packets pass in each direction, down and up, of each of the job's paths.
    pub crossings: Vec<[Crossing; 2]>,
}

/// A link between two nodes, with its own IP network.
#[derive(Debug)]
pub struct Link<'a> {
    /// The number of the job's path to which the link belongs.
    pub number: u16,
    /// The job's path to which the link belongs. Its impairments apply at the ends of the link.
    pub path: &'a Path,
    /// Both ends. On a path from client to server, the host's end is listed before the router's.
    pub ends: [End<'a>; 2],
}

/// An end of a link: a device of one of its nodes.
#[derive(Debug)]
pub struct End<'a> {
    /// The device at this end.
    pub device: Device,
    /// The device's name.
    pub name: String,
    /// The device's address in the link's network.
    pub address: IpAddr,
    /// When, during the run, the device has its address.
    pub presence: Presence,
    /// The impairments of the packets that leave through this end; `None` on a host, where they would affect the
    /// sender's stack (TCP small queues).
    pub egress: Option<&'a Impairments>,
    /// The routes that use this end.
    pub routes: Vec<Route>,
}

/// When a device has its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// During the whole run.
    Always,
    /// Never: the device's host is reached at another device's address.
    Never,
    /// While the device's host is attached to the path.
    Attached,
}

/// The devices that the packets of one direction of a path pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// The device from which the packets are sent.
    pub sender: Device,
    /// The router's device whose egress impairs the packets; `None` if no device does. On a link of a described
    /// network, it is the sender, unless the sender is a host.
    pub bottleneck: Option<Device>,
    /// The device at which the packets arrive.
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

    /// Returns the devices whose egress impairs a path's packets, down and up; `None` for a direction that no router
    /// impairs.
    ///
    /// # Panics
    /// The job has no such path.
    pub fn bottlenecks(&self, path: u16) -> [Option<Device>; 2] {
        self.crossings[usize::from(path)].map(|crossing| crossing.bottleneck)
    }
}
