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
//! Impairment sits on the router's two egress devices, never on a host: a sender's stack must not see it (TCP small
//! queues would), and what a host sends is single packets by then.

use std::net::Ipv4Addr;

use crate::job::{Direction, Heading, Job, Path, Recovery, Resume, Transport, TransportKind};

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
    /// Where it is.
    pub namespace: Namespace,
    /// Interface index, chosen here so that nothing need be looked up.
    pub index: u32,
}

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
    /// Add a route to a /24.
    Route {
        /// By which device.
        device: Device,
        /// Where to.
        network: Ipv4Addr,
        /// Next hop.
        gateway: Ipv4Addr,
        /// First flight of connections by this route, sent and offered.
        initial_window_packets: u32,
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
    /// Impair what leaves by a device of the router.
    Netem {
        /// Which device.
        device: Device,
        /// How.
        direction: Direction,
    },
}

/// The client's device on a path.
pub fn client_device(path: u8) -> Device {
    Device { namespace: Namespace::Client, index: 10 + u32::from(path) }
}

/// The server's device on a path.
pub fn server_device(path: u8) -> Device {
    Device { namespace: Namespace::Server, index: 10 + u32::from(path) }
}

/// The router's device whose egress is this direction's bottleneck.
pub fn bottleneck(path: u8, heading: Heading) -> Device {
    let index = match heading {
        Heading::Down => 10,
        Heading::Up => 11,
    };
    Device { namespace: Namespace::Router(path), index }
}

/// The client's address on a path.
pub fn client_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 1, 1)
}

/// The server's address on a path.
pub fn server_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 2, 1)
}

/// A fixed, locally administered MAC address.
pub fn mac(device: Device) -> [u8; 6] {
    let (kind, path) = match device.namespace {
        Namespace::Client => (1, 0),
        Namespace::Server => (2, 0),
        Namespace::Router(path) => (3, path),
    };
    [0x02, 0, 0, kind, path, device.index.to_le_bytes()[0]]
}

/// The steps that build a job's paths.
pub fn steps(job: &Job) -> Vec<Step> {
    let mut steps = Vec::new();
    for host in [Namespace::Client, Namespace::Server] {
        steps.push(Step::Create(host));
        steps.extend(shared_sysctls());
        steps.extend(host_sysctls(job.transport.buffer_bytes));
        steps.extend(tcp_sysctls(&job.transport));
        steps.extend(fast_open(&job.transport));
        if job.transport.kind == TransportKind::Mptcp {
            steps.extend(mptcp_of_host(host, &job.paths));
        }
    }
    for (path, _) in numbered(&job.paths) {
        steps.push(Step::Create(Namespace::Router(path)));
        steps.extend(shared_sysctls());
        steps.push(sysctl("net/ipv4/ip_forward", "1"));
    }
    for (path, description) in numbered(&job.paths) {
        let cables = [
            Cable { host: client_device(path), router: bottleneck(path, Heading::Down), network: network(path, 1) },
            Cable { host: server_device(path), router: bottleneck(path, Heading::Up), network: network(path, 2) },
        ];
        steps.extend(cables.iter().map(|cable| cable.veth(path, description.mtu_bytes)));
        let window = job.transport.initial_window_packets;
        steps.extend(cables[0].configure_host(cables[1].network, window));
        steps.extend(cables[1].configure_host(cables[0].network, window));
        steps.extend(cables[0].configure_router(&description.down));
        steps.extend(cables[1].configure_router(&description.up));
    }
    steps
}

/// The same without netem where it would do nothing: packets of a real clock should not pay for it.
pub fn without_idle_netem(mut steps: Vec<Step>) -> Vec<Step> {
    steps.retain(|step| !matches!(step, Step::Netem { direction, .. } if !direction.impairs()));
    steps
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

    fn veth(&self, path: u8, mtu_bytes: u32) -> Step {
        let towards = if self.host.namespace == Namespace::Client { "to-client" } else { "to-server" };
        Step::Veth { ends: [(self.host, format!("path{path}")), (self.router, towards.to_owned())], mtu_bytes }
    }

    fn configure_host(&self, far: Ipv4Addr, initial_window_packets: u32) -> Vec<Step> {
        let (device, gateway) = (self.host, self.router_address());
        vec![
            Step::Offloads { device, software_segmentation: true },
            Step::Address(device, self.host_address()),
            Step::Up(device),
            Step::Neighbour { device, address: gateway, neighbour: self.router },
            Step::Route { device, network: far, gateway, initial_window_packets },
        ]
    }

    fn configure_router(&self, direction: &Direction) -> Vec<Step> {
        let device = self.router;
        vec![
            Step::Offloads { device, software_segmentation: false },
            Step::Address(device, self.router_address()),
            Step::Up(device),
            Step::Neighbour { device, address: self.host_address(), neighbour: self.host },
            Step::Netem { device, direction: direction.clone() },
        ]
    }
}

/// For hosts and routers.
fn shared_sysctls() -> [Step; 3] {
    [
        // Duplicate address detection and multicast listener reports would take loss draws. A kernel without IPv6
        // sends none.
        Step::Sysctl { key: "net/ipv6/conf/all/disable_ipv6", value: "1".to_owned(), optional: true },
        // A path may be asymmetric. Zero is the kernel's default, but a native host's distribution may differ, and
        // the stricter of the two applies.
        sysctl("net/ipv4/conf/all/rp_filter", "0"),
        sysctl("net/ipv4/conf/default/rp_filter", "0"),
    ]
}

/// For hosts. All else keeps the kernel's default, ECN among it, unless the job says otherwise ([`tcp_sysctls`]).
fn host_sysctls(buffer_bytes: u64) -> [Step; 4] {
    // Minimum and default are the kernel's own (net/ipv4/tcp.c); only the limit of auto-tuning is the job's.
    let triple = |default: u64| format!("{} {} {buffer_bytes}", buffer_bytes.min(4096), buffer_bytes.min(default));
    [
        Step::Sysctl { key: "net/ipv4/tcp_rmem", value: triple(131_072), optional: false },
        Step::Sysctl { key: "net/ipv4/tcp_wmem", value: triple(16_384), optional: false },
        // A second connection of a run must not start from what the first one learned.
        sysctl("net/ipv4/tcp_no_metrics_save", "1"),
        // SCTP cookies are signed with a key of the listening endpoint, and accept(2) moves an association to a new
        // one (net/sctp/socket.c, sctp_sock_migrate). A COOKIE ECHO repeated because its answer was lost then fails
        // the check (net/sctp/sm_statefuns.c, sctp_sf_do_5_2_4_dupcook), and the client never connects.
        Step::Sysctl { key: "net/sctp/cookie_hmac_alg", value: "none".to_owned(), optional: true },
    ]
}

/// For hosts: Fast Open for clients (1) and servers (2).
fn fast_open(transport: &Transport) -> Option<Step> {
    let wanted = transport.kind == TransportKind::Tcp && transport.resume == Resume::ZeroRtt;
    wanted.then(|| sysctl("net/ipv4/tcp_fastopen", "3"))
}

/// For hosts: what the job's TCP has not, that the kernel's has. Each is of the namespace (`net/ipv4/sysctl_net_ipv4.c`),
/// and a connection takes them when it is set up; the transport reads back what it got.
fn tcp_sysctls(transport: &Transport) -> Vec<Step> {
    if !matches!(transport.kind, TransportKind::Tcp | TransportKind::Tls | TransportKind::Mptcp) {
        return Vec::new();
    }
    let tcp = &transport.tcp;
    let mut off = Vec::new();
    if !tcp.sack {
        // The second is told in SACK blocks, and so is off with the first; said once more for whoever reads it back.
        off.extend(["net/ipv4/tcp_sack", "net/ipv4/tcp_dsack"]);
    }
    if !tcp.timestamps {
        off.push("net/ipv4/tcp_timestamps");
    }
    if !tcp.window_scaling {
        off.push("net/ipv4/tcp_window_scaling");
    }
    if tcp.recovery == Recovery::Classic {
        off.extend([
            // RACK (RFC 8985). Since Linux 6.17 of no effect: there it is RACK with SACK and three duplicate
            // acknowledgements without, which is why such a job has no SACK.
            "net/ipv4/tcp_recovery",
            // Early retransmit (RFC 5827) in older kernels; tail loss probes (RFC 8985, 7) in all.
            "net/ipv4/tcp_early_retrans",
            // Finding out afterwards that a time-out was spurious (F-RTO, RFC 5682).
            "net/ipv4/tcp_frto",
        ]);
    }
    off.into_iter().map(|key| sysctl(key, "0")).collect()
}

/// The kernel's scheduler and path manager, with room for one subflow a path. Only the server announces: the client's
/// answer goes out by the path of the address announced, and so from the client's address there.
fn mptcp_of_host(host: Namespace, paths: &[Path]) -> [Step; 2] {
    let others = || numbered(paths).skip(1).map(|(path, _)| path);
    let announced = if host == Namespace::Server { others().map(server_address).collect() } else { Vec::new() };
    [
        // The kernel's default, but a native host's distribution may differ.
        sysctl("net/mptcp/enabled", "1"),
        Step::Subflows { host, more: others().map(|_| 1).sum(), announced },
    ]
}

fn sysctl(key: &'static str, value: &str) -> Step {
    Step::Sysctl { key, value: value.to_owned(), optional: false }
}

fn network(path: u8, side: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, side, 0)
}

fn numbered(paths: &[Path]) -> impl Iterator<Item = (u8, &Path)> {
    (0..=u8::MAX).zip(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Loss, Reorder, TcpOptions};
    use std::collections::BTreeSet;

    fn golden_job() -> Job {
        serde_json::from_str(include_str!("../../tests/golden/job-bulk-quic.json")).expect("the golden job is a job")
    }

    #[test]
    fn steps_of_the_golden_job() {
        let text: String = steps(&golden_job()).iter().map(|step| format!("{step:?}\n")).collect();
        assert_eq!(text, include_str!("../../tests/golden/topology-bulk-quic.txt"));
    }

    #[test]
    fn impairment_is_on_the_router_and_each_direction_where_it_leaves() {
        let job = golden_job();
        let netems: Vec<(Device, Direction)> = steps(&job)
            .into_iter()
            .filter_map(|step| match step {
                Step::Netem { device, direction } => Some((device, direction)),
                _ => None,
            })
            .collect();
        let path = &job.paths[0];
        assert_eq!(
            netems,
            [(bottleneck(0, Heading::Down), path.down.clone()), (bottleneck(0, Heading::Up), path.up.clone())]
        );
    }

    #[test]
    fn only_a_netem_that_does_nothing_can_be_left_out() {
        let mut job = golden_job();
        let whole = steps(&job);
        assert_eq!(without_idle_netem(whole.clone()), whole);
        let idle = Direction {
            delay_ns: 0,
            jitter_ns: 0,
            loss: Loss::None {},
            rate_bit_s: None,
            reorder: Reorder { ratio: 0.0, correlation: 0.0, gap: 0 },
            duplicate_ratio: 0.0,
            corrupt_ratio: 0.0,
            ..job.paths[0].down.clone()
        };
        job.paths[0].down = idle;
        let left: Vec<Step> = without_idle_netem(steps(&job));
        assert_eq!(left.len(), whole.len() - 1);
        assert!(
            left.iter().any(|step| matches!(step, Step::Netem { device, .. } if *device == bottleneck(0, Heading::Up)))
        );
    }

    #[test]
    fn several_paths_share_no_device_and_no_mac() {
        let mut job = golden_job();
        job.paths.push(job.paths[0].clone());
        let devices: Vec<Device> = steps(&job)
            .into_iter()
            .filter_map(|step| match step {
                Step::Up(device) => Some(device),
                _ => None,
            })
            .collect();
        assert_eq!(devices.len(), 8);
        assert_eq!(devices.iter().collect::<BTreeSet<_>>().len(), 8);
        assert_eq!(devices.iter().map(|&device| mac(device)).collect::<BTreeSet<_>>().len(), 8);
    }

    /// The keys that a job's TCP options write.
    fn switched_off(change: impl FnOnce(&mut Transport)) -> Vec<&'static str> {
        let mut job = golden_job();
        change(&mut job.transport);
        let steps = tcp_sysctls(&job.transport).into_iter();
        steps
            .map(|step| match step {
                Step::Sysctl { key, value, optional: false } if value == "0" => key,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn only_what_deviates_from_the_kernels_tcp_is_written() {
        assert_eq!(switched_off(|transport| transport.kind = TransportKind::Tcp), Vec::<&str>::new());
        let old = TcpOptions { sack: false, timestamps: false, window_scaling: false, recovery: Recovery::Classic };
        for kind in [TransportKind::Tcp, TransportKind::Tls, TransportKind::Mptcp] {
            let written = switched_off(|transport| (transport.kind, transport.tcp) = (kind, old.clone()));
            let names: Vec<&str> = written.iter().filter_map(|key| key.strip_prefix("net/ipv4/tcp_")).collect();
            let expected = ["sack", "dsack", "timestamps", "window_scaling", "recovery", "early_retrans", "frto"];
            assert_eq!(names, expected);
        }
        assert_eq!(switched_off(|transport| transport.tcp = old), Vec::<&str>::new(), "QUIC has no use for them");
    }

    #[test]
    fn hosts_get_the_tcp_of_the_job_and_routers_do_not() {
        let mut job = golden_job();
        job.transport.kind = TransportKind::Tcp;
        job.transport.tcp.timestamps = false;
        let mut created = None;
        let mut written_in = Vec::new();
        for step in steps(&job) {
            match step {
                Step::Create(namespace) => created = Some(namespace),
                Step::Sysctl { key: "net/ipv4/tcp_timestamps", .. } => written_in.extend(created),
                _ => {}
            }
        }
        assert_eq!(written_in, [Namespace::Client, Namespace::Server]);
    }

    #[test]
    fn mptcp_has_room_for_a_subflow_a_path_and_the_server_announces() {
        let mut job = golden_job();
        job.transport.kind = TransportKind::Mptcp;
        job.paths = vec![job.paths[0].clone(); 3];
        let subflows: Vec<Step> =
            steps(&job).into_iter().filter(|step| matches!(step, Step::Subflows { .. })).collect();
        let announced = vec![Ipv4Addr::new(10, 1, 2, 1), Ipv4Addr::new(10, 2, 2, 1)];
        assert_eq!(
            subflows,
            [
                Step::Subflows { host: Namespace::Client, more: 2, announced: vec![] },
                Step::Subflows { host: Namespace::Server, more: 2, announced },
            ]
        );
    }

    #[test]
    fn a_small_buffer_bounds_the_defaults_too() {
        let values: Vec<String> = host_sysctls(8192)
            .into_iter()
            .filter_map(|step| match step {
                Step::Sysctl { key, value, .. } if key.ends_with("mem") => Some(value),
                _ => None,
            })
            .collect();
        assert_eq!(values, ["4096 8192 8192", "4096 8192 8192"]);
    }
}
