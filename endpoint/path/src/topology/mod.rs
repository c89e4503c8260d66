//! What is to be built for a job: an ordered list of steps. Pure.
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
//! A client that moves between paths is another matter: [`handover`].
//!
//! Impairment sits on the router's two egress devices, never on a host: a sender's stack must not see it (TCP small
//! queues would), and what a host sends is single packets by then.

pub(crate) mod handover;
mod step;
mod sysctls;

use std::net::Ipv4Addr;

use netwarp_core::addresses::server_address;
use netwarp_transport::stack_of;
use netwarp_wire::job::{Direction, Exchange, Impairments, Job, Neighbours, Path};

pub use self::step::{BuildStep, Endpoint, Place, Route, Shaper};
use self::sysctls::{
    address_reconfiguration, ecn, fast_open, host_sysctls, joining_subflows, shared_sysctls, sysctl, tcp_sysctls,
};

/// Bytes of a frame before the packet: the Ethernet header.
pub const ETHERNET_HEADER_BYTES: u32 = 14;

/// Interface index of a host's device on the first path; on others it is as much larger as the path's number.
const FIRST_INDEX: u32 = 10;

/// By how much the interface index of a bottleneck's queue is larger than its own.
const QUEUE_INDICES: u32 = 10;

/// Packets that wait for a neighbour which is being asked for, where neighbours are cold.
const COLD_QUEUE_PACKETS: u32 = 3;

/// The rate that stands for "unlimited" in a shaper: a full-size packet takes less than a nanosecond.
const UNLIMITED_BIT_S: u64 = 1 << 46;

/// A network namespace of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespace {
    /// Where the client runs.
    Client,
    /// Where the server runs.
    Server,
    /// The router of this path.
    Router(u8),
}

/// A network device, by namespace and interface index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// The namespace that it is in.
    pub namespace: Namespace,
    /// Interface index, chosen here so that nothing need be looked up.
    pub index: u32,
}

/// The client's device on a path.
pub fn client_device(path: u8) -> Device {
    Device { namespace: Namespace::Client, index: FIRST_INDEX + u32::from(path) }
}

/// The server's device on a path.
pub(crate) fn server_device(path: u8) -> Device {
    Device { namespace: Namespace::Server, index: FIRST_INDEX + u32::from(path) }
}

/// The router's device whose egress is this direction's bottleneck.
pub fn bottleneck(path: u8, direction: Direction) -> Device {
    let index = match direction {
        Direction::Down => 10,
        Direction::Up => 11,
    };
    Device { namespace: Namespace::Router(path), index }
}

/// The device through which packets go before they leave by a bottleneck, where a shaper keeps its rate: it has their delay and
/// their queue, and the bottleneck itself the time of their transmission.
pub(crate) fn queue_device(bottleneck: Device) -> Device {
    Device { index: bottleneck.index + QUEUE_INDICES, ..bottleneck }
}

/// A fixed, locally administered MAC address.
pub(crate) fn mac(device: Device) -> [u8; 6] {
    let (kind, path) = match device.namespace {
        Namespace::Client => (1, 0),
        Namespace::Server => (2, 0),
        Namespace::Router(path) => (3, path),
    };
    [0x02, 0, 0, kind, path, device.index.to_le_bytes()[0]]
}

/// The steps that build a job's paths.
pub fn steps(job: &Job) -> Vec<BuildStep> {
    let mut steps = Vec::new();
    let workloads = job.each_alone();
    let buffer_bytes = job.workloads.iter().map(|each| each.transport.buffer_bytes).max().unwrap_or(0);
    for host in [Namespace::Client, Namespace::Server] {
        steps.push(BuildStep::Create(host));
        steps.extend(shared_sysctls());
        steps.extend(host_sysctls(buffer_bytes));
        steps.extend(transports_of_host(host, &workloads));
    }
    for (path, _) in numbered(&job.paths) {
        steps.push(BuildStep::Create(Namespace::Router(path)));
        steps.extend(shared_sysctls());
        steps.push(sysctl("net/ipv4/ip_forward", "1"));
    }
    for (path, description) in numbered(&job.paths) {
        let [near, far] = cables(path);
        steps.extend([&near, &far].map(|cable| cable.veth(path, description.mtu_bytes)));
        if job.timeline.has_handovers() {
            steps.extend(handover::configure_hosts(path, job));
        } else {
            let window = initial_window(&job.workloads);
            steps.extend(near.configure_host(far.network, window));
            steps.extend(far.configure_host(near.network, window));
        }
        steps.extend(near.configure_router(&description.down, description.mtu_bytes));
        steps.extend(far.configure_router(&description.up, description.mtu_bytes));
        if job.timeline.has_handovers() {
            steps.extend(handover::route_to_server(path));
        }
    }
    forget_neighbours(&mut steps, job);
    steps
}

/// What the transports of a host's workloads need, each step once.
fn transports_of_host(host: Namespace, workloads: &[Job]) -> Vec<BuildStep> {
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

/// The first flight of TCP, which is the route's: the same for all workloads that use it. Others take no notice of it.
fn initial_window(workloads: &[Exchange]) -> u32 {
    let mut transports = workloads.iter().map(|each| &each.transport);
    let of_tcp = transports.clone().find(|transport| stack_of(transport.kind).uses_tcp());
    of_tcp.or(transports.next()).map_or(0, |transport| transport.initial_window_packets)
}

/// On paths whose neighbours are cold, devices ask for those that they would know.
fn forget_neighbours(steps: &mut [BuildStep], job: &Job) {
    let is_cold = |device: &Device| {
        let path = match device.namespace {
            Namespace::Client | Namespace::Server => device.index - FIRST_INDEX,
            Namespace::Router(path) => path.into(),
        };
        job.paths.get(path as usize).is_some_and(|path| path.neighbours == Neighbours::Cold)
    };
    for step in steps {
        if let BuildStep::Neighbour { device, .. } = step
            && is_cold(device)
        {
            *step = BuildStep::NeighbourQueue { device: *device, packets: COLD_QUEUE_PACKETS };
        }
    }
}

/// The same without netem where it would do nothing: packets of a real clock should not pay for it.
pub fn without_idle_netem(mut steps: Vec<BuildStep>) -> Vec<BuildStep> {
    steps.retain(|step| !matches!(step, BuildStep::Netem { impairments, .. } if !impairments.impairs()));
    steps
}

/// The shaper that keeps a direction's rate, where netem does not: one that changes, or that packets which overtake
/// others would by-pass, or that a discipline queues for. It is unlimited where the job has none: a trace gives one at the epoch, an event later.
pub fn shaper(impairments: &Impairments, mtu_bytes: u32) -> Option<Shaper> {
    let reorders = impairments.reorder.ratio > 0.0;
    let is_needed = impairments.shaper_queue_bytes.is_some()
        || impairments.discipline.is_some()
        || reorders && impairments.rate_bit_s.is_some();
    is_needed.then(|| Shaper {
        rate_bit_s: impairments.rate_bit_s.unwrap_or(UNLIMITED_BIT_S),
        frame_bytes: mtu_bytes + ETHERNET_HEADER_BYTES,
        queue_bytes: impairments.shaper_queue_bytes.unwrap_or(0),
        place: if reorders { Place::BeforeNetem } else { Place::BehindNetem },
    })
}

/// The client's and the server's on a path.
fn cables(path: u8) -> [Cable; 2] {
    [
        Cable { host: client_device(path), router: bottleneck(path, Direction::Down), network: network(path, 1) },
        Cable { host: server_device(path), router: bottleneck(path, Direction::Up), network: network(path, 2) },
    ]
}

/// A host's device, the router's device, and the /24 between them.
struct Cable {
    host: Device,
    router: Device,
    network: Ipv4Addr,
}

impl Cable {
    fn host_address(&self) -> Ipv4Addr {
        self.network | Ipv4Addr::new(0, 0, 0, 1)
    }

    fn router_address(&self) -> Ipv4Addr {
        self.network | Ipv4Addr::new(0, 0, 0, 254)
    }

    fn veth(&self, path: u8, mtu_bytes: u32) -> BuildStep {
        let towards = if self.host.namespace == Namespace::Client { "to-client" } else { "to-server" };
        BuildStep::Veth { ends: [(self.host, format!("path{path}")), (self.router, towards.to_owned())], mtu_bytes }
    }

    fn configure_host(&self, far: Ipv4Addr, initial_window_packets: u32) -> Vec<BuildStep> {
        vec![
            self.host_offloads(),
            BuildStep::Address(self.host, self.host_address()),
            BuildStep::Up(self.host),
            self.host_neighbour(),
            BuildStep::Route(self.route_to(far).with_window(initial_window_packets)),
        ]
    }

    fn host_offloads(&self) -> BuildStep {
        BuildStep::Offloads { device: self.host, software_segmentation: true }
    }

    /// The router, as the host knows it.
    fn host_neighbour(&self) -> BuildStep {
        BuildStep::Neighbour { device: self.host, address: self.router_address(), neighbour: self.router }
    }

    /// The host's route to a network behind the router.
    fn route_to(&self, far: Ipv4Addr) -> Route {
        Route::new(self.host, far, self.router_address())
    }

    fn configure_router(&self, impairments: &Impairments, mtu_bytes: u32) -> Vec<BuildStep> {
        let (device, impairments) = (self.router, impairments.clone());
        let impairment = match shaper(&impairments, mtu_bytes) {
            Some(shaper) => BuildStep::ShapedNetem { device, impairments, shaper, mtu_bytes },
            None => BuildStep::Netem { device, impairments },
        };
        vec![
            BuildStep::Offloads { device, software_segmentation: false },
            BuildStep::Address(device, self.router_address()),
            BuildStep::Up(device),
            BuildStep::Neighbour { device, address: self.host_address(), neighbour: self.host },
            impairment,
        ]
    }
}

/// The kernel's scheduler and path manager, with room for one subflow a path. Only the server announces: the client's
/// answer goes out by the path of the address announced, and so from the client's address there. Where the client
/// moves, the server has but one address.
fn mptcp_of_host(host: Namespace, job: &Job) -> [BuildStep; 2] {
    let others = || numbered(&job.paths).skip(1).map(|(path, _)| path);
    let announces = host == Namespace::Server && !job.timeline.has_handovers();
    let announced = if announces { others().map(server_address).collect() } else { Vec::new() };
    let more = if job.timeline.has_handovers() { handover::SUBFLOWS } else { others().map(|_| 1).sum() };
    [
        // The kernel's default, but a native host's distribution may differ.
        sysctl("net/mptcp/enabled", "1"),
        BuildStep::Subflows { host, more, announced },
    ]
}

fn network(path: u8, side: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, side, 0)
}

fn numbered(paths: &[Path]) -> impl Iterator<Item = (u8, &Path)> {
    (0..=u8::MAX).zip(paths)
}

#[cfg(test)]
mod tests;
