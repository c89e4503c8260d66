//! The steps that build a path, or change one. Pure.

use std::net::Ipv4Addr;

use netwarp_wire::job::Impairments;

use super::{Device, Node};
use crate::netlink::nftables::Numbers;

/// One thing to be done. Steps are to be taken in order.
#[derive(Debug, Clone, PartialEq)]
pub enum BuildStep {
    /// Create the network namespace of a node, called by this name, and stay in it; its loopback goes up.
    Create(Node, String),
    /// Write a sysctl of the namespace created last.
    Sysctl {
        /// Path below `/proc/sys`.
        key: &'static str,
        /// What to write.
        value: String,
        /// Absence of the key means that there is nothing to switch off.
        optional: bool,
    },
    /// Create a veth pair.
    Veth {
        /// Both devices, with their names.
        ends: [(Device, String); 2],
        /// Largest IP packet.
        mtu_bytes: u32,
    },
    /// Keep a device from carrying several packets as one.
    Offloads {
        /// The device whose features are restricted.
        device: Device,
        /// Leave `gso` on: it cuts packets before the device, and saves work.
        software_segmentation: bool,
    },
    /// Give a device an address, of a /24.
    Address(Device, Ipv4Addr),
    /// Take an address from a device. With the last one, the kernel forgets the device's routes and neighbours.
    RemoveAddress(Device, Ipv4Addr),
    /// Set a device up.
    Up(Device),
    /// Add the device at the other end of the cable as a permanent neighbour: no ARP.
    Neighbour {
        /// The device that has the neighbour.
        device: Device,
        /// The neighbour's address.
        address: Ipv4Addr,
        /// The neighbour's device.
        neighbour: Device,
    },
    /// Have a device ask for its neighbours (ARP), and so many packets wait for the answer.
    NeighbourQueue {
        /// The device that asks.
        device: Device,
        /// The most packets that wait.
        packets: u32,
    },
    /// Add a route, in the place of one to the same network in the same table.
    Route(Route),
    /// Have a host look up what leaves from one of its addresses in a table of its own first.
    Rule {
        /// The host that sends.
        host: Node,
        /// The address that packets leave from.
        source: Ipv4Addr,
        /// The number of that table.
        table: u8,
    },
    /// Let the MPTCP connections of a host have more subflows than their first.
    Subflows {
        /// The host whose connections they are.
        host: Node,
        /// How many subflows a connection may have besides its first.
        more: u32,
        /// Addresses that the host tells its peers to open them to.
        announced: Vec<Ipv4Addr>,
    },
    /// The same as [`BuildStep::Netem`], with a shaper that keeps the rate, on a device of its own that comes before.
    ShapedNetem {
        /// The device of the router.
        device: Device,
        /// What netem does.
        impairments: Impairments,
        /// The shaper, as it is at first.
        shaper: Shaper,
        /// Largest IP packet.
        mtu_bytes: u32,
    },
    /// Have the MPTCP connections of a host open a subflow from an address.
    AddEndpoint(Node, Endpoint),
    /// Have the MPTCP connections of a host close their subflows from an address.
    RemoveEndpoint(Node, Endpoint),
    /// Lose packets that are forwarded by a device of the router, by their numbers, before they come to its netem.
    LoseByNumber {
        /// The device of the router.
        device: Device,
        /// Which packets.
        numbers: Numbers,
    },
    /// Impair what leaves by a device of the router.
    Netem {
        /// The device of the router.
        device: Device,
        /// What netem does.
        impairments: Impairments,
    },
}

/// A route to a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The device by which packets leave.
    pub device: Device,
    /// The network that the route leads to.
    pub network: Ipv4Addr,
    /// The bits of its addresses that are the network's.
    pub prefix_bits: u8,
    /// The router to which packets are sent.
    pub gateway: Ipv4Addr,
    /// Whether the device has an address in the gateway's network. Otherwise the kernel must be told where it is.
    pub gateway_is_local: bool,
    /// The number of the table that has it.
    pub table: u8,
    /// First flight of connections by this route, sent and offered.
    pub initial_window_packets: Option<u32>,
}

impl Route {
    /// The main routing table, for packets that no rule names.
    pub(crate) const MAIN: u8 = libc::RT_TABLE_MAIN;

    /// A route to a /24 in the main table, by a device with an address in the gateway's network.
    pub fn new(device: Device, network: Ipv4Addr, gateway: Ipv4Addr) -> Self {
        Self {
            device,
            network,
            prefix_bits: 24,
            gateway,
            gateway_is_local: true,
            table: Self::MAIN,
            initial_window_packets: None,
        }
    }

    /// A route to all networks that the main table does not have, by such a device.
    pub fn everywhere(device: Device, gateway: Ipv4Addr) -> Self {
        Self { prefix_bits: 0, ..Self::new(device, Ipv4Addr::UNSPECIFIED, gateway) }
    }

    /// The same route, whose connections begin with this window.
    pub(crate) fn with_window(self, initial_window_packets: u32) -> Self {
        Self { initial_window_packets: Some(initial_window_packets), ..self }
    }
}

/// An address of this host that its connections may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Its number, by which the peer is told when it goes.
    pub id: u8,
    /// The address from which subflows are opened.
    pub address: Ipv4Addr,
}

/// A shaper that keeps a rate: a packet's transmission starts when that of the one before has ended.
///
/// A packet that is being transmitted when the rate changes still takes the time that it would have taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper {
    /// Of Ethernet frames, whole bytes a second of it. 0 stops the queue.
    pub rate_bit_s: u64,
    /// The size of the largest frame, in bytes.
    pub frame_bytes: u32,
    /// Room for packets that wait behind a netem; before one, they wait in it.
    pub queue_bytes: u32,
    /// Whether it comes before netem or behind it.
    pub place: Place,
}

/// Where a shaper hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// As netem's child: it takes what leaves netem.
    BehindNetem,
    /// As netem's parent. Packets that overtake others leave netem at once, past its child (`netem_enqueue`,
    /// `netem_dequeue`), but not past its parent.
    BeforeNetem,
}
