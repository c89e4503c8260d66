//! The network that a job describes itself: hosts, routers, and a link for each of the job's paths. Pure.
//!
//! A link's network is a /24 of 10.0.0.0/8, or a /64 of 2001:db8::/32, by the link's number; its first end has the
//! address .1 (::1) there, its second .2. A host has one link, by which it sends everything. A router has a route to
//! the network of every link, over the fewest links.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use netwarp_core::addresses::Family;
use netwarp_wire::job::{self, Ends, Exchange, Job, Neighbours, Network, Workload};
use netwarp_wire::problems::Problems;

use super::graph::{Crossing, Device, End, Link, Node, NodeKind, Presence, Topology};
use super::{Route, initial_window};

/// The most hosts and routers that a network can have: their numbers have 16 bits, and a host has a /24 of 10.0.0.0/8.
const NODES_MAX: usize = 1 << 15;

/// The longest name of a node: a device that leads to it is called `to-NAME`, and the kernel has room for 15 bytes
/// (`IFNAMSIZ`).
const NAME_MAX_BYTES: usize = 12;

/// A link as seen from one of its nodes: the link's number, and which of its two ends (0 or 1) is the node's.
type Way = (usize, usize);

/// Returns the topology of a network that the job describes.
///
/// # Panics
/// A link ends at no node; such jobs are refused when they are read.
pub(super) fn of_network<'a>(job: &'a Job, network: &'a Network) -> Topology<'a> {
    let hosts = network.hosts.iter().map(|name| (NodeKind::Host, name.clone()));
    let routers = network.routers.iter().map(|name| (NodeKind::Router, name.clone()));
    let nodes: Vec<_> = hosts.chain(routers).collect();
    let numbers: BTreeMap<&str, u16> = (0..).zip(&nodes).map(|(number, (_, name))| (&**name, number)).collect();
    let mut places = vec![0; nodes.len()];
    let mut links = Vec::new();
    for (number, (link, path)) in (0..).zip(network.links.iter().zip(&job.paths)) {
        let [first, second] = [&link.first, &link.second].map(|name| numbers[&**name]);
        let mut end = |node: u16, towards: u16, last, impairments| {
            let place = &mut places[usize::from(node)];
            let device = Device::of(Node(node), *place);
            *place += 1;
            let name = format!("to-{}", nodes[usize::from(towards)].1);
            let egress = (nodes[usize::from(node)].0 == NodeKind::Router).then_some(impairments);
            End {
                device,
                name,
                address: address(job, number, last),
                presence: Presence::Always,
                egress,
                routes: vec![],
            }
        };
        let ends = [end(first, second, 1, &path.up), end(second, first, 2, &path.down)];
        links.push(Link { number, path, ends });
    }
    let crossings = links.iter().map(crossings).collect();
    let mut topology = Topology { nodes, links, crossings };
    for ((link, end), route) in topology.routes(job) {
        topology.links[link].ends[end].routes.push(route);
    }
    topology
}

fn address(job: &Job, link: u16, last: u8) -> IpAddr {
    Family::of(job).address(link.to_be_bytes(), last)
}

/// Returns the devices that packets pass on a link: down, from its second end to its first, and up.
fn crossings(link: &Link<'_>) -> [Crossing; 2] {
    let crossing = |sender: &End<'_>, receiver: &End<'_>| Crossing {
        sender: sender.device,
        bottleneck: sender.egress.map(|_| sender.device),
        receiver: receiver.device,
    };
    let [first, second] = &link.ends;
    [crossing(second, first), crossing(first, second)]
}

impl Topology<'_> {
    /// Returns the routes of all nodes, each with the end of the link that it uses.
    fn routes(&self, job: &Job) -> Vec<(Way, Route)> {
        let ways = self.ways();
        let mut routes = Vec::new();
        for (number, (kind, name)) in (0..).zip(&self.nodes) {
            match kind {
                NodeKind::Host => {
                    let window = initial_window(job.workloads.iter().filter(|each| each.is_of(name)));
                    routes.extend(ways[usize::from(number)].iter().map(|&way| {
                        let [own, other] = self.both(way);
                        (way, Route::everywhere(own.device, other.address).with_window(window))
                    }));
                }
                NodeKind::Router => routes.extend(self.next_links(&ways, number).into_iter().map(|(network, way)| {
                    let [own, other] = self.both(way);
                    (way, Route::new(own.device, address(job, network, 0), other.address))
                })),
            }
        }
        routes
    }

    /// Returns both ends of a link, beginning with the node's own.
    fn both(&self, (link, end): Way) -> [&End<'_>; 2] {
        let ends = &self.links[link].ends;
        [&ends[end], &ends[1 - end]]
    }

    /// Returns the links of each node, by node number.
    fn ways(&self) -> Vec<Vec<Way>> {
        let mut ways = vec![Vec::new(); self.nodes.len()];
        for (number, link) in self.links.iter().enumerate() {
            for (end, of) in link.ends.iter().enumerate() {
                ways[usize::from(of.device.node.0)].push((number, end));
            }
        }
        ways
    }

    /// Returns a router's next hops: for the network of each link that is not its own, the link through which the
    /// router reaches it.
    fn next_links(&self, ways: &[Vec<Way>], router: u16) -> BTreeMap<u16, Way> {
        let mut first: BTreeMap<u16, Option<Way>> = BTreeMap::from([(router, None)]);
        let mut networks = BTreeMap::new();
        let mut waiting = VecDeque::from([router]);
        while let Some(node) = waiting.pop_front() {
            for &(link, end) in &ways[usize::from(node)] {
                let by = first[&node].or((node == router).then_some((link, end)));
                if let (Some(by), true) = (by, node != router) {
                    networks.entry(self.links[link].number).or_insert(by);
                }
                let next = self.links[link].ends[1 - end].device.node.0;
                if self.nodes[usize::from(next)].0 == NodeKind::Router && !first.contains_key(&next) {
                    first.insert(next, by);
                    waiting.push_back(next);
                }
            }
        }
        networks
            .retain(|&number, _| self.links[usize::from(number)].ends.iter().all(|end| end.device.node.0 != router));
        networks
    }
}

/// Returns what is wrong with the network that a job describes: a text `key: problem` for each problem.
pub fn problems(job: &Job, network: &Network) -> Vec<String> {
    let mut problems = Problems::default();
    let names: Vec<&str> = network.hosts.iter().chain(&network.routers).map(|name| &**name).collect();
    let numbers: BTreeMap<&str, usize> = names.iter().copied().zip(0..).collect();
    let is_host = |name: &str| numbers.get(name).is_some_and(|number| *number < network.hosts.len());
    problems.require(numbers.len() == names.len(), "network", || "has two nodes of one name".to_owned());
    problems.require(names.iter().all(|name| (1..=NAME_MAX_BYTES).contains(&name.len())), "network", || {
        format!("has names of none, or of more than {NAME_MAX_BYTES} bytes")
    });
    // The names become names of files and of devices.
    let is_plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    problems.require(names.iter().all(is_plain), "network", || {
        "has names of other characters than a to z and 0 to 9".to_owned()
    });
    problems.require(names.len() <= NODES_MAX, "network", || {
        format!("has {} hosts and routers, and there is room for {NODES_MAX}", names.len())
    });
    problems.require(network.links.len() == job.paths.len(), "network.links", || {
        format!("are {}, and the job has {} paths", network.links.len(), job.paths.len())
    });
    let known = |link: &&job::Link| numbers.contains_key(&*link.first) && numbers.contains_key(&*link.second);
    problems.require(network.links.iter().all(|link| known(&link)), "network.links", || {
        "end at a node that there is not".to_owned()
    });
    let groups = component_count(&numbers, network);
    problems.require(groups == 1, "network.links", || format!("leave the network in {groups} parts"));
    problems.require(network.links.len() < names.len(), "network.links", || {
        "leave two ways between some of the nodes: packets would have a choice".to_owned()
    });
    for host in &network.hosts {
        let links = network.links.iter().filter(|link| link.first == *host || link.second == *host).count();
        problems.require(links == 1, "network.hosts", || format!("{host} has {links} links instead of one"));
    }
    for (number, (link, path)) in network.links.iter().zip(&job.paths).enumerate() {
        for (name, impairments) in [(&link.first, &path.up), (&link.second, &path.down)] {
            problems.require(!is_host(name) || !impairments.impairs(), &format!("paths[{number}]"), || {
                format!("impairs what the host {name} sends: have the router do it")
            });
        }
        problems.require(path.attached && path.neighbours == Neighbours::Warm, &format!("paths[{number}]"), || {
            "is not attached, or cold, in a network".to_owned()
        });
    }
    for nat in &network.nats {
        let is_router = |name: &str| numbers.contains_key(name) && !is_host(name);
        let link = network.links.get(nat.link as usize);
        let is_outside = link.is_some_and(|link| {
            is_router(&link.first) && is_router(&link.second) && [&link.first, &link.second].contains(&&nat.router)
        });
        problems.require(is_outside && job.paths.iter().all(|path| !path.ipv6), "network.nats", || {
            format!("has {}, which is no router of IPv4 at the link {} to another router", nat.router, nat.link)
        });
    }
    for name in &network.silent {
        problems
            .require(network.routers.contains(name), "network.silent", || format!("has {name}, which is no router"));
    }
    check_workloads(job, network, &mut problems);
    problems.into_list()
}

/// Reports workloads whose client and server are not hosts of the network, and hosts on which more than one program of
/// a command would run.
fn check_workloads(job: &Job, network: &Network, problems: &mut Problems) {
    let is_host = |name: &str| network.hosts.iter().any(|host| host == name);
    for each in &job.workloads {
        let ends = each.ends.as_ref().filter(|ends| is_host(&ends.client) && is_host(&ends.server));
        problems.require(each.name.is_some() && ends.is_some_and(|ends| leads(network, ends)), "ends", || {
            "are no two hosts, with a name of the workload and the links between them".to_owned()
        });
        problems.require(!each.transport.sctp.multihomed, "transport.sctp", || {
            "is multihomed, and a network's hosts have one address".to_owned()
        });
        let Workload::Command(command) = &each.workload else { continue };
        let ends = each.ends.iter().flat_map(|ends| [&*ends.client, &*ends.server]);
        let hosts: Vec<&str> = ends.chain(command.programs.iter().map(|program| &*program.host)).collect();
        let distinct: BTreeSet<_> = hosts.iter().collect();
        let is_placed = hosts.iter().all(|name| is_host(name)) && distinct.len() == hosts.len();
        problems.require(is_placed, "workload.programs", || "are not each on a host of its own".to_owned());
    }
    let is_command = |each: &Exchange| matches!(each.workload, Workload::Command(_));
    let has_others = job.has_programs() && !job.workloads.iter().all(is_command);
    problems.require(!job.timeline.has_handovers() && !has_others, "network", || {
        "has no client that moves, and no programs of the machine but a command's".to_owned()
    });
}

/// Returns the number of connected components of the network.
fn component_count(numbers: &BTreeMap<&str, usize>, network: &Network) -> usize {
    let mut parts = numbers.clone();
    for link in &network.links {
        if let (Some(&old), Some(&new)) = (parts.get(&*link.first), parts.get(&*link.second)) {
            parts.values_mut().filter(|part| **part == old).for_each(|part| *part = new);
        }
    }
    parts.values().collect::<BTreeSet<_>>().len()
}

/// Returns whether a workload's `links` are, in order, a way from its client to its server that uses no link twice.
fn leads(network: &Network, ends: &Ends) -> bool {
    let mut at = &ends.client;
    for &number in &ends.links {
        match network.links.get(number as usize) {
            Some(link) if link.first == *at => at = &link.second,
            Some(link) if link.second == *at => at = &link.first,
            _ => return false,
        }
    }
    *at == ends.server && ends.links.iter().collect::<BTreeSet<_>>().len() == ends.links.len()
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::{self, Direction};

    use super::*;
    use crate::topology::{BuildStep, hop_limit, sysctl};

    fn dumbbell() -> Job {
        golden::job("dumbbell")
    }

    type Change = fn(&mut Job, &mut Network);

    /// Returns a job with `pairs` pairs of hosts around two routers.
    fn dumbbell_of(pairs: u32) -> Job {
        let mut job = dumbbell();
        let [bottleneck, client, _, server, _] = job.paths.try_into().unwrap();
        let network = job.network.as_mut().unwrap();
        let names = |word: &str| (1..=pairs).map(|number| format!("{word}{number}")).collect::<Vec<_>>();
        let (clients, servers) = (names("client"), names("server"));
        network.links.truncate(1);
        let link =
            |first: &str, second: &str| job::Link { first: first.to_owned(), second: second.to_owned(), name: None };
        network.links.extend(clients.iter().map(|name| link(name, "left")));
        network.links.extend(servers.iter().map(|name| link("right", name)));
        job.paths = std::iter::once(bottleneck)
            .chain(clients.iter().map(|_| client.clone()))
            .chain(servers.iter().map(|_| server.clone()))
            .collect();
        network.hosts = clients.into_iter().chain(servers).collect();
        for one in &mut job.workloads {
            let ends = one.ends.as_mut().unwrap();
            let number = |name: &str| name[6..].parse::<u32>().unwrap();
            ends.links = vec![number(&ends.client), 0, pairs + number(&ends.server)];
        }
        job
    }

    fn routes(job: &Job, name: &str) -> Vec<(IpAddr, u8, IpAddr)> {
        let topology = Topology::of(job);
        let node = topology.nodes.iter().position(|(_, other)| other == name).unwrap();
        let of_node = |step| match step {
            BuildStep::Route(route) if usize::from(route.device.node.0) == node => {
                Some((route.network, route.prefix_bits, route.gateway))
            }
            _ => None,
        };
        topology.steps(job).into_iter().filter_map(of_node).collect()
    }

    #[test]
    fn a_host_sends_everything_to_its_router_and_routers_know_every_link() {
        let job = dumbbell();
        let at = |link, last| IpAddr::from([10, 0, link, last]);
        let anywhere = IpAddr::from([0; 4]);
        assert_eq!(routes(&job, "client2"), [(anywhere, 0, at(2, 2))]);
        assert_eq!(routes(&job, "server1"), [(anywhere, 0, at(3, 1))]);
        assert_eq!(routes(&job, "left"), [(at(3, 0), 24, at(0, 2)), (at(4, 0), 24, at(0, 2))]);
        assert_eq!(routes(&job, "right"), [(at(1, 0), 24, at(0, 1)), (at(2, 0), 24, at(0, 1))]);
    }

    #[test]
    fn what_a_router_sends_is_impaired_where_it_leaves_and_what_a_host_sends_is_not() {
        let job = dumbbell();
        let topology = Topology::of(&job);
        let [of_down, of_up] = [Direction::Down, Direction::Up].map(|direction| topology.crossing(0, direction));
        assert_eq!((of_down.bottleneck, of_up.bottleneck), (Some(of_down.sender), Some(of_up.sender)));
        assert_eq!(topology.nodes[usize::from(of_up.sender.node.0)].1, "left");
        assert_eq!(topology.crossing(1, Direction::Up).bottleneck, None, "client1 sends");
        let client = topology.hosts()["client1"];
        assert_eq!(client, (Node(0), IpAddr::from([10, 0, 1, 1])));
        assert_eq!(topology.crossing(1, Direction::Down).receiver.node, client.0);
    }

    #[test]
    fn a_thousand_hosts_share_no_device_no_queue_and_no_mac() {
        let job = dumbbell_of(500);
        assert_eq!(problems(&job, job.network.as_ref().unwrap()), Vec::<String>::new());
        let topology = Topology::of(&job);
        let devices: Vec<Device> = topology.links.iter().flat_map(|link| &link.ends).map(|end| end.device).collect();
        let with_queues: BTreeSet<Device> = devices.iter().flat_map(|device| [*device, device.queue()]).collect();
        assert_eq!((devices.len(), with_queues.len()), (2002, 4004));
        assert_eq!(devices.iter().map(|device| device.mac()).collect::<BTreeSet<_>>().len(), 2002);
        assert_eq!(routes(&job, "left").len(), 500);
    }

    #[test]
    fn hosts_behind_many_routers_have_the_largest_hop_limit() {
        let limits = |links: u32, ipv6| {
            let mut job = dumbbell();
            job.workloads[0].ends.as_mut().unwrap().links = (0..links).collect();
            job.paths.iter_mut().for_each(|path| path.ipv6 = ipv6);
            hop_limit(&job, Family::of(&job))
        };
        assert_eq!((limits(64, false), limits(64, true)), (None, None), "63 routers");
        assert_eq!(limits(65, false), Some(sysctl("net/ipv4/ip_default_ttl", "255")));
        assert_eq!(limits(65, true), Some(sysctl("net/ipv6/conf/default/hop_limit", "255")));
    }

    #[test]
    fn a_network_that_cannot_be_is_refused_with_the_reason() {
        let said = |change: Change| {
            let mut job = dumbbell();
            let mut network = job.network.take().unwrap();
            change(&mut job, &mut network);
            problems(&job, &network).join("; ")
        };
        assert_eq!(said(|_, _| {}), "");
        let cases: [(Change, &str); 10] = [
            (|_, network| network.hosts[0] = "../host".to_owned(), "other characters than a to z and 0 to 9"),
            (|_, network| network.routers[0] = "the-first-one".to_owned(), "more than 12 bytes"),
            (|_, network| network.hosts[1] = "client1".to_owned(), "two nodes of one name"),
            (|_, network| network.links[0].second = "nobody".to_owned(), "a node that there is not"),
            (|_, network| network.links[0].second = "left".to_owned(), "in 2 parts"),
            (|_, network| network.links.push(network.links[0].clone()), "two ways between some of the nodes"),
            (|_, network| network.links[1].first = "client2".to_owned(), "client2 has 2 links instead of one"),
            (|job, _| job.paths[1].up.delay_ns = 1, "paths[1]: impairs what the host client1 sends"),
            (|job, _| job.workloads[0].ends.as_mut().unwrap().links = vec![1, 0], "the links between them"),
            (|job, _| job.workloads[0].name = None, "with a name of the workload"),
        ];
        for (change, reason) in cases {
            let problems = said(change);
            assert!(problems.contains(reason), "{reason}: {problems}");
        }
    }
}
