//! rtnetlink requests that create, change and read a single queueing discipline, mostly netem. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/rtnetlink.h`, `gen_stats.h` and `pkt_sched.h`.

use super::NetlinkError;
use super::message::{Attributes, Request, attribute, u32_at, u64_at, words};

pub(super) const TC_H_ROOT: u32 = 0xffff_ffff;
/// The handle of a link's netem, `1:`, by which it is found whatever its parent is.
pub(super) const NETEM: u32 = 0x0001_0000;
/// The handle, `2:`, of the token bucket with the queue of a bottleneck whose rate a shaper enforces instead of netem.
pub(super) const SHAPER: u32 = 0x0002_0000;
/// The handle of the netem that collects packets behind a link's netem, `7:`.
const COLLECTION: u32 = 0x0007_0000;
/// The handle of the netem that is a bottleneck's queue behind a link's netem, which then has the delay line alone, `8:`.
const QUEUE: u32 = 0x0008_0000;
pub(super) const TCA_STATS_BASIC: u16 = 1;
pub(super) const TCA_STATS_QUEUE: u16 = 3;
pub(super) const TCA_STATS_APP: u16 = 4;

/// Returns the request that makes a netem with `options` (`TCA_OPTIONS`) the root qdisc of a link.
pub fn add_netem(index: u32, options: &Attributes) -> Request {
    add(format!("put netem on link {index}"), index, NETEM, TC_H_ROOT, "netem", options)
}

/// Returns the request that puts a netem with the rate and the queue of a bottleneck behind a link's netem.
pub(crate) fn add_queue(index: u32, options: &Attributes) -> Request {
    add(format!("put a netem with a queue on link {index}"), index, QUEUE, NETEM + 1, "netem", options)
}

/// Returns the request that reads the queue of a bottleneck behind a link's netem, with its counters.
pub(crate) fn ask_queue(index: u32) -> Request {
    ask(format!("read the queue of link {index}"), index, QUEUE)
}

/// Returns the request that puts a netem that collects packets behind a link's netem.
pub(crate) fn add_collection(index: u32, options: &Attributes) -> Request {
    add(format!("put a netem that collects packets on link {index}"), index, COLLECTION, NETEM + 1, "netem", options)
}

/// Returns the request that changes the options of a link's netem. The netem keeps its queue and its counters.
pub(crate) fn change_netem(index: u32, options: &Attributes) -> Request {
    change(format!("change the netem of link {index}"), index, NETEM, "netem", options)
}

/// Returns the request that reads the netem of a link, with its counters.
pub fn ask_netem(index: u32) -> Request {
    ask(format!("read the counters of the netem of link {index}"), index, NETEM)
}

pub(super) fn ask(attempt: String, index: u32, handle: u32) -> Request {
    // Unlike for other families, the kernel answers only if it is asked for the echo (net/sched/sch_api.c).
    Request::new(attempt, libc::RTM_GETQDISC, libc::NLM_F_ECHO, &structure(index, handle, 0), &Attributes::new())
}

pub(super) fn add(attempt: String, index: u32, handle: u32, parent: u32, kind: &str, options: &Attributes) -> Request {
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    request(attempt, flags, &structure(index, handle, parent), kind, options)
}

pub(super) fn change(attempt: String, index: u32, handle: u32, kind: &str, options: &Attributes) -> Request {
    request(attempt, 0, &structure(index, handle, 0), kind, options)
}

fn request(attempt: String, flags: i32, structure: &[u8], kind: &str, options: &Attributes) -> Request {
    let attributes = Attributes::new().put_string(libc::TCA_KIND, kind).put(libc::TCA_OPTIONS, options.bytes());
    Request::new(attempt, libc::RTM_NEWQDISC, flags, structure, &attributes)
}

/// Returns the options (`TCA_OPTIONS`) in the kernel's answer about a qdisc or a class.
pub fn options_of(answer: &[u8]) -> Option<&[u8]> {
    attribute(answer.get(20..)?, libc::TCA_OPTIONS)
}

/// The counters of a netem.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetemCounters {
    /// The packets that wait in netem now.
    pub queued_packets: u64,
    /// The packets dropped since the netem was created, for any reason.
    pub dropped_packets: u64,
    /// How many of the dropped packets the loss model dropped; `None` where the kernel does not say (`struct
    /// tc_netem_xstats`, since 7.2).
    pub lost_packets: Option<u64>,
}

impl NetemCounters {
    /// Decodes the answer to [`ask_netem`]: `struct gnet_stats_queue` and `struct tc_netem_xstats` in `TCA_STATS2`.
    pub fn from_answer(answer: &[u8]) -> Result<Self, NetlinkError> {
        let read = || {
            let statistics = attribute(answer.get(20..)?, libc::TCA_STATS2)?;
            let queue = attribute(statistics, TCA_STATS_QUEUE)?;
            Some(Self {
                queued_packets: u32_at(queue, 0)?.into(),
                dropped_packets: u32_at(queue, 8)?.into(),
                lost_packets: attribute(statistics, TCA_STATS_APP).and_then(|netem| u64_at(netem, 8)),
            })
        };
        read().ok_or(NetlinkError::Incomplete { attempt: "read the counters of a qdisc".into(), missing: "TCA_STATS2" })
    }
}

/// Returns the `struct tcmsg` of a qdisc or a class.
pub(super) fn structure(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    words(&[0, index, handle, parent, 0])
}
