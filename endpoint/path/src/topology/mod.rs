//! The network of a job ([`graph`]), and the steps that build it, in order. Pure.
//!
//! Packets are impaired where they leave a router, never on a host: impairments there would affect the sender's stack
//! (TCP small queues), and large segments become single packets only when they leave the host.

mod given;
mod graph;
mod handover;
mod paths;
mod step;
mod sysctls;

use std::net::IpAddr;

use netwarp_core::addresses::{Family, ipv4_beside};
use netwarp_transport::stack_of;
use netwarp_wire::job::{Exchange, Impairments, Job, Loss, Neighbours};
use netwarp_wire::record::Side;

use crate::netlink::nftables::Numbers;

pub use self::given::problems;
pub use self::graph::{Crossing, Device, End, FIRST_INDEX, Link, Node, NodeKind, Presence, Topology};
use self::paths::numbered;
pub use self::paths::{CLIENT, SERVER};
pub use self::step::{BuildStep, Endpoint, Place, Route, Shaper};
use self::sysctls::{
    address_reconfiguration, ecn, fast_open, hop_limit, host_sysctls, joining_subflows, mapping_time_outs,
    shared_sysctls, sysctl, tcp_sysctls,
};

/// The size of the Ethernet header, in bytes.
pub const ETHERNET_HEADER_BYTES: u32 = 14;

/// How many packets can wait for the MAC address of a neighbour, on paths with cold neighbours.
const COLD_QUEUE_PACKETS: u32 = 3;

/// The rate of a shaper that does not limit the rate: a full-size packet takes less than a nanosecond.
const UNLIMITED_BIT_S: u64 = 1 << 46;

impl Topology<'_> {
    /// Returns the network of a job.
    pub fn of(job: &Job) -> Topology<'_> {
        match &job.network {
            Some(network) => given::of_network(job, network),
            None => paths::of_paths(job),
        }
    }

    /// Returns the steps that build the network for a job.
    pub fn steps(&self, job: &Job) -> Vec<BuildStep> {
        let mut steps = Vec::new();
        let workloads = job.each_alone();
        let families = job.paths.first().map_or(&[][..], Family::all_of);
        let buffer_bytes = job.workloads.iter().map(|each| each.transport.buffer_bytes).max().unwrap_or(0);
        for (number, (kind, name)) in (0..).zip(&self.nodes) {
            let node = Node(number);
            steps.push(BuildStep::Create(node, name.clone()));
            steps.extend(shared_sysctls(Family::of(job)));
            match kind {
                NodeKind::Host => {
                    steps.extend(host_sysctls(buffer_bytes));
                    steps.extend(families.iter().filter_map(|family| hop_limit(job, *family)));
                    let own = workloads.iter().filter(|each| each.only().is_of(name));
                    steps.extend(transports_of_host(node, own));
                }
                NodeKind::Router if families.contains(&Family::Ipv4) => steps.push(sysctl("net/ipv4/ip_forward", "1")),
                NodeKind::Router => {}
            }
            for nat in job.network.iter().flat_map(|network| &network.nats).filter(|nat| nat.router == *name) {
                steps.extend(mapping_time_outs(nat));
            }
        }
        for part in self.links.chunk_by(|one, other| one.number == other.number) {
            steps.extend(part.iter().map(Link::veth));
            for place in [0, 1] {
                steps.extend(part.iter().flat_map(|link| link.configure(place, job)));
            }
        }
        if families.contains(&Family::Ipv6) {
            let routers = (0..).zip(&self.nodes).filter(|(_, (kind, _))| *kind == NodeKind::Router);
            steps.extend(routers.map(|(number, _)| BuildStep::Forward(Node(number))));
        }
        steps.extend(self.translations(job));
        let routers = (0..).map(Node).take(self.nodes.len()).filter(|node| self.is_silent(job, *node));
        steps.extend(routers.map(BuildStep::Silence));
        steps
    }

    /// Returns whether the job forbids a node to send ICMP messages itself.
    pub(crate) fn is_silent(&self, job: &Job, node: Node) -> bool {
        let (_, name) = &self.nodes[usize::from(node.0)];
        job.network.as_ref().is_some_and(|network| network.silent.contains(name))
    }
}

impl Topology<'_> {
    /// Returns the steps that set up address translation (NAT) on routers.
    fn translations(&self, job: &Job) -> impl Iterator<Item = BuildStep> {
        job.network.iter().flat_map(|network| &network.nats).map(|nat| {
            let ends = &self.links[nat.link as usize].ends;
            let is_first = self.nodes[usize::from(ends[0].device.node.0)].1 == nat.router;
            let device = ends[usize::from(!is_first)].device;
            BuildStep::Translate { device, random_ports: nat.random_ports }
        })
    }
}

impl Link<'_> {
    fn veth(&self) -> BuildStep {
        let ends = self.ends.each_ref().map(|end| (end.device, end.name.clone()));
        BuildStep::Veth { ends, mtu_bytes: self.path.mtu_bytes }
    }

    /// Returns the steps that set up the end of the link at index `place`.
    fn configure(&self, place: usize, job: &Job) -> Vec<BuildStep> {
        let End { device, address, presence, egress, routes, .. } = &self.ends[place];
        let device = *device;
        let mut steps = vec![BuildStep::Offloads { device, software_segmentation: egress.is_none() }];
        if let Some(packets) = job.tso_packets().filter(|_| egress.is_none()) {
            steps.push(BuildStep::Burst { device, packets });
        }
        if *presence == Presence::Always {
            steps.push(BuildStep::Address(device, *address));
            if self.path.dual {
                steps.push(BuildStep::Address(device, ipv4_beside(*address)));
            }
        }
        steps.push(match address {
            IpAddr::V4(_) => BuildStep::Up(device),
            IpAddr::V6(_) => BuildStep::UpSilently(device),
        });
        if *presence == Presence::Attached {
            steps.extend(handover::prepare(self, job));
            return steps;
        }
        steps.extend(self.neighbours_of(place));
        steps.extend(egress.iter().flat_map(|impairments| impair(device, impairments, self.path.mtu_bytes)));
        if egress.is_some() && self.path.neighbours == Neighbours::Cold {
            steps.push(BuildStep::CountArp(device));
        }
        let beside = routes.iter().filter(|_| self.path.dual).map(|route| route.ipv4_beside());
        steps.extend(routes.iter().copied().chain(beside).map(BuildStep::Route));
        steps
    }

    /// Returns the steps by which the device at index `place` of a link gets the other end as a permanent neighbour or,
    /// with cold neighbours, is left to find it by ARP.
    fn neighbours_of(&self, place: usize) -> Vec<BuildStep> {
        let (device, other) = (self.ends[place].device, &self.ends[1 - place]);
        let known = |address| BuildStep::Neighbour { device, address, neighbour: other.device };
        match self.path.neighbours {
            Neighbours::Warm if self.path.dual => vec![known(other.address), known(ipv4_beside(other.address))],
            Neighbours::Warm => vec![known(other.address)],
            Neighbours::Cold => vec![BuildStep::NeighbourQueue { device, packets: COLD_QUEUE_PACKETS }],
        }
    }
}

/// Returns the name of the host on which a workload's client or server runs.
pub fn host_of(exchange: &Exchange, side: Side) -> &str {
    match (&exchange.ends, side) {
        (Some(ends), Side::Client) => &ends.client,
        (Some(ends), Side::Server) => &ends.server,
        (None, side) => side.name(),
    }
}

/// Returns the steps that impair the packets leaving through a device.
fn impair(device: Device, impairments: &Impairments, mtu_bytes: u32) -> Vec<BuildStep> {
    let numbered = numbers_lost(&impairments.loss).map(|numbers| BuildStep::LoseByNumber { device, numbers });
    let impairments = impairments.clone();
    let netem = match shaper(&impairments, mtu_bytes) {
        Some(shaper) => BuildStep::ShapedNetem { device, impairments, shaper, mtu_bytes },
        None if impairments.queues_apart() => BuildStep::NetemBefore { device, impairments, mtu_bytes },
        None => BuildStep::Netem { device, impairments },
    };
    numbered.into_iter().chain([netem]).collect()
}

/// Returns the steps that the transports of a host's workloads need on the host, without duplicates.
fn transports_of_host<'a>(host: Node, workloads: impl Iterator<Item = &'a Job>) -> Vec<BuildStep> {
    let mut steps = Vec::new();
    for job in workloads {
        let mut own: Vec<BuildStep> = joining_subflows(job).into_iter().collect();
        own.extend(tcp_sysctls(&job.only().transport));
        own.extend(fast_open(&job.only().transport));
        own.extend(ecn(&job.only().transport));
        own.extend(address_reconfiguration(&job.only().transport));
        if stack_of(job.only().transport.kind).has_subflows() {
            own.extend(mptcp_of_host(host, job));
        }
        for step in own {
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
    }
    steps
}

/// Returns the initial window of a route, in packets. Only TCP uses it, and all TCP workloads have the same.
fn initial_window<'a>(workloads: impl IntoIterator<Item = &'a Exchange>) -> u32 {
    let transports: Vec<_> = workloads.into_iter().map(|each| &each.transport).collect();
    let of_tcp = transports.iter().find(|transport| stack_of(transport.kind).uses_tcp());
    of_tcp.or(transports.first()).map_or(0, |transport| transport.initial_window_packets)
}

/// Removes the steps for netems that impair nothing: in real time even those would delay packets.
pub fn without_idle_netem(mut steps: Vec<BuildStep>) -> Vec<BuildStep> {
    steps.retain(|step| !matches!(step, BuildStep::Netem { impairments, .. } if !impairments.impairs()));
    steps
}

/// Returns the shaper for a direction whose rate netem cannot enforce, because the rate changes, its queue counts bytes,
/// or a queueing discipline has the queue; otherwise `None`. If packets are reordered, the shaper is before netem. If the job sets no rate, the shaper does
/// not limit at first: a trace sets a rate at the run's epoch, an event later.
pub fn shaper(impairments: &Impairments, mtu_bytes: u32) -> Option<Shaper> {
    let reorders = impairments.reorder.ratio > 0.0;
    let is_needed = impairments.shaper_queue_bytes.is_some()
        || impairments.discipline.is_some()
        || reorders && impairments.rate_bit_s.is_some() && impairments.queue_packets.is_none();
    is_needed.then(|| Shaper {
        rate_bit_s: impairments.rate_bit_s.unwrap_or(UNLIMITED_BIT_S),
        frame_bytes: mtu_bytes + ETHERNET_HEADER_BYTES,
        queue_bytes: impairments.shaper_queue_bytes.unwrap_or(0),
        queue_packets: impairments.queue_packets,
        place: if reorders { Place::BeforeNetem } else { Place::BehindNetem },
        burst_bytes: impairments.policer_bytes.unwrap_or(0),
    })
}

/// Returns the steps that let MPTCP open one subflow for each path. Only the server announces addresses. The client
/// opens a subflow to each of them, which takes that address's path and so has the client's address there. If the
/// client moves, the server has only one address.
fn mptcp_of_host(host: Node, job: &Job) -> [BuildStep; 2] {
    let others = || numbered(&job.paths).skip(1).map(|(path, _)| path);
    let announces = host == SERVER && !job.timeline.has_handovers();
    let announced = if announces { others().map(|path| Family::of(job).server(path)).collect() } else { Vec::new() };
    let more = if job.timeline.has_handovers() { handover::SUBFLOWS } else { others().map(|_| 1).sum() };
    [
        // This is the kernel's default, but a native host's distribution may have changed it.
        sysctl("net/mptcp/enabled", "1"),
        BuildStep::Subflows { host, more, announced },
    ]
}

/// Returns the numbers of the packets that a loss model drops by number, counted from 0 as in nf_tables; `None` for
/// loss models of netem.
fn numbers_lost(loss: &Loss) -> Option<Numbers> {
    match loss {
        Loss::None {} | Loss::Random { .. } | Loss::Gemodel { .. } => None,
        Loss::Every { packets } => Some(Numbers { modulus: *packets, lost: vec![packets - 1] }),
        Loss::Packets { numbers } => {
            Some(Numbers { modulus: u32::MAX, lost: numbers.iter().map(|number| number - 1).collect() })
        }
    }
}

#[cfg(test)]
mod tests;
