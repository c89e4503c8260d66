//! The steps that build a path, or change one. Pure.

use std::net::IpAddr;

use netwarp_core::addresses::{prefix_bits, unspecified};
use netwarp_wire::job::Impairments;

use super::{Device, Node, UNLIMITED_BIT_S};
use crate::netlink::nftables::Numbers;

/// One change of a host, a router or a device. The order of the steps matters.
#[derive(Debug, Clone, PartialEq)]
pub enum BuildStep {
    /// Create the network namespace of a node with this name, set its loopback up, and stay in it.
    Create(Node, String),
    /// Write a sysctl of the namespace created last.
    Sysctl {
        /// The path below `/proc/sys`.
        key: &'static str,
        /// The value to write.
        value: String,
        /// Whether the kernel may lack the key, because it then has nothing to switch off.
        optional: bool,
    },
    /// Create a veth pair.
    Veth {
        /// Both devices, with their names.
        ends: [(Device, String); 2],
        /// The size of the largest IP packet, in bytes.
        mtu_bytes: u32,
    },
    /// Keep a device from treating several packets as one.
    Offloads {
        /// The device whose features are restricted.
        device: Device,
        /// Whether `gso` stays on: it splits packets before the device, and saves work.
        software_segmentation: bool,
    },
    /// Hand a device at most so many packets at once, which it then gets one by one.
    Burst {
        /// The device of the host.
        device: Device,
        /// The most packets that TCP makes one segment of.
        packets: u32,
    },
    /// Give a device an address in a network of its family's usual size.
    Address(Device, IpAddr),
    /// Remove an address from a device. With the last one, the kernel removes the device's routes and neighbours too.
    RemoveAddress(Device, IpAddr),
    /// Set a device up.
    Up(Device),
    /// Set a device up that neither asks for neighbours nor reports its multicast groups, whose packets would be counted
    /// and impaired with the others.
    UpSilently(Device),
    /// Have a router forward packets of IPv6. With devices that still have multicast it would join the groups of all
    /// routers and report so.
    Forward(Node),
    /// Add the device at the other end of the cable as a permanent neighbour, for which no ARP is needed.
    Neighbour {
        /// The device that has the neighbour.
        device: Device,
        /// The neighbour's address.
        address: IpAddr,
        /// The neighbour's device.
        neighbour: Device,
    },
    /// Let a device ask for its neighbours (ARP), and limit how many packets wait for the answer.
    NeighbourQueue {
        /// The device that resolves them.
        device: Device,
        /// The most packets that wait.
        packets: u32,
    },
    /// Count the ARP packets of a router's device, and those others that leave by it. What impairs these comes before.
    CountArp(Device),
    /// Add a route, or replace the one to the same network in the same table.
    Route(Route),
    /// Let a host route the packets from one of its addresses by another table before the main one.
    Rule {
        /// The host that sends.
        host: Node,
        /// The source address of the packets.
        source: IpAddr,
        /// The number of that table.
        table: u8,
    },
    /// Allow the MPTCP connections of a host more subflows than their first.
    Subflows {
        /// The host whose connections they are.
        host: Node,
        /// The number of subflows that a connection may have in addition to its first.
        more: u32,
        /// The addresses that the host announces to its peers, for subflows to them.
        announced: Vec<IpAddr>,
    },
    /// Do as [`BuildStep::Netem`], with a shaper that keeps the rate, on a device of its own before this one.
    ShapedNetem {
        /// The device of the router.
        device: Device,
        /// The impairments that netem makes.
        impairments: Impairments,
        /// The shaper in its initial state.
        shaper: Shaper,
        /// The size of the largest IP packet, in bytes.
        mtu_bytes: u32,
    },
    /// Let the MPTCP connections of a host open a subflow from an address.
    AddEndpoint(Node, Endpoint),
    /// Let the MPTCP connections of a host close their subflows from an address.
    RemoveEndpoint(Node, Endpoint),
    /// Lose packets that are forwarded by a device of the router, by their numbers, before its netem.
    LoseByNumber {
        /// The device of the router.
        device: Device,
        /// The numbers of the packets.
        numbers: Numbers,
    },
    /// Give packets that a router forwards by this device the device's address as source, and remember whose the answers
    /// are.
    Translate {
        /// The device of the router.
        device: Device,
        /// Whether the port of a new mapping is drawn, and otherwise kept where it is free.
        random_ports: bool,
    },
    /// Drop all ICMP messages that a router sends itself.
    Silence(Node),
    /// Impair the packets that leave by a device of the router.
    Netem {
        /// The device of the router.
        device: Device,
        /// The impairments that netem makes.
        impairments: Impairments,
    },
}

/// A route to a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The device through which packets leave.
    pub device: Device,
    /// The network that the route leads to.
    pub network: IpAddr,
    /// The bits of its addresses that are the network's.
    pub prefix_bits: u8,
    /// The router to which packets are sent.
    pub gateway: IpAddr,
    /// Whether the device has an address in the gateway's network. Otherwise the kernel is told that the device reaches
    /// it.
    pub gateway_is_local: bool,
    /// The number of the routing table that contains it.
    pub table: u8,
    /// The initial window of connections by this route, in packets, for both directions.
    pub initial_window_packets: Option<u32>,
}

impl Route {
    /// The main routing table, for packets that match no rule.
    pub(crate) const MAIN: u8 = libc::RT_TABLE_MAIN;

    /// Creates a route to a network of its family's usual size in the main table, by a device with an address in the
    /// gateway's network.
    pub fn new(device: Device, network: IpAddr, gateway: IpAddr) -> Self {
        Self {
            device,
            network,
            prefix_bits: prefix_bits(network),
            gateway,
            gateway_is_local: true,
            table: Self::MAIN,
            initial_window_packets: None,
        }
    }

    /// A route to all networks that the main table does not have, by such a device.
    pub fn everywhere(device: Device, gateway: IpAddr) -> Self {
        Self { prefix_bits: 0, ..Self::new(device, unspecified(gateway), gateway) }
    }

    /// Sets the initial window of connections by this route.
    pub(crate) fn with_window(self, initial_window_packets: u32) -> Self {
        Self { initial_window_packets: Some(initial_window_packets), ..self }
    }
}

/// An address of this host that its connections may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Its number, by which the peer learns that it is gone.
    pub id: u8,
    /// The address from which subflows are opened.
    pub address: IpAddr,
}

/// A shaper that enforces a rate: a packet's transmission starts when that of the one before has ended.
///
/// A packet that is being transmitted when the rate changes continues at the rate before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper {
    /// The rate of Ethernet frames in bit/s, rounded down to whole bytes per second. 0 stops the queue.
    pub rate_bit_s: u64,
    /// The size of the largest frame, in bytes.
    pub frame_bytes: u32,
    /// The size of the queue in bytes, if it is behind a netem. Before one, packets wait in the netem.
    pub queue_bytes: u32,
    /// Whether it is before netem or behind it.
    pub place: Place,
    /// How many bytes pass at once before the rate counts: a policer's bucket. 0 for a link, which sends at its rate.
    pub burst_bytes: u32,
}

impl Shaper {
    /// Returns the rate at which a packet that passed is transmitted. What passes a policer is not slowed by it.
    pub fn transmission_bit_s(&self) -> u64 {
        if self.burst_bytes > 0 { UNLIMITED_BIT_S } else { self.rate_bit_s }
    }
}

/// The place of a shaper among the disciplines of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is netem's child, and takes the packets that leave netem.
    BehindNetem,
    /// It is netem's parent. Packets that overtake others leave netem at once and bypass its child, but not its parent
    /// (`netem_enqueue`, `netem_dequeue`).
    BeforeNetem,
}
