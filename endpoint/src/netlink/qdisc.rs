//! rtnetlink requests for queueing disciplines, and their counters. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/rtnetlink.h`, `gen_stats.h` and `pkt_sched.h`.

use super::message::{Attributes, Request, attribute, u32_at, u64_at};
use super::{NetlinkError, discipline};
use crate::job::{Discipline, DisciplineKind};
use crate::topology::{Place, Shaper};

const TC_H_ROOT: u32 = 0xffff_ffff;
/// Handle of a link's netem, `1:`. By it, it is found wherever it hangs.
const NETEM: u32 = 0x0001_0000;
/// Handle of the token bucket that hangs behind a netem, `2:`.
const SHAPER: u32 = 0x0002_0000;
/// Handle of the `prio` that sorts packets before a netem with a token bucket.
const SORTER: u32 = 0x0003_0000;
/// Handle of the `pfifo` without room to which the sorter sends packets of [`WAKING_PRIORITY`].
const NOWHERE: u32 = 0x0004_0000;
/// Handle of what queues for the bottleneck, `5:`, where that is not the token bucket itself.
const DISCIPLINE: u32 = 0x0005_0000;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u32 = 1;
pub(super) const TCA_STATS_BASIC: u16 = 1;
pub(super) const TCA_STATS_QUEUE: u16 = 3;
pub(super) const TCA_STATS_APP: u16 = 4;

/// `TC_PRIO_MAX`. No packet that is forwarded has it (`ip_tos2prio`).
pub(crate) const WAKING_PRIORITY: u32 = 15;

/// Makes a netem with these options (`TCA_OPTIONS`) the root discipline of a link.
pub(crate) fn add_netem(index: u32, options: &Attributes) -> Request {
    add(format!("put netem on link {index}"), index, NETEM, TC_H_ROOT, "netem", options)
}

/// The same with a token bucket, behind it or before it.
///
/// The kernel tells a token bucket of a new rate, but has it look at its first packet no sooner than the old rate would
/// have let that go: at no rate, never. Any packet given to the link's root discipline has all of them look, dropped or not.
/// So before netem, which would draw random numbers for it, there is a `prio` that sends packets of [`WAKING_PRIORITY`] to a
/// queue without room, and all others to netem.
///
/// A discipline of the bottleneck takes the place of the token bucket's own queue, or, where it keeps a rate by itself, of the
/// token bucket.
pub(crate) fn add_shaped_netem(
    index: u32,
    options: &Attributes,
    shaper: &Shaper,
    queue: Option<&Discipline>,
) -> Vec<Request> {
    // struct tc_prio_qopt: bands, the band of each priority.
    let mut sorter = 2_u32.to_ne_bytes().to_vec();
    sorter.extend((0..=WAKING_PRIORITY).map(|priority| u8::from(priority == WAKING_PRIORITY)));
    // struct tc_fifo_qopt: limit.
    let no_room = Attributes::after(&0_u32.to_ne_bytes());
    let netem = |parent| add(format!("put netem on link {index}"), index, NETEM, parent, "netem", options);
    let bucket =
        |parent| add(format!("put tbf on link {index}"), index, SHAPER, parent, "tbf", &shaper_options(shaper));
    let mut bottleneck = match (shaper.place, queue) {
        (Place::BeforeNetem, _) => vec![bucket(SORTER + 1), netem(SHAPER + 1)],
        (Place::BehindNetem, Some(queue)) if discipline::keeps_rate(queue.kind) => vec![netem(SORTER + 1)],
        (Place::BehindNetem, _) => vec![netem(SORTER + 1), bucket(NETEM + 1)],
    };
    if let Some(queue) = queue {
        let parent = if discipline::keeps_rate(queue.kind) { NETEM + 1 } else { SHAPER + 1 };
        let (kind, options) = (discipline::name(queue.kind), discipline::options(queue, shaper));
        let attributes = Attributes::new().put_string(libc::TCA_KIND, kind).nest(libc::TCA_OPTIONS, options);
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let structure = structure(index, DISCIPLINE, parent);
        let attempt = format!("put {kind} on link {index}");
        bottleneck.push(Request::new(attempt, libc::RTM_NEWQDISC, flags, &structure, &attributes));
    }
    let mut requests = vec![
        add(format!("put prio on link {index}"), index, SORTER, TC_H_ROOT, "prio", &Attributes::after(&sorter)),
        add(format!("put pfifo on link {index}"), index, NOWHERE, SORTER + 2, "pfifo", &no_room),
    ];
    requests.extend(bottleneck);
    requests
}

/// Changes the options of a link's netem. The queue and the counters stay.
pub(crate) fn change_netem(index: u32, options: &Attributes) -> Request {
    change(format!("change the netem of link {index}"), index, NETEM, "netem", options)
}

/// Changes the rate of a link's token bucket. What waits in it stays, and follows the new rate once it is woken.
pub(crate) fn change_shaper(index: u32, shaper: &Shaper) -> Request {
    change(format!("change the rate of link {index}"), index, SHAPER, "tbf", &shaper_options(shaper))
}

/// Asks for the netem of a link and its counters.
pub(crate) fn ask_netem(index: u32) -> Request {
    ask(format!("read the counters of the netem of link {index}"), index, NETEM)
}

/// Asks for the token bucket of a link.
pub(crate) fn ask_shaper(index: u32) -> Request {
    ask(format!("read back the token bucket of link {index}"), index, SHAPER)
}

/// Asks for the discipline of a link's bottleneck and its counters.
pub(crate) fn ask_discipline(index: u32) -> Request {
    ask(format!("read back the discipline of link {index}"), index, DISCIPLINE)
}

fn ask(attempt: String, index: u32, handle: u32) -> Request {
    // Unlike other families, this one answers the asker only if it wants the echo (net/sched/sch_api.c).
    Request::new(attempt, libc::RTM_GETQDISC, libc::NLM_F_ECHO, &structure(index, handle, 0), &Attributes::new())
}

fn add(attempt: String, index: u32, handle: u32, parent: u32, kind: &str, options: &Attributes) -> Request {
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    request(attempt, flags, &structure(index, handle, parent), kind, options)
}

fn change(attempt: String, index: u32, handle: u32, kind: &str, options: &Attributes) -> Request {
    request(attempt, 0, &structure(index, handle, 0), kind, options)
}

fn request(attempt: String, flags: i32, structure: &[u8], kind: &str, options: &Attributes) -> Request {
    let attributes = Attributes::new().put_string(libc::TCA_KIND, kind).put(libc::TCA_OPTIONS, options.bytes());
    Request::new(attempt, libc::RTM_NEWQDISC, flags, structure, &attributes)
}

/// `struct tc_tbf_qopt`: two `struct tc_ratespec` (cell_log, linklayer, overhead, cell_align, mpu, rate), limit, and two
/// numbers that the attributes replace.
fn shaper_options(shaper: &Shaper) -> Attributes {
    let rate_byte_s = (shaper.rate_bit_s / 8).max(1);
    let narrow = u32::try_from(rate_byte_s).unwrap_or(u32::MAX);
    let link_layer = u32::from_le_bytes([0, TC_LINKLAYER_ETHERNET as u8, 0, 0]).to_le();
    let words = [link_layer, 0, narrow, 0, 0, 0, shaper.queue_bytes, 0, 0];
    let parameters: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let options = Attributes::new().put(TCA_TBF_PARMS, &parameters).put_u32(TCA_TBF_BURST, shaper.frame_bytes);
    if rate_byte_s > u64::from(narrow) { options.put_u64(TCA_TBF_RATE64, rate_byte_s) } else { options }
}

/// The options (`TCA_OPTIONS`) of a discipline as the kernel gives them back.
pub(crate) fn options_of(answer: &[u8]) -> Option<&[u8]> {
    attribute(answer.get(20..)?, libc::TCA_OPTIONS)
}

/// The rate of a token bucket, from its options: whole bytes a second.
pub(crate) fn shaper_rate_byte_s(options: &[u8]) -> Option<u64> {
    let wide = attribute(options, TCA_TBF_RATE64).and_then(|wide| u64_at(wide, 0));
    wide.or_else(|| u32_at(attribute(options, TCA_TBF_PARMS)?, 8).map(u64::from))
}

/// What a netem has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NetemCounters {
    /// Packets in it now.
    pub queued_packets: u64,
    /// Packets dropped, for whatever reason.
    pub dropped_packets: u64,
    /// Of them, those its loss model dropped; none where the kernel does not say (`struct tc_netem_xstats`, since 7.2).
    pub lost_packets: Option<u64>,
}

impl NetemCounters {
    /// Reads the answer to [`ask_netem`]: `struct gnet_stats_queue` and `struct tc_netem_xstats` in `TCA_STATS2`.
    pub(crate) fn from_answer(answer: &[u8]) -> Result<Self, NetlinkError> {
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

/// What queues for a bottleneck whose rate netem does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queueing {
    /// The token bucket's own queue.
    Shaper,
    /// A discipline.
    Discipline(DisciplineKind),
}

impl Queueing {
    /// What does behind netem; before it, packets wait in netem.
    pub(crate) fn behind_netem(shaper: &Shaper, queue: Option<&Discipline>) -> Option<Self> {
        match shaper.place {
            Place::BehindNetem => Some(queue.map_or(Self::Shaper, |queue| Self::Discipline(queue.kind))),
            Place::BeforeNetem => None,
        }
    }
}

/// Asks for what queues behind the netem of a link.
pub(crate) fn ask_queueing(index: u32, queueing: Queueing) -> Request {
    match queueing {
        Queueing::Shaper => ask_shaper(index),
        Queueing::Discipline(_) => ask_discipline(index),
    }
}

/// A bottleneck at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct QueueSample {
    pub sent_bytes: u64,
    pub sent_packets: u64,
    pub backlog_bytes: u64,
    pub backlog_packets: u64,
    pub dropped_packets: u64,
    pub marked_packets: u64,
}

impl QueueSample {
    /// Of the answer to [`ask_netem`], and of that to [`ask_queueing`] where something queues behind it: `struct
    /// gnet_stats_basic` and `struct gnet_stats_queue` in `TCA_STATS2`.
    pub(crate) fn from_answers(netem: &[u8], behind: Option<(Queueing, &[u8])>) -> Result<Self, NetlinkError> {
        let missing = || NetlinkError::Incomplete { attempt: "sample a qdisc".into(), missing: "TCA_STATS2" };
        let sample = Self::read(netem).ok_or_else(missing)?;
        let Some((queueing, answer)) = behind else { return Ok(sample) };
        let queue = Self::read(answer).ok_or_else(missing)?;
        let marked_packets = match queueing {
            Queueing::Shaper => 0,
            Queueing::Discipline(kind) => discipline::in_force(kind, answer)?.marked_packets,
        };
        Ok(Self { dropped_packets: sample.dropped_packets, marked_packets, ..queue })
    }

    fn read(answer: &[u8]) -> Option<Self> {
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
    }
}

/// `struct tcmsg`.
pub(super) fn structure(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    [0, index, handle, parent, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Shaper =
        Shaper { rate_bit_s: 12_000_000, frame_bytes: 1514, queue_bytes: 150_000, place: Place::BehindNetem };

    /// By hand from `rtnetlink.h` and `pkt_sched.h`, little endian.
    #[test]
    fn a_change_of_rate_byte_by_byte() {
        let mut message = Vec::new();
        change_shaper(11, &SLOW).write(&mut message, 1, true);
        let header = "60000000 2400 0500 01000000 00000000";
        let structure = "00000000 0b000000 00000200 00000000 00000000";
        let kind = "08000100 74626600";
        let rates = "00010000 00000000 60e31600 00000000 00000000 00000000";
        let options = ["34000200 28000100", rates, "f0490200 00000000 00000000 08000600 ea050000"].concat();
        assert_eq!(hex::encode(&message), [header, structure, kind, &options].concat().replace(' ', ""));
    }

    #[test]
    fn no_rate_is_the_smallest_and_fast_ones_travel_in_64_bits() {
        let rate = |rate_bit_s| {
            let options = shaper_options(&Shaper { rate_bit_s, ..SLOW });
            let parameters = attribute(options.bytes(), TCA_TBF_PARMS).expect("there are parameters").to_vec();
            let wide = attribute(options.bytes(), TCA_TBF_RATE64).and_then(|wide| u64_at(wide, 0));
            (u32_at(&parameters, 8).expect("there is a rate"), wide)
        };
        assert_eq!(rate(0), (1, None));
        assert_eq!(rate(100_000_000_000), (u32::MAX, Some(12_500_000_000)));
    }

    /// Handle and parent of each.
    fn places(requests: &[Request]) -> Vec<String> {
        let place = |request: &Request| {
            let mut message = Vec::new();
            request.write(&mut message, 1, false);
            hex::encode(&message[24..32])
        };
        requests.iter().map(place).collect()
    }

    #[test]
    fn what_netem_lets_overtake_meets_a_bucket_before_it() {
        let shaper = Shaper { place: Place::BeforeNetem, ..SLOW };
        let requests = add_shaped_netem(11, &Attributes::new(), &shaper, None);
        assert_eq!(places(&requests)[2..], ["0000020001000300", "0000010001000200"]);
    }

    /// By hand, as above: the priorities of the sorter, and where each discipline hangs.
    #[test]
    fn packets_that_wake_go_nowhere_and_others_to_netem_and_its_bucket() {
        let requests = add_shaped_netem(11, &Attributes::new(), &SLOW, None);
        assert_eq!(places(&requests), ["00000300ffffffff", "0000040002000300", "0000010001000300", "0000020001000100"]);
        let mut sorter = Vec::new();
        requests[0].write(&mut sorter, 1, false);
        assert!(hex::encode(&sorter).ends_with("0200000000000000000000000000000000000001"), "{}", hex::encode(&sorter));
    }

    #[test]
    fn a_discipline_hangs_on_the_token_bucket_and_one_with_a_shaper_on_netem() {
        let queue = |kind| Discipline { kind, limit_packets: 400, frame_bytes: 1514, ecn: false };
        let hung = |kind| places(&add_shaped_netem(11, &Attributes::new(), &SLOW, Some(&queue(kind))))[2..].to_vec();
        assert_eq!(hung(DisciplineKind::FqCodel), ["0000010001000300", "0000020001000100", "0000050001000200"]);
        assert_eq!(hung(DisciplineKind::Cake), ["0000010001000300", "0000050001000100"]);
    }
}
