//! Reads counters and state of a network's devices and queueing disciplines from the kernel.

use std::fs;

use anyhow::{Context, Result};
use netlink_sys::protocols::{NETLINK_NETFILTER, NETLINK_SOCK_DIAG};
use netwarp_core::addresses::Family;
use netwarp_wire::job::{DisciplineKind, Path};

use super::Network;
use crate::netlink::arp::{self, Counted};
use crate::netlink::bottleneck::{self, QueueSample, Queueing};
use crate::netlink::discipline::{self, InForce};
use crate::netlink::message::Request;
use crate::netlink::qdisc::{self, NetemCounters};
use crate::netlink::route::{self, LinkCounters};
use crate::netlink::{NetlinkError, Socket, nftables};
use crate::router_counters::{OwnPackets, has_asked};
use crate::topology::{Device, Node};

impl Network {
    /// Reads the packet and byte counters of a device.
    pub(crate) fn link_counters(&mut self, device: Device) -> Result<LinkCounters> {
        Ok(LinkCounters::from_answer(&self.ask(device, route::ask_link(device.index))?)?)
    }

    /// Reads how many packets a router's device has dropped (by number, in its netem, or in the device itself), and how
    /// many its netem holds. Behind a shaper, the packet that is being transmitted counts as held.
    pub(crate) fn netem_counters(&mut self, device: Device) -> Result<NetemCounters> {
        let mut counters = if self.impaired.contains(&device) {
            NetemCounters::from_answer(&self.ask(device, qdisc::ask_netem(self.impaired_index(device)))?)?
        } else {
            NetemCounters { lost_packets: Some(0), ..NetemCounters::default() }
        };
        if self.shaped.contains(&device) {
            let transmitted = NetemCounters::from_answer(&self.ask(device, qdisc::ask_netem(device.index))?)?;
            counters.queued_packets += transmitted.queued_packets;
            counters.dropped_packets += transmitted.dropped_packets;
            counters.dropped_packets += self.link_counters(device.queue())?.send_dropped_packets;
        }
        counters.dropped_packets += self.link_counters(device)?.send_dropped_packets;
        let by_number = self.lost_by_number(device)?;
        counters.dropped_packets += by_number;
        counters.lost_packets = counters.lost_packets.map(|lost| lost + by_number);
        Ok(counters)
    }

    /// Reads how many packets a router has dropped by their numbers before they reached this device.
    pub(crate) fn lost_by_number(&mut self, device: Device) -> Result<u64> {
        if !self.numbered.contains(&device) {
            return Ok(0);
        }
        let rules = self.socket(device.node, NETLINK_NETFILTER)?.dump(&nftables::ask_lost(device.index))?;
        Ok(nftables::lost_packets(&rules)?)
    }

    /// Reads the packet counts of a router's device: packets received if `incoming`, else packets sent, counted before
    /// the queueing discipline. ARP packets are counted separately. The device must have counters for this
    /// ([`crate::topology::BuildStep::CountArp`]).
    pub(crate) fn counted_packets(&mut self, device: Device, incoming: bool) -> Result<Counted> {
        let answers = self.made(device.node)?.route.dump(&arp::ask_counted(device.index, incoming))?;
        Ok(Counted::from_answers(&answers))
    }

    /// Reads back from the kernel the settings and counters of a router's queueing discipline, which must be of the
    /// kind `asked`.
    pub fn discipline(&mut self, device: Device, asked: DisciplineKind) -> Result<InForce> {
        Ok(discipline::in_force(asked, &self.ask(device, bottleneck::ask_discipline(device.queue().index))?)?)
    }

    /// Samples the queues and counters of a router's bottlenecks, given by their devices.
    pub fn sample_queues(&mut self, devices: &[Device]) -> Result<Vec<QueueSample>> {
        let mut requests = Vec::new();
        for device in devices {
            if self.impaired.contains(device) {
                let index = self.impaired_index(*device);
                requests.push(qdisc::ask_netem(index));
                requests.extend(self.queueing.get(device).map(|queueing| match queueing {
                    Queueing::Device => bottleneck::ask_queueing(device.index, *queueing),
                    queueing => bottleneck::ask_queueing(index, *queueing),
                }));
                requests.extend(self.transmits(device).then(|| qdisc::ask_netem(device.index)));
            }
        }
        let Some(first) = devices.first() else { return Ok(Vec::new()) };
        let answers = self.made(first.node)?.route.transact(&requests)?;
        let mut answers = answers.iter();
        let mut samples = vec![QueueSample::default(); devices.len()];
        for (device, sample) in devices.iter().zip(&mut samples) {
            if self.impaired.contains(device) {
                let netem = answers.next().context("the kernel told of no netem")?;
                let behind = match self.queueing.get(device) {
                    Some(queueing) => Some((*queueing, answers.next().context("the kernel told of no queue")?)),
                    None => None,
                };
                *sample = QueueSample::from_answers(netem, behind.map(|(queueing, answer)| (queueing, &answer[..])))?;
                if self.transmits(device) {
                    *sample =
                        sample.with_transmission(answers.next().context("the kernel told of no transmission")?)?;
                }
            }
        }
        for (device, sample) in devices.iter().zip(&mut samples) {
            sample.dropped_packets += self.lost_by_number(*device)?;
        }
        Ok(samples)
    }

    /// Returns whether a device's own netem only transmits packets, as a shaper is before it.
    fn transmits(&self, device: &Device) -> bool {
        self.shaped.contains(device) && self.queueing.get(device) != Some(&Queueing::Device)
    }

    /// Reads a host's connections from the kernel: calls `ask` with a socket of `NETLINK_SOCK_DIAG` in the host's
    /// namespace.
    pub fn sample_connections<T>(
        &mut self,
        host: Node,
        ask: impl FnOnce(&mut Socket) -> Result<T, NetlinkError>,
    ) -> Result<T> {
        Ok(ask(self.socket(host, NETLINK_SOCK_DIAG)?)?)
    }

    /// Reads how many packets a router did not forward, but sent itself or kept, in the address families of a path.
    pub(crate) fn own_packets(&self, router: Node, path: &Path) -> Result<OwnPackets> {
        let of_family = |family: &Family| match family {
            Family::Ipv4 => OwnPackets::from_table(&read_net("snmp")?),
            Family::Ipv6 => OwnPackets::from_list(&read_net("snmp6")?),
        };
        self.within(router, || Family::all_of(path).iter().map(of_family).sum())
    }

    /// Returns whether a node has used ARP: it has an entry that was not configured (`ATF_PERM` is not set), or waits
    /// for a reply.
    pub(crate) fn resolves_addresses(&self, node: Node) -> Result<bool> {
        self.within(node, || Ok(has_asked(&read_net("arp")?)))
    }

    pub(super) fn ask(&mut self, device: Device, request: Request) -> Result<Vec<u8>> {
        Ok(self.made(device.node)?.route.ask(&request)?)
    }
}

/// Reads a file of `/proc/net` of the current network namespace.
fn read_net(name: &str) -> Result<String> {
    // A thread that has changed its namespace has another network than its process.
    let path = format!("/proc/thread-self/net/{name}");
    fs::read_to_string(&path).with_context(|| format!("read {path}"))
}
