//! rtnetlink requests for queueing disciplines, and their counters. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/rtnetlink.h`, `gen_stats.h` and `pkt_sched.h`.

use super::NetlinkError;
use super::message::{Attributes, Request, attribute, u32_at, u64_at};

const TC_H_ROOT: u32 = 0xffff_ffff;
/// The root discipline's handle, `1:`.
const HANDLE: u32 = 0x0001_0000;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;

/// Makes a netem with these options (`TCA_OPTIONS`) the root discipline of a link.
pub fn add_netem(index: u32, options: &Attributes) -> Request {
    Request::new(
        format!("put netem on link {index}"),
        libc::RTM_NEWQDISC,
        libc::NLM_F_CREATE | libc::NLM_F_REPLACE,
        &structure(index),
        &Attributes::new().put_string(libc::TCA_KIND, "netem").put(libc::TCA_OPTIONS, options.bytes()),
    )
}

/// Changes the options of the netem that is a link's root discipline. The queue and the counters stay.
pub fn change_netem(index: u32, options: &Attributes) -> Request {
    Request::new(
        format!("change the netem of link {index}"),
        libc::RTM_NEWQDISC,
        0,
        &structure(index),
        &Attributes::new().put_string(libc::TCA_KIND, "netem").put(libc::TCA_OPTIONS, options.bytes()),
    )
}

/// Asks for the root discipline of a link and its counters.
pub fn ask_root(index: u32) -> Request {
    Request::new(
        format!("read the counters of the root qdisc of link {index}"),
        libc::RTM_GETQDISC,
        // Unlike other families, this one answers the asker only if it wants the echo (net/sched/sch_api.c).
        libc::NLM_F_ECHO,
        &structure(index),
        &Attributes::new(),
    )
}

/// What a netem has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetemCounters {
    /// Packets in it now.
    pub queued_packets: u64,
    /// Packets dropped, for whatever reason.
    pub dropped_packets: u64,
    /// Of them, those its loss model dropped; none where the kernel does not say (`struct tc_netem_xstats`, since 7.2).
    pub lost_packets: Option<u64>,
}

impl NetemCounters {
    /// Reads the answer to [`ask_root`]: `struct gnet_stats_queue` and `struct tc_netem_xstats` in `TCA_STATS2`.
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

/// `struct tcmsg` of a root discipline.
fn structure(index: u32) -> Vec<u8> {
    [0, index, HANDLE, TC_H_ROOT, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect()
}
