//! Creates the queueing disciplines (qdiscs) that impair a run's incoming packets at a host, reads their counters, and
//! removes them: for a run between two hosts, where no router of netwarp's is on the path.

use std::borrow::Cow;
use std::net::IpAddr;
use std::process::id;

use crate::count::{Count, read_until};
use crate::netem::{self, InForce};
use crate::netlink::bottleneck::{self, QueueSample};
use crate::netlink::ethtool::Ethtool;
use crate::netlink::message::Request;
use crate::netlink::qdisc::{self, NetemCounters};
use crate::netlink::redirect::{self, Incoming, Redirected};
use crate::netlink::route::{self, Link, LinkCounters};
use crate::netlink::{NetlinkError, Socket, shaper};
use crate::topology::{self, ETHERNET_HEADER_BYTES};
use anyhow::{Context, Result, ensure};
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};
use netwarp_core::clock::Moment;
use netwarp_wire::job::{Direction, Impairments};
use netwarp_wire::record::{CalibrationRecord, ImposedRecord};
use nix::errno::Errno;

/// The qdiscs that impair a device's incoming packets, and which of them netwarp has to remove.
pub struct ImpairedIngress<'a> {
    direction: Direction,
    impairments: Cow<'a, Impairments>,
    route: Socket,
    /// The device at which the run's packets arrive.
    device: Link,
    has_ingress: bool,
    /// The index of the ifb through which the run's packets are redirected; `None` before it is created.
    ifb: Option<u32>,
    /// When all qdiscs were in place, in nanoseconds of `CLOCK_MONOTONIC`.
    since_ns: u64,
}

impl<'a> ImpairedIngress<'a> {
    /// Creates the qdiscs. If that fails, it removes those already created.
    ///
    /// # Errors
    /// No device has the address, the device merges packets (GRO), or the kernel refuses; the message says what to do.
    pub fn begin(
        incoming: Incoming,
        direction: Direction,
        impairments: &'a Impairments,
        mtu_bytes: u32,
    ) -> Result<Self> {
        let mut route = Socket::open(NETLINK_ROUTE)?;
        let device = device_with(&mut route, incoming.address)?;
        let impairments = on_one_device(impairments, mtu_bytes);
        let mut impaired = Self { direction, impairments, route, device, has_ingress: false, ifb: None, since_ns: 0 };
        let begun = impaired.refuse_bundles().and_then(|()| impaired.build(incoming, mtu_bytes));
        match begun {
            Ok(()) => Ok(impaired),
            Err(error) => {
                impaired.remove()?;
                Err(error)
            }
        }
    }

    fn refuse_bundles(&self) -> Result<()> {
        let name = &self.device.name;
        ensure!(!self.device.is_loopback, "{name} is the loopback device, whose packets are bundles of segments");
        let mut generic = Socket::open(NETLINK_GENERIC)?;
        let ethtool = Ethtool::learn(&mut generic)?;
        let joining = ethtool.joining(&mut generic, self.device.index)?;
        let switches: Vec<_> = joining.iter().map(|feature| format!("{} off", ethtool_name(feature))).collect();
        ensure!(
            joining.is_empty(),
            "{name} joins packets that come in ({}), and netem would drop several as one: `ethtool -K {name} {}` as root",
            joining.join(", "),
            switches.join(" ")
        );
        Ok(())
    }

    /// Creates ingress qdisc, ifb and netem. The ingress qdisc comes first: a device has at most one, so one that this
    /// process could create is its own.
    fn build(&mut self, incoming: Incoming, mtu_bytes: u32) -> Result<()> {
        let (device, name) = (self.device.index, self.device.name.clone());
        self.send(&[redirect::add_ingress(device)], |errno| match errno {
            Errno::EEXIST => Some(format!(
                "{name} has an ingress or clsact qdisc already (`tc qdisc show dev {name}`), another run's or somebody else's, and \
                 is left alone: take it away with `tc qdisc del dev {name} ingress` if nobody needs it"
            )),
            _ => missing_module_hint(errno, "ingress qdisc", "modprobe sch_ingress"),
        })?;
        self.has_ingress = true;
        let ifb_name = format!("netwarp-{}", id());
        let frame_mtu_bytes = mtu_bytes.max(self.device.mtu_bytes);
        self.send(&[route::create_ifb(&ifb_name, 0, frame_mtu_bytes)], |errno| {
            missing_module_hint(errno, "ifb", "modprobe ifb")
        })?;
        let ifb = Link::from_answer(&self.route.ask(&route::find_link(&ifb_name))?)?.index;
        self.ifb = Some(ifb);
        let options = netem::options(&self.impairments);
        let qdiscs = match topology::shaper(&self.impairments, frame_mtu_bytes) {
            Some(shaper) => bottleneck::add_shaped_netem(ifb, &options, &shaper, None),
            None => {
                let queue = netem::queue(&self.impairments).map(|options| qdisc::add_queue(ifb, &options));
                [qdisc::add_netem(ifb, &options)].into_iter().chain(queue).collect()
            }
        };
        self.send(&qdiscs, |errno| {
            missing_module_hint(errno, "netem or htb", "modprobe -a sch_netem sch_htb sch_tbf")
        })?;
        match self.route.transact(&[route::keep_silent(ifb)]) {
            // a kernel without IPv6 needs no filter for it
            Err(NetlinkError::Refused { errno: Errno::EAFNOSUPPORT, .. }) => {}
            silenced => drop(silenced?),
        }
        self.send(&[route::set_up(ifb)], |_| None)?;
        self.require_in_force()?;
        self.send(&redirect::redirect(device, incoming, ifb), |errno| {
            missing_module_hint(errno, "flower classifier or no mirred action", "modprobe -a cls_flower act_mirred")
        })?;
        self.since_ns = Moment::now().since(0);
        Ok(())
    }

    /// Sends requests to the kernel. `hint` returns what to tell the user about an error of the kernel; `None` if there
    /// is nothing to add.
    fn send(&mut self, requests: &[Request], hint: impl FnOnce(Errno) -> Option<String>) -> Result<()> {
        self.route.transact(requests).map(drop).map_err(|error| {
            let means = match &error {
                NetlinkError::Refused { errno: Errno::EPERM, .. } => {
                    Some("changing network devices takes CAP_NET_ADMIN: run netwarp as root there".to_owned())
                }
                NetlinkError::Refused { errno, .. } => hint(*errno),
                _ => None,
            };
            means.map_or_else(|| error.into(), anyhow::Error::msg)
        })
    }

    /// Returns an error if the impairments read back from the kernel are not those requested.
    fn require_in_force(&mut self) -> Result<()> {
        let asked = netem::options(&self.impairments);
        let (found, asked) = (self.in_force()?, InForce::read(asked.bytes()).context("netem has no options")?);
        ensure!(found == asked, "the kernel's netem is another one than asked for: {found:?} instead of {asked:?}");
        Ok(())
    }

    fn in_force(&mut self) -> Result<InForce> {
        let answer = self.route.ask(&qdisc::ask_netem(self.ifb()?))?;
        qdisc::options_of(&answer)
            .and_then(InForce::read)
            .context("the kernel's netem has no seed: use Linux 6.6 or later")
    }

    /// Returns the record of the impairments in force, as read back from the kernel.
    ///
    /// # Errors
    /// The kernel does not answer, or no longer has a qdisc that was created.
    pub fn record(&mut self) -> Result<ImposedRecord> {
        let found = self.in_force()?;
        let rate_byte_s = if topology::shaper(&self.impairments, 0).is_some() {
            let answer = self.route.ask(&shaper::ask_rate(self.ifb()?))?;
            Some(qdisc::options_of(&answer).and_then(shaper::rate_byte_s).context("the shaper has no rate")?)
        } else if self.impairments.queue_packets.is_some() {
            let answer = self.route.ask(&qdisc::ask_queue(self.ifb()?))?;
            Some(qdisc::options_of(&answer).and_then(netem::rate_byte_s).context("the queue has no rate")?)
        } else {
            found.rate_byte_s
        };
        Ok(ImposedRecord {
            direction: self.direction,
            device: self.device.name.clone(),
            delay_ns: found.delay_ns,
            jitter_ns: found.jitter_ns,
            jitter_correlation: found.jitter_correlation,
            loss: found.loss,
            rate_bit_s: rate_byte_s.map(|rate| rate * 8),
            limit_packets: found.limit_packets,
            reorder: found.reorder,
            duplicate_ratio: found.duplicate_ratio,
            seed: found.seed,
            in_order: found.in_order,
        })
    }

    /// Reads how many packets arrived, were dropped and were forwarded. The counters are read one after the other, as
    /// those of routers are.
    ///
    /// # Errors
    /// No packets arrived, they arrived joined (GRO), or arrived, dropped and forwarded packets do not add up.
    pub fn count(&mut self) -> Result<CalibrationRecord> {
        let impairments = self.impairments.clone();
        let is_balanced = |counted: &Counted| counted.count.is_balanced(&impairments) && !counted.has_bundles();
        let counted = read_until(|| self.read_counters(), is_balanced)?;
        let (count, name) = (counted.count, &self.device.name);
        ensure!(
            !counted.has_bundles(),
            "{} packets came in at {name} as {}: netem met bundles of segments, which somebody joined on the way or never cut: \
             `ethtool -K DEVICE tso off gso off gro off` at the sender, and wherever else they pass",
            counted.sent_packets,
            count.delivered_packets
        );
        ensure!(count.offered_packets > 0, "no packet of the run came in at {name}, which has the run's address here");
        ensure!(count.is_balanced(&self.impairments), "the packets that came in at {name} do not add up: {count:?}");
        Ok(count.record(0, self.direction, &self.impairments, Moment::now().since(self.since_ns)))
    }

    /// Reads the counters of the redirecting filters, of netem and of the ifb once.
    fn read_counters(&mut self) -> Result<Counted> {
        let ifb = self.ifb()?;
        let redirected = Redirected::from_answers(&self.route.dump(&redirect::ask_redirected(self.device.index))?);
        let answer = self.route.ask(&qdisc::ask_netem(ifb))?;
        let mut netem = NetemCounters::from_answer(&answer)?;
        let link = LinkCounters::from_answer(&self.route.ask(&route::ask_link(ifb))?)?;
        netem.dropped_packets += link.send_dropped_packets;
        let header_bytes = u64::from(ETHERNET_HEADER_BYTES) * redirected.packets;
        let count = Count {
            offered_packets: redirected.packets,
            offered_bytes: Some(redirected.bytes + header_bytes),
            delivered_packets: link.sent_packets,
            delivered_bytes: link.sent_bytes,
            netem,
        };
        Ok(Counted { count, sent_packets: QueueSample::from_answers(&answer, None)?.sent_packets })
    }

    /// Removes what this process created, if it is still there. Packets that wait in netem are lost.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn remove(&mut self) -> Result<()> {
        let ingress = if std::mem::take(&mut self.has_ingress) {
            self.route.transact(&[redirect::remove_ingress(self.device.index)]).map(drop)
        } else {
            Ok(())
        };
        let ifb = self.ifb.take().map_or(Ok(()), |ifb| self.route.transact(&[route::delete_link(ifb)]).map(drop));
        Ok(ingress.and(ifb)?)
    }

    fn ifb(&self) -> Result<u32> {
        self.ifb.context("there is no ifb")
    }
}

/// Returns impairments whose queue does not need a device of its own: where one would be needed, the netem with the
/// delay line has the queue, too, and its limit counts the packets of both.
fn on_one_device(impairments: &Impairments, mtu_bytes: u32) -> Cow<'_, Impairments> {
    let (Some(waiting_packets), Some(rate_bit_s)) = (impairments.queue_packets, impairments.rate_bit_s) else {
        return Cow::Borrowed(impairments);
    };
    if !impairments.queues_apart() {
        return Cow::Borrowed(impairments);
    }
    let frame_bits = 8 * u128::from(mtu_bytes + ETHERNET_HEADER_BYTES);
    let delayed_bits = u128::from(rate_bit_s) * u128::from(impairments.longest_delay_ns()) / 1_000_000_000;
    let delayed_packets = u32::try_from(delayed_bits.div_ceil(frame_bits)).unwrap_or(u32::MAX);
    let limit_packets = delayed_packets.saturating_add(waiting_packets).saturating_add(1);
    Cow::Owned(Impairments { queue_packets: None, limit_packets, ..impairments.clone() })
}

/// A snapshot of the ifb's counters.
#[derive(Debug, Clone, Copy)]
struct Counted {
    count: Count,
    /// Packets that left netem; each segment of a merged packet (GRO) counts. In `count`, a merged packet counts once,
    /// as at the ifb.
    sent_packets: u64,
}

impl Counted {
    /// Returns whether merged packets (GRO) arrived: then more segments left netem than packets were delivered or are
    /// queued. A packet that a token bucket has taken from netem, and holds until it may be sent, counts as queued.
    fn has_bundles(&self) -> bool {
        self.sent_packets > self.count.delivered_packets + self.count.netem.queued_packets
    }
}

fn device_with(route: &mut Socket, address: IpAddr) -> Result<Link> {
    let answers = route.dump(&route::ask_addresses())?;
    let index = route::link_with(address, &answers).with_context(|| format!("no device has the address {address}"))?;
    Ok(Link::from_answer(&route.ask(&route::ask_link(index))?)?)
}

/// Returns a hint for the user if the error means that the kernel lacks a qdisc or tc action; `None` for any other
/// error.
fn missing_module_hint(errno: Errno, what: &str, command: &str) -> Option<String> {
    let is_unknown = matches!(errno, Errno::ENOENT | Errno::EOPNOTSUPP);
    is_unknown.then(|| format!("the kernel has no {what}: `{command}` as root there"))
}

/// Returns ethtool(8)'s name of an offload feature, given the kernel's.
fn ethtool_name(feature: &str) -> &str {
    match feature {
        "rx-gro" => "gro",
        "rx-lro" => "lro",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::MOST_REPAIRS;

    use super::*;

    #[test]
    fn a_bundle_is_several_packets_to_netem_and_one_to_the_ifb() {
        let count = Count { delivered_packets: 7, ..Count::default() };
        assert!(!Counted { count, sent_packets: 7 }.has_bundles());
        assert!(Counted { count, sent_packets: 8 }.has_bundles());
        let netem = NetemCounters { queued_packets: 1, ..NetemCounters::default() };
        assert!(!Counted { count: Count { netem, ..count }, sent_packets: 8 }.has_bundles());
    }

    #[test]
    fn a_queue_on_the_device_of_the_delay_line_has_room_for_the_longest_delays() {
        let apart = Impairments {
            rate_bit_s: Some(12_000_000),
            queue_packets: Some(20),
            duplicate_ratio: 0.1,
            ..Impairments::nothing()
        };
        let limit_packets = |impairments: Impairments| on_one_device(&impairments, 1_486).limit_packets;
        let steady = Impairments { delay_ns: 50_000_000, ..apart };
        assert_eq!(limit_packets(steady.clone()), 50 + 20 + 1);
        assert_eq!(limit_packets(Impairments { jitter_ns: 5_000_000, ..steady.clone() }), 70 + 20 + 1);
        let repaired = Impairments { link_loss_ratio: 0.1, link_repair_ns: 10_000_000, ..steady };
        assert_eq!(limit_packets(repaired), 50 + 10 * MOST_REPAIRS + 20 + 1);
    }

    #[test]
    fn what_a_kernel_does_not_know_comes_with_the_command_that_mends_it() {
        let said = missing_module_hint(Errno::EOPNOTSUPP, "ifb", "modprobe ifb").unwrap();
        assert_eq!(said, "the kernel has no ifb: `modprobe ifb` as root there");
        assert_eq!(missing_module_hint(Errno::EBUSY, "ifb", "modprobe ifb"), None);
    }
}
