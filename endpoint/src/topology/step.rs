//! What there is to do to build a path, or to change one. Pure.

use std::net::Ipv4Addr;

use super::{Device, Namespace};
use crate::job::Impairments;
use crate::netlink::mptcp::Endpoint;
use crate::netlink::qdisc::Shaper;

/// One thing to be done. Steps are to be taken in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Create a network namespace and stay in it; its loopback goes up.
    Create(Namespace),
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
        /// Which device.
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
        /// On which device.
        device: Device,
        /// The neighbour's address.
        address: Ipv4Addr,
        /// The neighbour's device.
        neighbour: Device,
    },
    /// Add a route to a /24, in the place of one to the same network in the same table.
    Route(Route),
    /// Have a host look up what leaves from one of its addresses in a table of its own first.
    Rule {
        /// Which host.
        host: Namespace,
        /// The address.
        source: Ipv4Addr,
        /// The table.
        table: u8,
    },
    /// Let the MPTCP connections of a host have more subflows than their first.
    Subflows {
        /// Which host.
        host: Namespace,
        /// How many more.
        more: u32,
        /// Addresses that the host tells its peers to open them to.
        announced: Vec<Ipv4Addr>,
    },
    /// The same as [`Step::Netem`], with a token bucket that keeps the rate.
    ShapedNetem {
        /// Which device.
        device: Device,
        /// How.
        impairments: Impairments,
        /// The bucket, as it is at first.
        shaper: Shaper,
    },
    /// Have the MPTCP connections of a host open a subflow from an address.
    AddEndpoint(Namespace, Endpoint),
    /// Have them close it.
    RemoveEndpoint(Namespace, Endpoint),
    /// Impair what leaves by a device of the router.
    Netem {
        /// Which device.
        device: Device,
        /// How.
        impairments: Impairments,
    },
}

/// A route to a /24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// By which device.
    pub device: Device,
    /// Where to.
    pub network: Ipv4Addr,
    /// Next hop.
    pub gateway: Ipv4Addr,
    /// Whether the device has an address in the gateway's network. Otherwise the kernel must be told where it is.
    pub gateway_is_local: bool,
    /// In which table.
    pub table: u8,
    /// First flight of connections by this route, sent and offered.
    pub initial_window_packets: Option<u32>,
}

impl Route {
    /// The table of all that no rule speaks of.
    pub const MAIN: u8 = libc::RT_TABLE_MAIN;

    /// In the main table, from a device with an address in the gateway's network.
    pub fn new(device: Device, network: Ipv4Addr, gateway: Ipv4Addr) -> Self {
        Self { device, network, gateway, gateway_is_local: true, table: Self::MAIN, initial_window_packets: None }
    }

    /// The same, whose connections begin with this window.
    pub fn with_window(self, initial_window_packets: u32) -> Self {
        Self { initial_window_packets: Some(initial_window_packets), ..self }
    }
}
