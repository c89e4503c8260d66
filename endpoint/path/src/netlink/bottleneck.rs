//! rtnetlink requests for a bottleneck whose rate a shaper enforces instead of netem: a sorter (`prio`), netem, the
//! shaper and its queue. Also reads the counters of all bottlenecks. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/rtnetlink.h`, `gen_stats.h` and `pkt_sched.h`.

use netwarp_wire::job::{Discipline, DisciplineKind};

use super::message::{Attributes, Request, attribute, u32_at, u64_at};
use super::qdisc::{
    NETEM, SHAPER, TC_H_ROOT, TCA_STATS_BASIC, TCA_STATS_QUEUE, add, ask, ask_netem, ask_queue, structure,
};
use super::shaper::{add_shaper, ask_bucket};
use super::{NetlinkError, discipline};
use crate::topology::{Place, Shaper};

/// The handle of the `prio` that sorts packets before a netem with a shaper.
const SORTER: u32 = 0x0003_0000;
/// The handle of the `pfifo` that drops every packet. The sorter sends the packets of [`WAKING_PRIORITY`] there.
const NOWHERE: u32 = 0x0004_0000;
/// The handle of the bottleneck's queueing discipline or packet FIFO, `5:`, if the token bucket is not itself the queue.
const DISCIPLINE: u32 = 0x0005_0000;

/// The priority of packets that are sent only to make the kernel check a queue (`TC_PRIO_MAX`). No forwarded packet has
/// it (`ip_tos2prio`).
pub(crate) const WAKING_PRIORITY: u32 = 15;

/// Returns the requests that add to a link a netem, and a shaper ([`super::shaper`]) behind or before it.
///
/// When a shaper's rate changes, the kernel checks the shaper's first packet only when it had planned to. But any
/// packet that reaches the link's root qdisc makes the kernel check all qdiscs, even if that packet is dropped. Netem
/// would draw random numbers for such a packet, so there is a `prio` before it: packets of [`WAKING_PRIORITY`] go to a
/// queue that drops them, and all others to netem.
///
/// A qdisc of the bottleneck replaces the shaper's own queue, or the whole shaper, if the qdisc enforces a rate itself.
pub fn add_shaped_netem(index: u32, options: &Attributes, shaper: &Shaper, queue: Option<&Discipline>) -> Vec<Request> {
    // struct tc_prio_qopt: bands, the band of each priority.
    let mut sorter = 2_u32.to_ne_bytes().to_vec();
    sorter.extend((0..=WAKING_PRIORITY).map(|priority| u8::from(priority == WAKING_PRIORITY)));
    // struct tc_fifo_qopt: limit.
    let no_room = Attributes::after(&0_u32.to_ne_bytes());
    let netem = |parent| add(format!("put netem on link {index}"), index, NETEM, parent, "netem", options);
    let mut bottleneck = Vec::new();
    match (shaper.place, queue) {
        (Place::BeforeNetem, _) => {
            bottleneck.extend(add_shaper(index, SORTER + 1, shaper));
            bottleneck.push(netem(SHAPER + 1));
        }
        (Place::BehindNetem, Some(queue)) if discipline::keeps_rate(queue.kind) => bottleneck.push(netem(SORTER + 1)),
        (Place::BehindNetem, _) => {
            bottleneck.push(netem(SORTER + 1));
            bottleneck.extend(add_shaper(index, NETEM + 1, shaper));
        }
    }
    if let Some(queue) = queue {
        let parent = if discipline::keeps_rate(queue.kind) { NETEM + 1 } else { SHAPER + 1 };
        let (kind, options) = (discipline::name(queue.kind), discipline::options(queue, shaper));
        let attributes = Attributes::new().put_string(libc::TCA_KIND, kind).nest(libc::TCA_OPTIONS, options);
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let structure = structure(index, DISCIPLINE, parent);
        let attempt = format!("put {kind} on link {index}");
        bottleneck.push(Request::new(attempt, libc::RTM_NEWQDISC, flags, &structure, &attributes));
    }
    if let Some(packets) = shaper.queue_packets {
        // struct tc_fifo_qopt: limit.
        let room = Attributes::after(&packets.to_ne_bytes());
        bottleneck.push(add(format!("put pfifo on link {index}"), index, DISCIPLINE, SHAPER + 1, "pfifo", &room));
    }
    let mut requests = vec![
        add(format!("put prio on link {index}"), index, SORTER, TC_H_ROOT, "prio", &Attributes::after(&sorter)),
        add(format!("put pfifo on link {index}"), index, NOWHERE, SORTER + 2, "pfifo", &no_room),
    ];
    requests.extend(bottleneck);
    requests
}

/// Returns the request that reads the queueing discipline of a link's bottleneck, with its counters.
pub(crate) fn ask_discipline(index: u32) -> Request {
    ask(format!("read back the discipline of link {index}"), index, DISCIPLINE)
}

/// The queue of a bottleneck behind the netem that delays packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queueing {
    /// A second netem, which enforces the rate.
    Netem,
    /// A netem that enforces the rate on the device itself, where the first netem is on an additional device before it.
    Device,
    /// The token bucket's own queue.
    Shaper,
    /// A queueing discipline of this kind.
    Discipline(DisciplineKind),
}

impl Queueing {
    /// Returns the queue behind netem; `None` if the shaper is before netem, as packets then wait in netem.
    pub(crate) fn behind_netem(shaper: &Shaper, queue: Option<&Discipline>) -> Option<Self> {
        match shaper.place {
            Place::BehindNetem => Some(queue.map_or(Self::Shaper, |queue| Self::Discipline(queue.kind))),
            Place::BeforeNetem => None,
        }
    }
}

/// Returns the request that reads the queue behind the netem of a link, with its counters.
pub(crate) fn ask_queueing(index: u32, queueing: Queueing) -> Request {
    match queueing {
        Queueing::Netem => ask_queue(index),
        Queueing::Device => ask_netem(index),
        Queueing::Shaper => ask_bucket(index),
        Queueing::Discipline(_) => ask_discipline(index),
    }
}

/// A snapshot of a bottleneck's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// Bytes sent since the bottleneck was built, Ethernet headers included.
    pub sent_bytes: u64,
    /// Packets sent since the bottleneck was built.
    pub sent_packets: u64,
    /// Bytes that wait now.
    pub backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u64,
    /// Packets dropped since the bottleneck was built.
    pub dropped_packets: u64,
    /// Packets marked as congestion experienced (CE) since the bottleneck was built.
    pub marked_packets: u64,
}

impl QueueSample {
    /// Decodes the answer to [`ask_netem`] and, if there is a queue behind netem, that to [`ask_queueing`]: `struct
    /// gnet_stats_basic` and `struct gnet_stats_queue` in `TCA_STATS2`.
    pub fn from_answers(netem: &[u8], behind: Option<(Queueing, &[u8])>) -> Result<Self, NetlinkError> {
        let sample = Self::read(netem)?;
        let Some((queueing, answer)) = behind else { return Ok(sample) };
        let queue = Self::read(answer)?;
        let marked_packets = match queueing {
            Queueing::Netem | Queueing::Device | Queueing::Shaper => 0,
            Queueing::Discipline(kind) => discipline::in_force(kind, answer)?.marked_packets,
        };
        // A qdisc counts what its child drops, too.
        let of_queue = if queueing == Queueing::Device { queue.dropped_packets } else { 0 };
        Ok(Self { dropped_packets: sample.dropped_packets + of_queue, marked_packets, ..queue })
    }

    /// Adds the packet that is being transmitted to the backlog, from the answer to [`ask_netem`] about the device
    /// through which packets leave. A packet counts as waiting until its last bit has left, as where netem enforces the
    /// rate.
    pub(crate) fn with_transmission(self, answer: &[u8]) -> Result<Self, NetlinkError> {
        let transmitted = Self::read(answer)?;
        Ok(Self {
            sent_bytes: transmitted.sent_bytes,
            sent_packets: transmitted.sent_packets,
            backlog_bytes: self.backlog_bytes + transmitted.backlog_bytes,
            backlog_packets: self.backlog_packets + transmitted.backlog_packets,
            ..self
        })
    }

    fn read(answer: &[u8]) -> Result<Self, NetlinkError> {
        let read = || {
            let statistics = attribute(answer.get(20..)?, libc::TCA_STATS2)?;
            let (basic, queue) = (attribute(statistics, TCA_STATS_BASIC)?, attribute(statistics, TCA_STATS_QUEUE)?);
            Some(Self {
                sent_bytes: u64_at(basic, 0)?,
                sent_packets: u32_at(basic, 8)?.into(),
                backlog_packets: u32_at(queue, 0)?.into(),
                backlog_bytes: u32_at(queue, 4)?.into(),
                dropped_packets: u32_at(queue, 8)?.into(),
                marked_packets: 0,
            })
        };
        read().ok_or(NetlinkError::Incomplete { attempt: "sample a qdisc".into(), missing: "TCA_STATS2" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::shaper::tests::SLOW;

    /// Returns the handle and the parent of each qdisc.
    fn places(requests: &[Request]) -> Vec<String> {
        requests.iter().map(|request| request.hex()[48..64].to_owned()).collect()
    }

    #[test]
    fn what_netem_lets_overtake_meets_a_shaper_before_it() {
        let shaper = Shaper { place: Place::BeforeNetem, ..SLOW };
        let requests = add_shaped_netem(11, &Attributes::new(), &shaper, None);
        let shaped = ["0000060001000300", "0100060000000600", "0000020001000600", "0000010001000200"];
        assert_eq!(places(&requests)[2..], shaped);
    }

    /// The expected bytes were written by hand, as above: the priorities of the sorter, and the parent of each
    /// qdisc.
    #[test]
    fn packets_that_wake_go_nowhere_and_others_to_netem_and_its_shaper() {
        let requests = add_shaped_netem(11, &Attributes::new(), &SLOW, None);
        let shaped = ["0000010001000300", "0000060001000100", "0100060000000600", "0000020001000600"];
        assert_eq!(places(&requests)[..2], ["00000300ffffffff", "0000040002000300"]);
        assert_eq!(places(&requests)[2..], shaped);
        let sorter = requests[0].hex();
        assert!(sorter.ends_with("0200000000000000000000000000000000000001"), "{sorter}");
    }

    #[test]
    fn a_discipline_hangs_on_the_shaper_and_one_with_a_shaper_on_netem() {
        let queue = |kind| Discipline {
            kind,
            limit_packets: 400,
            frame_bytes: 1514,
            ecn: false,
            any_ect: false,
            ack_filter: false,
        };
        let hung = |kind| places(&add_shaped_netem(11, &Attributes::new(), &SLOW, Some(&queue(kind))))[2..].to_vec();
        assert_eq!(hung(DisciplineKind::FqCodel).last().map(String::as_str), Some("0000050001000200"));
        assert_eq!(hung(DisciplineKind::Cake), ["0000010001000300", "0000050001000100"]);
    }
}
