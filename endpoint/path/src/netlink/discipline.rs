//! The queueing disciplines of a bottleneck: their options, and their state as read back from the kernel. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/pkt_sched.h`. Options that are not set here have the
//! kernel's defaults: the target delay of CoDel is 5 ms within 100 ms, of PIE 15 ms, of CAKE a twentieth of an RTT of
//! 100 ms.

use netwarp_wire::job::{Discipline, DisciplineKind};

use super::NetlinkError;
use super::message::{Attributes, attribute, attributes, u32_at, words};
use super::qdisc::{TCA_STATS_APP, TCA_STATS_QUEUE};
use crate::topology::Shaper;

const TCA_CODEL_LIMIT: u16 = 2;
const TCA_CODEL_ECN: u16 = 4;
const TCA_FQ_CODEL_LIMIT: u16 = 2;
const TCA_FQ_CODEL_ECN: u16 = 4;
const TCA_FQ_CODEL_MEMORY_LIMIT: u16 = 9;
const TCA_FQ_PLIMIT: u16 = 1;
const TCA_FQ_FLOW_PLIMIT: u16 = 2;
const TCA_CAKE_BASE_RATE64: u16 = 2;
const TCA_CAKE_MEMORY: u16 = 10;
const TCA_CAKE_ACK_FILTER: u16 = 16;
/// `CAKE_ACK_FILTER` of `sch_cake.c`: acknowledgements that later ones make superfluous are dropped.
const CAKE_ACK_FILTER: u32 = 1;
const TCA_CAKE_STATS_TIN_STATS: u16 = 10;
const TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS: u16 = 8;
const TCA_PIE_LIMIT: u16 = 2;
const TCA_PIE_ECN: u16 = 6;
const TCA_RED_PARMS: u16 = 1;
const TCA_RED_STAB: u16 = 2;
const TCA_RED_MAX_P: u16 = 3;
const TC_RED_ECN: u8 = 1;
const TC_RED_ADAPTATIVE: u8 = 8;
const RED_FLAGS_OFFSET: usize = 15;
const RED_STAB_BYTES: usize = 256;
const TCA_DUALPI2_LIMIT: u16 = 1;
const TCA_DUALPI2_ECN_MASK: u16 = 14;
const TC_DUALPI2_ECN_MASK_ANY_ECT: u8 = 3;

/// The kernel memory that a full-size packet takes in addition to its size, in bytes: the `sk_buff`, its shared
/// information, and the rounding of its data (`SKB_TRUESIZE`). CAKE and fq_codel limit memory, and without this their
/// queues would hold fewer packets than the job asks for.
const PACKET_OVERHEAD_BYTES: u32 = 3072;

/// A qdisc's settings and counters, as read back from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InForce {
    /// The kind of queueing discipline.
    pub kind: DisciplineKind,
    /// The limit of the queue in packets; `None` if the qdisc limits bytes.
    pub limit_packets: Option<u32>,
    /// The limit of the queue in bytes; `None` if the qdisc limits packets.
    pub limit_bytes: Option<u32>,
    /// Whether the qdisc marks packets (ECN) instead of dropping them.
    pub ecn: bool,
    /// Packets dropped for any reason.
    pub dropped_packets: u64,
    /// Packets marked as congestion experienced (CE).
    pub marked_packets: u64,
}

/// The kernel's name of a qdisc, and where netlink messages have its options and statistics.
struct Interface {
    /// The kernel's name (`TCA_KIND`).
    name: &'static str,
    limit: Limit,
    ecn: Ecn,
    /// The offsets of the counts of marked packets in the qdisc's statistics (`struct tc_*_xstats`).
    marked_at: &'static [usize],
}

/// The attribute with the limit of a qdisc's queue, by its unit.
enum Limit {
    Packets(u16),
    Bytes(u16),
}

/// Where the kernel reports whether a qdisc marks packets.
enum Ecn {
    /// In this attribute.
    Attribute(u16),
    /// In a flag of RED's parameters.
    RedFlag,
    Always,
    Never,
}

fn interface(kind: DisciplineKind) -> Interface {
    let (name, limit, ecn, marked_at): (_, _, _, &[usize]) = match kind {
        DisciplineKind::Codel => ("codel", Limit::Packets(TCA_CODEL_LIMIT), Ecn::Attribute(TCA_CODEL_ECN), &[24]),
        DisciplineKind::FqCodel => {
            ("fq_codel", Limit::Packets(TCA_FQ_CODEL_LIMIT), Ecn::Attribute(TCA_FQ_CODEL_ECN), &[12])
        }
        DisciplineKind::Fq => ("fq", Limit::Packets(TCA_FQ_PLIMIT), Ecn::Never, &[]),
        // CAKE counts marked packets by tin (`marked`).
        DisciplineKind::Cake => ("cake", Limit::Bytes(TCA_CAKE_MEMORY), Ecn::Always, &[]),
        DisciplineKind::Pie => ("pie", Limit::Packets(TCA_PIE_LIMIT), Ecn::Attribute(TCA_PIE_ECN), &[36]),
        DisciplineKind::Red => ("red", Limit::Bytes(TCA_RED_PARMS), Ecn::RedFlag, &[12]),
        DisciplineKind::Dualpi2 => ("dualpi2", Limit::Packets(TCA_DUALPI2_LIMIT), Ecn::Always, &[24, 28]),
    };
    Interface { name, limit, ecn, marked_at }
}

/// Returns the kernel's name of a qdisc.
pub(crate) fn name(kind: DisciplineKind) -> &'static str {
    interface(kind).name
}

/// Returns whether a qdisc limits the rate itself, and so needs no shaper.
pub(crate) fn keeps_rate(kind: DisciplineKind) -> bool {
    kind == DisciplineKind::Cake
}

/// Returns the payload of `TCA_OPTIONS` for a bottleneck of the shaper's rate.
pub(crate) fn options(discipline: &Discipline, shaper: &Shaper) -> Attributes {
    let own = interface(discipline.kind);
    let mut options = Attributes::new();
    if let Limit::Packets(attribute) = own.limit {
        options = options.put_u32(attribute, discipline.limit_packets);
    }
    if let Ecn::Attribute(attribute) = own.ecn {
        options = options.put_u32(attribute, discipline.ecn.into());
    }
    match discipline.kind {
        DisciplineKind::FqCodel => options.put_u32(TCA_FQ_CODEL_MEMORY_LIMIT, memory_bytes(discipline)),
        // A single flow may fill the queue, as in the other qdiscs.
        DisciplineKind::Fq => options.put_u32(TCA_FQ_FLOW_PLIMIT, discipline.limit_packets),
        DisciplineKind::Cake => {
            options = options
                .put_u64(TCA_CAKE_BASE_RATE64, (shaper.rate_bit_s / 8).max(1))
                .put_u32(TCA_CAKE_MEMORY, memory_bytes(discipline));
            if discipline.ack_filter { options.put_u32(TCA_CAKE_ACK_FILTER, CAKE_ACK_FILTER) } else { options }
        }
        DisciplineKind::Red => red_options(discipline.ecn, shaper),
        DisciplineKind::Dualpi2 if discipline.any_ect => {
            options.put(TCA_DUALPI2_ECN_MASK, &[TC_DUALPI2_ECN_MASK_ANY_ECT])
        }
        DisciplineKind::Codel | DisciplineKind::Pie | DisciplineKind::Dualpi2 => options,
    }
}

/// Returns the kernel memory that a full queue takes, in bytes.
fn memory_bytes(discipline: &Discipline) -> u32 {
    discipline.limit_packets.saturating_mul(discipline.frame_bytes.saturating_add(PACKET_OVERHEAD_BYTES))
}

/// Returns the options of an adaptive RED as its authors recommend it: thresholds at a twelfth and a quarter of the
/// limit (Floyd, "RED: discussions of setting parameters", 1997), and a largest probability that is adapted between 1
/// and 50 % (Floyd, Gummadi, Shenker 2001). The options begin with a `struct tc_red_qopt`: limit and both thresholds in
/// bytes, the logarithms of the weight, of the probability's slope and of the idle table's unit of time, and flags.
///
/// RED counts bytes. Its limit is the size of the shaper's queue, at least one full-size frame. Its averages are in
/// full-size frames.
fn red_options(ecn: bool, shaper: &Shaper) -> Attributes {
    let (limit_bytes, frame_bytes) = (shaper.queue_bytes, f64::from(shaper.frame_bytes));
    let most_bytes = (limit_bytes / 4).max(3 * shaper.frame_bytes);
    let least_bytes = (most_bytes / 3).max(shaper.frame_bytes);
    let burst_packets = (2.0 * f64::from(least_bytes) + f64::from(most_bytes)) / (3.0 * frame_bytes);
    let weight_log = red_weight_log(f64::from(least_bytes) / frame_bytes, burst_packets.max(2.0))
        .min(red_weight_log_max(most_bytes));
    let probability = 0.02;
    let slope_log = (f64::from(most_bytes - least_bytes) / probability).log2().ceil().min(31.0) as u8;
    let frame_us = frame_bytes * 8e6 / shaper.rate_bit_s as f64;
    let (cell_log, decay) = red_idle_table(weight_log, frame_us.max(1e-3));
    let ecn = if ecn { TC_RED_ECN } else { 0 };
    let mut parameters = words(&[limit_bytes, least_bytes, most_bytes]);
    parameters.extend([weight_log, slope_log, cell_log, TC_RED_ADAPTATIVE | ecn]);
    Attributes::new()
        .put(TCA_RED_PARMS, &parameters)
        .put(TCA_RED_STAB, &decay)
        .put_u32(TCA_RED_MAX_P, (probability * f64::from(u32::MAX)) as u32)
}

/// Returns the largest −log₂ of RED's weight that the kernel accepts for an upper threshold of `most_bytes`: it keeps
/// the average in 32 bits, shifted by that number (`include/net/red.h`, `red_check_params`).
fn red_weight_log_max(most_bytes: u32) -> u8 {
    most_bytes.leading_zeros().saturating_sub(1) as u8
}

/// Returns −log₂ of the weight of RED's average: the largest weight with which a burst of `burst_packets` into an empty
/// queue leaves the average below the lower threshold (Floyd and Jacobson 1993, equation 3).
fn red_weight_log(least_packets: f64, burst_packets: f64) -> u8 {
    let stays_below = |weight: f64| {
        let average = burst_packets + 1.0 + ((1.0 - weight).powf(burst_packets + 1.0) - 1.0) / weight;
        average < least_packets
    };
    (1..31).find(|&log| stays_below(0.5_f64.powi(log.into()))).unwrap_or(31)
}

/// Returns RED's table for idle times: its unit of time, as the logarithm in 2^log µs, and by which power of two the
/// average decays in 0 to 255 such units without packets (`include/net/red.h`, `red_calc_qavg_from_idle_time`). The
/// average decays as if small packets arrived at the full rate.
fn red_idle_table(weight_log: u8, frame_us: f64) -> (u8, [u8; RED_STAB_BYTES]) {
    let halvings_per_us = -(1.0 - 0.5_f64.powi(weight_log.into())).log2() / frame_us;
    let longest_us = 31.0 / halvings_per_us;
    let log = (0..31).find(|&log| longest_us / 2_f64.powi(log) < 256.0).unwrap_or(31);
    let mut decay = [0; RED_STAB_BYTES];
    for (place, each) in decay.iter_mut().enumerate() {
        *each = (place as f64 * 2_f64.powi(log) * halvings_per_us).min(31.0) as u8;
    }
    decay[RED_STAB_BYTES - 1] = 31;
    (log as u8, decay)
}

/// Decodes the kernel's answer about the qdisc of a bottleneck, which must be of the kind `asked`.
///
/// # Errors
/// The answer is about another qdisc, or lacks its counters.
pub(crate) fn in_force(asked: DisciplineKind, answer: &[u8]) -> Result<InForce, NetlinkError> {
    let attempt = || format!("read back the discipline {}", name(asked));
    let read = || {
        let (attributes, own) = (answer.get(20..)?, interface(asked));
        let kind = attribute(attributes, libc::TCA_KIND)?;
        if kind.strip_suffix(&[0]) != Some(own.name.as_bytes()) {
            return None;
        }
        let options = attribute(attributes, libc::TCA_OPTIONS)?;
        let statistics = attribute(attributes, libc::TCA_STATS2)?;
        let number = |kind| attribute(options, kind).and_then(|value| u32_at(value, 0));
        let (limit_packets, limit_bytes) = match own.limit {
            Limit::Packets(attribute) => (number(attribute), None),
            Limit::Bytes(attribute) => (None, number(attribute)),
        };
        let ecn = match own.ecn {
            Ecn::Attribute(attribute) => number(attribute) == Some(1),
            Ecn::RedFlag => attribute(options, TCA_RED_PARMS)?.get(RED_FLAGS_OFFSET)? & TC_RED_ECN > 0,
            Ecn::Always => true,
            Ecn::Never => false,
        };
        Some(InForce {
            kind: asked,
            limit_packets,
            limit_bytes,
            ecn,
            dropped_packets: u32_at(attribute(statistics, TCA_STATS_QUEUE)?, 8)?.into(),
            marked_packets: marked(asked, attribute(statistics, TCA_STATS_APP).unwrap_or_default()),
        })
    };
    read().ok_or_else(|| NetlinkError::Incomplete { attempt: attempt(), missing: "kind, options or counters" })
}

/// Returns the number of marked packets from a qdisc's own statistics (`struct tc_*_xstats`).
fn marked(kind: DisciplineKind, own: &[u8]) -> u64 {
    if kind == DisciplineKind::Cake {
        let tins = attribute(own, TCA_CAKE_STATS_TIN_STATS).unwrap_or_default();
        let of_tin = |tin| attribute(tin, TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS).and_then(|count| u32_at(count, 0));
        return attributes(tins).filter_map(|(_, tin)| of_tin(tin)).map(u64::from).sum();
    }
    interface(kind).marked_at.iter().filter_map(|&offset| u32_at(own, offset)).map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Place;

    fn discipline(kind: DisciplineKind) -> Discipline {
        Discipline { kind, limit_packets: 400, frame_bytes: 1514, ecn: true, any_ect: false, ack_filter: false }
    }

    fn shaper(queue_bytes: u32) -> Shaper {
        Shaper {
            rate_bit_s: 10_000_000,
            frame_bytes: 1514,
            queue_bytes,
            queue_packets: None,
            place: Place::BehindNetem,
            burst_bytes: 0,
        }
    }

    /// Returns the parameters of a RED: limit, both thresholds, and −log₂ of the weight.
    fn red(queue_bytes: u32) -> [u32; 4] {
        let built = options(&discipline(DisciplineKind::Red), &shaper(queue_bytes));
        let parameters = attribute(built.bytes(), TCA_RED_PARMS).unwrap();
        assert_eq!(parameters[RED_FLAGS_OFFSET], TC_RED_ADAPTATIVE | TC_RED_ECN);
        let word = |place: usize| u32_at(parameters, 4 * place).unwrap();
        [word(0), word(1), word(2), parameters[12].into()]
    }

    /// The expected bytes were written by hand from `pkt_sched.h`, little endian.
    #[test]
    fn a_codel_byte_by_byte() {
        let built = options(&discipline(DisciplineKind::Codel), &shaper(605_600));
        assert_eq!(hex::encode(built.bytes()), "08000200900100000800040001000000");
    }

    #[test]
    fn red_averages_over_the_burst_that_it_lets_pass() {
        // Thresholds of 33 and 100 packets, and so a burst of 55: w = 2⁻⁶ leaves an average of about 19, 2⁻⁵ of 29, 2⁻⁴
        // of 41.
        assert_eq!(red_weight_log(33.3, 55.6), 5);
        assert_eq!(red(605_600), [605_600, 50_466, 151_400, 5]);
    }

    #[test]
    fn red_has_room_for_a_full_size_frame() {
        assert_eq!(red(1514)[0], 1514);
    }

    /// `red_check_params` of `include/net/red.h`: the position of a threshold's highest bit and the weight's logarithm
    /// are less than 32 together.
    #[test]
    fn red_takes_queues_of_any_size() {
        for queue_bytes in [1514, 605_600, 15_140_000, 1_250_000_000, u32::MAX] {
            let [_, least, most, weight_log] = red(queue_bytes);
            assert!(least <= most && weight_log >= 1, "{queue_bytes}");
            assert!(u32::BITS - most.leading_zeros() + weight_log < 32, "{queue_bytes}: {most}, {weight_log}");
        }
    }

    #[test]
    fn an_idle_queue_is_forgotten_at_the_rate_of_the_link() {
        let (log, decay) = red_idle_table(5, 1211.2);
        // (31/32)^n = 1/2 for n = 21.8 packets: 26.4 ms.
        let halving = decay.iter().position(|&shift| shift == 1).unwrap() as f64 * 2_f64.powi(log.into());
        assert!((halving / 26_440.0 - 1.0).abs() < 0.2, "{halving}");
        assert_eq!(decay[255], 31);
        assert!(decay.is_sorted());
    }

    #[test]
    fn another_discipline_is_not_taken_for_the_one_asked_for() {
        let kind = Attributes::new().put_string(libc::TCA_KIND, "pfifo");
        let answer = [vec![0; 20], kind.bytes().to_vec()].concat();
        let error = in_force(DisciplineKind::Codel, &answer).unwrap_err();
        assert!(error.to_string().contains("codel"), "{error}");
    }
}
