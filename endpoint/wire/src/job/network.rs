//! The network of a job: hosts, routers and links, if it has more than one client and one server.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// The hosts of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Ends {
    /// The host of the workload's client.
    pub client: String,
    /// The host of the workload's server.
    pub server: String,
    /// Indices of the links on the route with the fewest links from the client to the server, in order.
    pub links: Vec<u32>,
}

/// Hosts and routers, and the links between them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Network {
    /// Names of the hosts. They have at most twelve characters each, because names of network devices are made of them.
    /// Each host has one link.
    pub hosts: Vec<String>,
    /// Names of the routers.
    pub routers: Vec<String>,
    /// The links, in the order of the job's paths: which two nodes each path connects.
    pub links: Vec<Link>,
    /// Routers that translate addresses. Left out: none.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub nats: Vec<Nat>,
    /// Routers that send no ICMP messages, so that no sender learns that a packet was too big for a link, or that its
    /// hop limit was exceeded. Left out: none.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub silent: Vec<String>,
}

/// A cable between two nodes. Each direction's impairments are applied where packets leave a router; hosts apply none
/// to what they send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Link {
    /// The node at which the direction `up` begins, and `down` ends.
    pub first: String,
    /// The node at the other end.
    pub second: String,
    /// The link's name; null for the default, which is formed from the names of its two nodes.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub name: Option<String>,
}

/// A router that replaces the source address of packets to the outside by its own (masquerading), and keeps for each
/// such flow a mapping by which replies are translated back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Nat {
    /// The router.
    pub router: String,
    /// Index of the link that leads to the outside.
    pub link: u32,
    /// Whether each new mapping gets a random outer port. Otherwise the mapping keeps the host's port if that is free.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub random_ports: bool,
    /// Seconds without a packet after which a mapping of UDP or of an established TCP connection is forgotten. Left
    /// out: the kernel's own time-outs.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub timeout_s: Option<u32>,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
