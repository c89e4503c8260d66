//! The steps that build a path, or change one. Pure.

use std::net::IpAddr;

use netwarp_core::addresses::{ipv4_beside, prefix_bits, unspecified};
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
        /// Whether the key may be missing in the kernel: then there is nothing to switch off.
        optional: bool,
    },
    /// Create a veth pair.
    Veth {
        /// Both devices, with their names.
        ends: [(Device, String); 2],
        /// The size of the largest IP packet, in bytes.
        mtu_bytes: u32,
    },
    /// Switch off the offload features by which a device treats several packets as one.
    Offloads {
        /// The device whose features are restricted.
        device: Device,
        /// Whether `gso` stays on: it splits packets just before the device, and saves work.
        software_segmentation: bool,
    },
    /// Limit how many packets TCP passes to a device as one large segment, which is split before the device.
    Burst {
        /// The host's device.
        device: Device,
        /// The most packets in one large segment.
        packets: u32,
    },
    /// Give a device an address with its family's usual prefix length (/24 or /64).
    Address(Device, IpAddr),
    /// Remove an address from a device. With the last one, the kernel removes the device's routes and neighbours too.
    RemoveAddress(Device, IpAddr),
    /// Set a device up.
    Up(Device),
    /// Set a device up without neighbour resolution and multicast reports, whose packets would be counted and impaired
    /// with the others.
    UpSilently(Device),
    /// Make a router forward IPv6 packets. This must come after its devices are set up without multicast; otherwise the
    /// router would join the all-routers groups and report that.
    Forward(Node),
    /// Add the device at the other end of a link as a permanent neighbour, for which no ARP is needed.
    Neighbour {
        /// The device that gets the neighbour.
        device: Device,
        /// The neighbour's address.
        address: IpAddr,
        /// The device at the other end of the link.
        neighbour: Device,
    },
    /// Let a device find its neighbours by ARP, and limit how many packets wait for a reply.
    NeighbourQueue {
        /// The device that uses ARP.
        device: Device,
        /// The most packets that wait for each neighbour.
        packets: u32,
    },
    /// Count the ARP packets of a router's device, and the other packets that leave through it. Must come after the
    /// steps that impair these packets.
    CountArp(Device),
    /// Add a route, or replace an existing route to the same network in the same table.
    Route(Route),
    /// Let a host look up the routes of packets from one of its addresses in another table before the main table.
    Rule {
        /// The host that gets the rule.
        host: Node,
        /// The source address of the packets.
        source: IpAddr,
        /// The number of the other table.
        table: u8,
    },
    /// Allow the MPTCP connections of a host additional subflows.
    Subflows {
        /// The host of the connections.
        host: Node,
        /// The maximum number of additional subflows of a connection, not counting its first.
        more: u32,
        /// The host's addresses that it announces to its peers, so that they open subflows to these addresses.
        announced: Vec<IpAddr>,
    },
    /// Impair the packets that leave through a router's device, with a shaper for the rate, on an additional device
    /// before it.
    ShapedNetem {
        /// The device of the router.
        device: Device,
        /// The impairments of the packets.
        impairments: Impairments,
        /// The shaper in its initial state.
        shaper: Shaper,
        /// The size of the largest IP packet, in bytes.
        mtu_bytes: u32,
    },
    /// Impair the packets that leave through a router's device, on an additional device before it; the device itself has
    /// the queue and the rate.
    NetemBefore {
        /// The device of the router.
        device: Device,
        /// The impairments of the packets.
        impairments: Impairments,
        /// The size of the largest IP packet, in bytes.
        mtu_bytes: u32,
    },
    /// Make the MPTCP connections of a host open a subflow from an address.
    AddEndpoint(Node, Endpoint),
    /// Make the MPTCP connections of a host close their subflows from an address.
    RemoveEndpoint(Node, Endpoint),
    /// Drop packets that a router forwards through a device, by their numbers, before its netem.
    LoseByNumber {
        /// The device of the router.
        device: Device,
        /// The numbers of the packets to drop.
        numbers: Numbers,
    },
    /// Give packets that a router forwards through this device the device's address as source, and translate the
    /// answers back (masquerading).
    Translate {
        /// The device of the router.
        device: Device,
        /// Whether a new mapping gets a random port; otherwise it keeps the packet's port, if that is free.
        random_ports: bool,
    },
    /// Drop all ICMP messages that a router sends itself.
    Silence(Node),
    /// Impair the packets that leave through a device of the router.
    Netem {
        /// The device of the router.
        device: Device,
        /// The impairments of the packets.
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
    /// The length of the network's prefix, in bits.
    pub prefix_bits: u8,
    /// The router to which packets are sent (next hop).
    pub gateway: IpAddr,
    /// Whether the device has an address in the gateway's network. Otherwise the route is marked as `onlink`.
    pub gateway_is_local: bool,
    /// The number of the routing table that contains the route.
    pub table: u8,
    /// The initial congestion and receive window of connections by this route, in packets; `None` for the kernel's
    /// default.
    pub initial_window_packets: Option<u32>,
}

impl Route {
    /// The main routing table, for packets that match no rule.
    pub(crate) const MAIN: u8 = libc::RT_TABLE_MAIN;

    /// Creates a route in the main table to a network with its family's usual prefix length, through a device with an
    /// address in the gateway's network.
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

    /// Creates a default route in the main table, through a device with an address in the gateway's network.
    pub fn everywhere(device: Device, gateway: IpAddr) -> Self {
        Self { prefix_bits: 0, ..Self::new(device, unspecified(gateway), gateway) }
    }

    /// Returns the IPv4 route that a dual-stack run has beside an IPv6 route.
    pub(crate) fn ipv4_beside(self) -> Self {
        let network = ipv4_beside(self.network);
        let prefix_bits = if self.prefix_bits == 0 { 0 } else { prefix_bits(network) };
        Self { network, prefix_bits, gateway: ipv4_beside(self.gateway), ..self }
    }

    /// Returns the route with an initial window for its connections, in packets.
    pub(crate) fn with_window(self, initial_window_packets: u32) -> Self {
        Self { initial_window_packets: Some(initial_window_packets), ..self }
    }
}

/// An MPTCP endpoint: an address of a host from which its connections may open subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The address's id in MPTCP, by which the peer learns that the address is gone.
    pub id: u8,
    /// The address from which subflows are opened.
    pub address: IpAddr,
}

/// A shaper that enforces a rate: it lets a packet start when the previous packet has been transmitted.
///
/// A packet that is being transmitted when the rate changes continues at the old rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper {
    /// The rate of Ethernet frames in bit/s, rounded down to whole bytes per second. 0 stops the queue.
    pub rate_bit_s: u64,
    /// The size of the largest frame, in bytes.
    pub frame_bytes: u32,
    /// The size of the shaper's queue in bytes, if the shaper is behind netem. If it is before netem, packets wait in
    /// netem.
    pub queue_bytes: u32,
    /// How many packets can wait in the shaper's queue, if it counts packets instead of bytes.
    pub queue_packets: Option<u32>,
    /// Whether the shaper is before netem or behind it.
    pub place: Place,
    /// How many bytes may pass at once, faster than the rate: a policer's bucket. 0 for a link.
    pub burst_bytes: u32,
}

impl Shaper {
    /// Returns the rate at which packets that have passed the shaper are transmitted: unlimited behind a policer.
    pub fn transmission_bit_s(&self) -> u64 {
        if self.burst_bytes > 0 { UNLIMITED_BIT_S } else { self.rate_bit_s }
    }
}

/// The place of a shaper among the queueing disciplines of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The shaper is netem's child, and takes the packets that leave netem.
    BehindNetem,
    /// The shaper is netem's parent. Reordered packets leave netem at once and bypass its child, but not its parent
    /// (`netem_enqueue`, `netem_dequeue`).
    BeforeNetem,
}
