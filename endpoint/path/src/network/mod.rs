//! Builds a run's network: carries out the steps of its topology, and keeps handles to the namespaces and devices that
//! they create.

mod activation;
mod counters;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, UdpSocket};

use anyhow::{Context, Result};
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_NETFILTER, NETLINK_ROUTE};
use netwarp_wire::job::Impairments;

use crate::netem;
pub use crate::netlink::bottleneck::QueueSample;
use crate::netlink::bottleneck::{self, Queueing};
use crate::netlink::ethtool::{Ethtool, Offloads};
use crate::netlink::message::{Attributes, Request};
use crate::netlink::mptcp;
use crate::netlink::qdisc;
use crate::netlink::route::{self, VethEnd};
use crate::netlink::{NetlinkError, Socket, arp, nftables, redirect, shaper};
use crate::netns::{NetNs, write_sysctl};
use crate::queue_waker::QueueWaker;
use crate::topology::{BuildStep, Device, Node, Shaper};

/// The most requests in one batch: a socket's send buffer has room for them.
const BATCH_REQUESTS: usize = 256;

/// The most devices whose offloads are read in one batch: a socket's receive buffer has room for the answers.
const BATCH_DEVICES: usize = 64;

/// The sysctl that makes a router forward IPv6 packets.
const FORWARDING: &str = "net/ipv6/conf/all/forwarding";

/// The loopback device's index, in every namespace.
const LOOPBACK: u32 = 1;

/// The reason why a network could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A sysctl could not be written.
    #[error(transparent)]
    Sysctl(anyhow::Error),
    /// A veth pair could not be created.
    #[error(transparent)]
    Veth(anyhow::Error),
    /// The kernel refused a device, an address, a route or a qdisc.
    #[error("in the namespace of the {node}")]
    Refused {
        /// The name of the node that the request is for.
        node: String,
        /// The request, and the kernel's error.
        source: NetlinkError,
    },
    /// Anything else failed.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

/// A run's network as built: its network namespaces and their devices.
pub struct Network {
    home: NetNs,
    nodes: BTreeMap<Node, Made>,
    /// The ends of all links.
    ends: Vec<Device>,
    /// The devices whose outgoing packets pass a netem, on the device itself or on one before it.
    impaired: BTreeSet<Device>,
    /// The devices whose outgoing packets the router can drop by number.
    numbered: BTreeSet<Device>,
    /// The devices with an additional device before them, which has the delay line and, if there is one, the shaper.
    shaped: BTreeSet<Device>,
    /// The queue of each device whose packets wait behind netem.
    queueing: BTreeMap<Device, Queueing>,
    /// The sockets that wake up the queues of routers with shapers, by router.
    wakers: BTreeMap<Node, QueueWaker>,
}

/// A node that was created: its network namespace, and the netlink sockets opened there.
struct Made {
    name: String,
    namespace: NetNs,
    route: Socket,
    generic: Socket,
    /// The requests collected since the last [`Network::flush`].
    pending: Vec<Request>,
    offloads: Vec<Offloads>,
    /// The netlink sockets of other protocols, by protocol number, each opened when it is first needed.
    others: BTreeMap<isize, Socket>,
}

impl Network {
    /// Builds a network. The caller stays in its own namespace.
    ///
    /// # Errors
    /// The kernel lacks or refuses something that a step needs.
    pub fn build(steps: &[BuildStep]) -> Result<Self, BuildError> {
        let mut network = Self {
            home: NetNs::current()?,
            nodes: BTreeMap::new(),
            ends: Vec::new(),
            impaired: BTreeSet::new(),
            numbered: BTreeSet::new(),
            shaped: BTreeSet::new(),
            queueing: BTreeMap::new(),
            wakers: BTreeMap::new(),
        };
        let built = network.apply(steps);
        network.home.enter()?;
        built.map(|()| network)
    }

    /// Changes the network. The caller stays in its own namespace.
    pub fn change(&mut self, steps: &[BuildStep]) -> Result<()> {
        Ok(self.apply(steps)?)
    }

    /// Runs `work` in the namespace of a node.
    pub fn within<T>(&self, node: Node, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.nodes.get(&node).with_context(|| not_built(node))?.namespace.enter()?;
        let result = work();
        self.home.enter()?;
        result
    }

    /// Opens a UDP socket on a node, bound to `address` and any free port.
    pub(crate) fn udp_socket(&self, node: Node, address: IpAddr) -> Result<UdpSocket> {
        self.within(node, || UdpSocket::bind((address, 0)).with_context(|| format!("bind a UDP socket to {address}")))
    }

    /// Changes the rate of a router's device that has a shaper. The new rate also holds for packets that are queued
    /// already.
    pub(crate) fn change_shaper(&mut self, device: Device, shaper: &Shaper) -> Result<()> {
        let queue = device.queue().index;
        let mut requests = shaper::change_shaper(queue, shaper);
        requests.extend(shaper::change_transmission(device.index, shaper));
        self.made(device.node)?.route.transact(&requests)?;
        self.wakers.get(&device.node).with_context(|| format!("{device:?} has no shaper"))?.wake(queue)
    }

    /// Changes the netem options of routers' devices, in one batch for each router.
    pub(crate) fn change_netems(&mut self, changes: &[(Device, Attributes)]) -> Result<()> {
        for of_router in changes.chunk_by(|(one, _), (other, _)| one.node == other.node) {
            let change = |(device, options): &(Device, _)| qdisc::change_netem(self.impaired_index(*device), options);
            let requests: Vec<Request> = of_router.iter().map(change).collect();
            self.made(of_router[0].0.node)?.route.transact(&requests)?;
        }
        Ok(())
    }

    /// Carries out steps in order. Veth pairs are created at once; most other requests are collected, and sent in one
    /// batch for each namespace at the end.
    fn apply(&mut self, steps: &[BuildStep]) -> Result<(), BuildError> {
        let mut current = None;
        for step in steps {
            match step {
                BuildStep::Create(node, name) => {
                    let mut made = Made::create(name.clone())?;
                    made.pending.push(route::set_up(LOOPBACK));
                    self.nodes.insert(*node, made);
                    current = Some(name);
                }
                BuildStep::Sysctl { key, value, optional } => match write_sysctl(key, value) {
                    Err(error) if *optional && error.kind() == io::ErrorKind::NotFound => {}
                    written => {
                        let attempt = || {
                            format!("write {value:?} to the sysctl {key} of the {}", current.map_or("", |name| name))
                        };
                        written.with_context(attempt).map_err(BuildError::Sysctl)?;
                    }
                },
                BuildStep::Veth { ends, mtu_bytes } => self.create_veth(ends, *mtu_bytes).map_err(BuildError::Veth)?,
                BuildStep::Offloads { device, software_segmentation } => {
                    let offloads = Offloads { index: device.index, software_segmentation: *software_segmentation };
                    self.made(device.node)?.offloads.push(offloads);
                }
                BuildStep::Burst { device, packets } => {
                    self.queue(device.node, route::bound_bursts(device.index, *packets))?;
                }
                BuildStep::Address(device, address) => {
                    self.queue(device.node, route::add_address(device.index, *address))?;
                }
                BuildStep::RemoveAddress(device, address) => {
                    self.queue(device.node, route::remove_address(device.index, *address))?;
                }
                BuildStep::UpSilently(device) => {
                    self.queue(device.node, route::set_up_silently(device.index))?;
                }
                BuildStep::Forward(router) => {
                    self.flush()?;
                    let written = self.within(*router, || Ok(write_sysctl(FORWARDING, "1")?));
                    written
                        .with_context(|| format!("write 1 to the sysctl {FORWARDING}"))
                        .map_err(BuildError::Sysctl)?;
                }
                BuildStep::Up(device) => self.queue(device.node, route::set_up(device.index))?,
                BuildStep::Neighbour { device, address, neighbour } => {
                    let request = route::add_neighbour(device.index, *address, neighbour.mac());
                    self.queue(device.node, request)?;
                }
                BuildStep::NeighbourQueue { device, packets } => {
                    self.queue(device.node, route::bound_neighbour_queue(device.index, *packets))?;
                }
                BuildStep::CountArp(device) => {
                    let redirected = self.shaped.contains(device).then(|| device.queue().index);
                    self.made(device.node)?.pending.extend(arp::count(device.index, redirected));
                }
                BuildStep::Route(route) => self.queue(route.device.node, route::replace_route(route))?,
                BuildStep::Rule { host, source, table } => self.queue(*host, route::add_rule(*source, *table))?,
                BuildStep::Subflows { host, more, announced } => {
                    let made = self.made(*host)?;
                    mptcp::manage_paths(&mut made.generic, *more, announced).with_context(|| within(&made.name))?;
                }
                BuildStep::AddEndpoint(host, endpoint) => {
                    // An MPTCP endpoint opens subflows at once, so its address must be configured.
                    self.flush()?;
                    let made = self.made(*host)?;
                    mptcp::add_endpoint(&mut made.generic, *endpoint).with_context(|| within(&made.name))?;
                }
                BuildStep::RemoveEndpoint(host, endpoint) => {
                    self.flush()?;
                    let made = self.made(*host)?;
                    mptcp::remove_endpoint(&mut made.generic, *endpoint).with_context(|| within(&made.name))?;
                }
                BuildStep::ShapedNetem { device, impairments, shaper, mtu_bytes } => {
                    self.add_shaped_netem(*device, impairments, shaper, *mtu_bytes)?;
                }
                BuildStep::NetemBefore { device, impairments, mtu_bytes } => {
                    self.add_netem_before(*device, impairments, *mtu_bytes)?;
                }
                BuildStep::LoseByNumber { device, numbers } => {
                    self.commit(device.node, nftables::lose(device.index, numbers))?;
                    self.numbered.insert(*device);
                }
                BuildStep::Translate { device, random_ports } => {
                    self.commit(device.node, nftables::translate(device.index, *random_ports))?;
                }
                BuildStep::Silence(router) => self.commit(*router, nftables::silence())?,
                BuildStep::Netem { device, impairments } => {
                    self.impaired.insert(*device);
                    self.queue(device.node, qdisc::add_netem(device.index, &netem::options(impairments)))?;
                    if let Some(options) = netem::queue(impairments) {
                        self.queue(device.node, qdisc::add_queue(device.index, &options))?;
                        self.queueing.insert(*device, Queueing::Netem);
                    }
                    self.collect(*device, impairments)?;
                }
            }
        }
        self.flush()
    }

    /// Impairs the packets that leave through a device where a shaper enforces the rate: an additional device delays
    /// and shapes them, and the first device delays each by the time of its transmission.
    fn add_shaped_netem(
        &mut self,
        device: Device,
        impairments: &Impairments,
        shaper: &Shaper,
        mtu_bytes: u32,
    ) -> Result<()> {
        let (queue, discipline) = (device.queue().index, impairments.discipline.as_ref());
        self.impaired.insert(device);
        self.shaped.insert(device);
        if let Some(queueing) = Queueing::behind_netem(shaper, discipline) {
            self.queueing.insert(device, queueing);
        }
        let made = self.made(device.node)?;
        made.pending.push(route::create_ifb(&format!("queue{queue}"), queue, mtu_bytes));
        made.pending.extend(bottleneck::add_shaped_netem(queue, &netem::options(impairments), shaper, discipline));
        made.pending.push(route::set_up(queue));
        made.pending.push(qdisc::add_netem(device.index, &netem::transmission(shaper.transmission_bit_s())));
        made.pending.extend(redirect::redirect_egress(device.index, queue));
        self.collect(device, impairments)?;
        if !self.wakers.contains_key(&device.node) {
            let waker = self.within(device.node, QueueWaker::open)?;
            self.wakers.insert(device.node, waker);
        }
        Ok(())
    }

    /// Impairs the packets that leave through a device: an additional device delays them, and the first one has the
    /// queue and the rate.
    fn add_netem_before(&mut self, device: Device, impairments: &Impairments, mtu_bytes: u32) -> Result<()> {
        let (before, queue) = (device.queue().index, netem::queue(impairments).context("there is no queue")?);
        self.impaired.insert(device);
        self.shaped.insert(device);
        self.queueing.insert(device, Queueing::Device);
        let made = self.made(device.node)?;
        made.pending.push(route::create_ifb(&format!("queue{before}"), before, mtu_bytes));
        made.pending.push(qdisc::add_netem(before, &netem::options(impairments)));
        made.pending.push(route::set_up(before));
        made.pending.push(qdisc::add_netem(device.index, &queue));
        made.pending.extend(redirect::redirect_egress(device.index, before));
        Ok(())
    }

    /// Adds, behind a device's netem, the netem that collects packets (aggregation), if the job asks for it.
    fn collect(&mut self, device: Device, impairments: &Impairments) -> Result<()> {
        if impairments.aggregate_ns == 0 {
            return Ok(());
        }
        let options = netem::collection(impairments.aggregate_ns);
        self.queue(device.node, qdisc::add_collection(device.index, &options))
    }

    /// Returns the index of the device that impairs the packets leaving through a router's device: the device itself
    /// or, where a shaper enforces the rate, the additional device.
    fn impaired_index(&self, device: Device) -> u32 {
        if self.shaped.contains(&device) { device.queue().index } else { device.index }
    }

    /// Creates a veth pair; called from the namespace of either end, because the request names the namespaces of both.
    fn create_veth(&mut self, ends: &[(Device, String); 2], mtu_bytes: u32) -> Result<()> {
        let [first, second] = ends;
        let request = route::create_veth([&self.veth_end(first)?, &self.veth_end(second)?], mtu_bytes);
        self.made(first.0.node)?.route.transact(&[request])?;
        self.ends.extend([first.0, second.0]);
        Ok(())
    }

    fn veth_end<'a>(&mut self, (device, name): &'a (Device, String)) -> Result<VethEnd<'a>> {
        let namespace = self.made(device.node)?.namespace.descriptor();
        Ok(VethEnd { namespace, name, index: device.index, mac: device.mac() })
    }

    /// Returns a node's netlink socket of a protocol, which is opened when it is first needed.
    fn socket(&mut self, node: Node, protocol: isize) -> Result<&mut Socket> {
        if !self.made(node)?.others.contains_key(&protocol) {
            let socket = self.within(node, || Ok(Socket::open(protocol)?))?;
            self.made(node)?.others.insert(protocol, socket);
        }
        self.made(node)?.others.get_mut(&protocol).context("it was opened just now")
    }

    /// Sends requests to a node's nf_tables as one batch.
    fn commit(&mut self, node: Node, requests: Vec<Request>) -> Result<(), BuildError> {
        let refused = |node| move |source| BuildError::Refused { node, source };
        let name = self.made(node)?.name.clone();
        self.socket(node, NETLINK_NETFILTER)?.commit(requests).map_err(refused(name))
    }

    fn queue(&mut self, node: Node, request: Request) -> Result<()> {
        self.made(node)?.pending.push(request);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BuildError> {
        let mut ethtool = None;
        for made in self.nodes.values_mut() {
            let at = || within(&made.name);
            if !made.offloads.is_empty() {
                let ethtool = match &ethtool {
                    Some(known) => known,
                    None => ethtool.insert(Ethtool::learn(&mut made.generic).with_context(at)?),
                };
                for offloads in std::mem::take(&mut made.offloads).chunks(BATCH_DEVICES) {
                    ethtool.restrict(&mut made.generic, offloads).with_context(at)?;
                }
            }
            let refused = |source| BuildError::Refused { node: made.name.clone(), source };
            for requests in std::mem::take(&mut made.pending).chunks(BATCH_REQUESTS) {
                made.route.transact(requests).map_err(refused)?;
            }
        }
        Ok(())
    }

    fn made(&mut self, node: Node) -> Result<&mut Made> {
        self.nodes.get_mut(&node).with_context(|| not_built(node))
    }
}

fn within(name: &str) -> String {
    format!("in the namespace of the {name}")
}

fn not_built(node: Node) -> String {
    format!("no {node:?} was built")
}

impl Made {
    fn create(name: String) -> Result<Self> {
        Ok(Self {
            name,
            namespace: NetNs::create()?,
            route: Socket::open(NETLINK_ROUTE)?,
            generic: Socket::open(NETLINK_GENERIC)?,
            pending: Vec::new(),
            offloads: Vec::new(),
            others: BTreeMap::new(),
        })
    }
}
