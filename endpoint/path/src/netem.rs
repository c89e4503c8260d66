//! The options of `sch_netem` for one direction of a path. Pure.
//!
//! Structures, numbers and meanings are those of `include/uapi/linux/pkt_sched.h` and `net/sched/sch_netem.c`.

use netwarp_wire::job::{Impairments, Loss, Reorder};

use crate::distribution;
use crate::netlink::message::{Attributes, attribute, u32_at, u64_at, words};

const TCA_NETEM_CORR: u16 = 1;
const TCA_NETEM_DELAY_DIST: u16 = 2;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_CORRUPT: u16 = 4;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_SLOT: u16 = 12;
const TCA_NETEM_PRNG_SEED: u16 = 14;
const NETEM_LOSS_GE: u16 = 2;

/// A rate at which no packet takes any time, in bytes per second. It only preserves the order of packets: a netem with
/// a rate lets no packet leave earlier than the packet before it (`netem_enqueue`).
const ORDERING_BYTE_S: u64 = 1 << 60;

/// The limit, in packets, of a netem that only delays packets by their transmission time. It is never reached.
const TRANSMITTED_PACKETS: u32 = 1000;

/// The limit, in packets, of a netem that only collects packets. It is never reached.
const COLLECTED_PACKETS: u32 = 10_000_000;

/// Returns the payload of `TCA_OPTIONS`: a `struct tc_netem_qopt`, then attributes.
///
/// A rate that a shaper ([`crate::topology::shaper`]) or a second netem ([`queue`]) enforces is left out. So is every
/// impairment that a direction does not have: netem would draw random numbers for it.
pub fn options(impairments: &Impairments) -> Attributes {
    let mut options = delays(Attributes::after(&words(&basics(impairments))), impairments)
        .put_u64(TCA_NETEM_PRNG_SEED, impairments.seed);
    let loss_correlation = match impairments.loss {
        Loss::Random { correlation, .. } => correlation,
        Loss::None {} | Loss::Gemodel { .. } | Loss::Every { .. } | Loss::Packets { .. } => 0.0,
    };
    if impairments.jitter_correlation > 0.0 || loss_correlation > 0.0 {
        // struct tc_netem_corr: delay, loss, duplication.
        let correlations = [share(impairments.jitter_correlation), share(loss_correlation), 0];
        options = options.put(TCA_NETEM_CORR, &words(&correlations));
    }
    let drawn = if impairments.longest_repair_ns() > 0 {
        Some(distribution::repairs(impairments.link_loss_ratio))
    } else {
        distribution::table(impairments.distribution).filter(|_| impairments.jitter_ns > 0)
    };
    if let Some(table) = drawn {
        let bytes: Vec<u8> = table.iter().flat_map(|entry| entry.to_ne_bytes()).collect();
        options = options.put(TCA_NETEM_DELAY_DIST, &bytes);
    }
    options = reordering(options, impairments);
    if impairments.corrupt_ratio > 0.0 {
        options = options.put(TCA_NETEM_CORRUPT, &words(&[share(impairments.corrupt_ratio), 0]));
    }
    options = losses(options, impairments);
    let is_others = impairments.shaper_queue_bytes.is_some() || impairments.queue_packets.is_some();
    match impairments.rate_bit_s {
        Some(rate_bit_s) if !is_others && impairments.reorder.ratio == 0.0 => put_rate(options, rate_bit_s / 8),
        _ if impairments.in_order => put_rate(options, ORDERING_BYTE_S),
        _ => options,
    }
}

/// Returns the options of the netem that is the queue of a bottleneck behind the delay line, and transmits its packets
/// at the rate; `None` if the impairments have no such queue.
pub(crate) fn queue(impairments: &Impairments) -> Option<Attributes> {
    Some(bottleneck(impairments.rate_bit_s?, impairments.queue_packets?.saturating_add(1)))
}

/// Returns the options of a netem that only delays each packet by its transmission time. The packets come from a shaper
/// that lets one start when the previous transmission has ended, so no packet waits for another.
pub(crate) fn transmission(rate_bit_s: u64) -> Attributes {
    bottleneck(rate_bit_s, TRANSMITTED_PACKETS)
}

/// Returns the options of a netem that transmits packets one after the other, and holds at most `limit_packets`.
fn bottleneck(rate_bit_s: u64, limit_packets: u32) -> Attributes {
    put_rate(Attributes::after(&words(&[0, limit_packets, 0, 0, 0, 0])), (rate_bit_s / 8).max(1))
}

/// Returns the options of a netem that collects packets for a time, counted from the first, and releases them together.
///
/// Its packets are due when they arrive. A packet that is due after the current slot began makes the kernel plan the
/// next slot, `aggregate_ns` from now; all packets that are due by then leave in it (`get_slot_next`, `netem_dequeue`).
pub(crate) fn collection(aggregate_ns: u64) -> Attributes {
    // struct tc_netem_slot: the shortest and the longest time to a slot, the most packets and bytes in one (0: any),
    // and the mean and the spread of a distribution.
    let slot: Vec<u8> = [aggregate_ns, aggregate_ns, 0, 0, 0].iter().flat_map(|each| each.to_ne_bytes()).collect();
    Attributes::after(&words(&[0, COLLECTED_PACKETS, 0, 0, 0, 0])).put(TCA_NETEM_SLOT, &slot)
}

/// Returns the options that make a running netem lose every packet that reaches it. Packets that it delays already
/// still arrive.
///
/// They are for `RTM_NEWQDISC` on an existing qdisc: the kernel keeps the queue, the counters and every setting
/// that no attribute names (`netem_change`): the random number generator, the rate, the distribution, and the state of
/// correlated draws. Duplication is switched off, since netem would lose only one of the two packets.
pub(crate) fn outage(impairments: &Impairments) -> Attributes {
    let [latency, limit, ..] = basics(impairments);
    delays(Attributes::after(&words(&[latency, limit, u32::MAX, 0, 0, 0])), impairments)
}

/// Returns the options that end an [`outage`].
///
/// The generator is not seeded again: it has drawn one number for each packet lost in the outage, and continues from
/// there. `netem_change` always resets two states: Gilbert–Elliott's chain is in its good state again, and the count to
/// the next candidate for reordering begins again.
pub(crate) fn restore(impairments: &Impairments) -> Attributes {
    let options = delays(Attributes::after(&words(&basics(impairments))), impairments);
    losses(reordering(options, impairments), impairments)
}

/// A netem's options, as written to the kernel or read back from it, without the table of its distribution, which
/// kernels do not return.
#[derive(Debug, Clone, PartialEq)]
pub struct InForce {
    /// The delay of each packet, in nanoseconds.
    pub delay_ns: u64,
    /// The jitter of the delay, in nanoseconds.
    pub jitter_ns: u64,
    /// The correlation of a packet's delay with that of the previous packet.
    pub jitter_correlation: f64,
    /// The model by which packets are lost.
    pub loss: Loss,
    /// The rate in bytes per second; `None` where netem does not enforce it.
    pub rate_byte_s: Option<u64>,
    /// The largest number of packets in netem.
    pub limit_packets: u32,
    /// The model by which packets overtake others.
    pub reorder: Reorder,
    /// The share of packets that are duplicated.
    pub duplicate_ratio: f64,
    /// The share of packets that get a bit error.
    pub corrupt_ratio: f64,
    /// The seed of netem's random numbers.
    pub seed: u64,
    /// Whether packets are kept in order, even if a later one has a shorter delay, although netem enforces no rate.
    pub in_order: bool,
}

impl InForce {
    /// Decodes the payload of `TCA_OPTIONS`; `None` if it lacks something that every netem with a seed has.
    pub fn read(options: &[u8]) -> Option<Self> {
        let attributes = options.get(24..)?;
        let word =
            |kind, place: usize| attribute(attributes, kind).and_then(|value| u32_at(value, 4 * place)).unwrap_or(0);
        let number = |kind| u64_at(attribute(attributes, kind)?, 0);
        let basic = |place: usize| u32_at(options, 4 * place);
        let model = attribute(attributes, TCA_NETEM_LOSS).and_then(|nest| attribute(nest, NETEM_LOSS_GE));
        let loss = match (model, basic(2)?) {
            (Some(model), _) => Loss::Gemodel {
                p: ratio(u32_at(model, 0)?),
                r: ratio(u32_at(model, 4)?),
                loss_bad: ratio(u32::MAX - u32_at(model, 8)?),
                loss_good: ratio(u32_at(model, 12)?),
            },
            (None, 0) => Loss::None {},
            (None, share) => Loss::Random { ratio: ratio(share), correlation: ratio(word(TCA_NETEM_CORR, 1)) },
        };
        let rate_byte_s = rate_byte_s(options);
        Some(Self {
            delay_ns: number(TCA_NETEM_LATENCY64)?,
            jitter_ns: number(TCA_NETEM_JITTER64)?,
            jitter_correlation: ratio(word(TCA_NETEM_CORR, 0)),
            loss,
            rate_byte_s: rate_byte_s.filter(|rate| *rate != ORDERING_BYTE_S),
            in_order: rate_byte_s == Some(ORDERING_BYTE_S),
            limit_packets: basic(1)?,
            reorder: Reorder {
                ratio: ratio(word(TCA_NETEM_REORDER, 0)),
                correlation: ratio(word(TCA_NETEM_REORDER, 1)),
                gap: basic(3)?,
            },
            duplicate_ratio: ratio(basic(4)?),
            corrupt_ratio: ratio(word(TCA_NETEM_CORRUPT, 0)),
            seed: number(TCA_NETEM_PRNG_SEED)?,
        })
    }
}

/// Returns the rate of a netem in bytes per second, from its options (`TCA_OPTIONS`); `None` if it enforces none.
pub(crate) fn rate_byte_s(options: &[u8]) -> Option<u64> {
    let attributes = options.get(24..)?;
    let wide = attribute(attributes, TCA_NETEM_RATE64).and_then(|wide| u64_at(wide, 0));
    let narrow = || u32_at(attribute(attributes, TCA_NETEM_RATE)?, 0).map(u64::from).filter(|rate| *rate > 0);
    wide.or_else(narrow)
}

/// Returns a `struct tc_netem_qopt`: latency, limit, loss, gap, duplicate, jitter. Latency and jitter are 0 here;
/// 64-bit attributes have them instead.
fn basics(impairments: &Impairments) -> [u32; 6] {
    let loss = match impairments.loss {
        Loss::Random { ratio, .. } => share(ratio),
        Loss::None {} | Loss::Gemodel { .. } | Loss::Every { .. } | Loss::Packets { .. } => 0,
    };
    let gap = if impairments.reorder.ratio > 0.0 { impairments.reorder.gap.max(1) } else { 0 };
    [0, impairments.limit_packets, loss, gap, share(impairments.duplicate_ratio), 0]
}

/// Adds delay and jitter. On a link with repairs, the jitter is the unit of the table of repairs.
fn delays(options: Attributes, impairments: &Impairments) -> Attributes {
    let repair_ns = if impairments.longest_repair_ns() > 0 { impairments.link_repair_ns } else { 0 };
    let jitter_ns = impairments.jitter_ns.max(repair_ns);
    options.put_u64(TCA_NETEM_LATENCY64, impairments.delay_ns).put_u64(TCA_NETEM_JITTER64, jitter_ns)
}

fn reordering(options: Attributes, impairments: &Impairments) -> Attributes {
    if impairments.reorder.ratio == 0.0 {
        return options;
    }
    let reorder = [share(impairments.reorder.ratio), share(impairments.reorder.correlation)];
    options.put(TCA_NETEM_REORDER, &words(&reorder))
}

/// Adds the losses that `struct tc_netem_qopt` has no fields for.
fn losses(options: Attributes, impairments: &Impairments) -> Attributes {
    let Loss::Gemodel { p, r, loss_bad, loss_good } = impairments.loss else { return options };
    // struct tc_netem_gemodel: p, r, h, 1-k.
    let model = words(&[share(p), share(r), share(1.0 - loss_bad), share(loss_good)]);
    options.nest(TCA_NETEM_LOSS, Attributes::new().put(NETEM_LOSS_GE, &model))
}

/// Adds a rate: a `struct tc_netem_rate` without packet overhead and cells, and a 64-bit attribute where 32 bits are
/// too few. The kernel uses the larger of the two.
fn put_rate(options: Attributes, rate_byte_s: u64) -> Attributes {
    let narrow = u32::try_from(rate_byte_s).unwrap_or(u32::MAX);
    let options = options.put(TCA_NETEM_RATE, &words(&[narrow, 0, 0, 0]));
    if rate_byte_s > u64::from(narrow) { options.put_u64(TCA_NETEM_RATE64, rate_byte_s) } else { options }
}

/// Returns a probability in netem's unit: 0 is never, 2³² − 1 is always.
fn share(ratio: f64) -> u32 {
    (ratio * f64::from(u32::MAX)).round() as u32
}

/// Returns the probability of a number in netem's unit (the inverse of [`share`]), rounded to nine decimal places,
/// which is netem's precision.
fn ratio(share: u32) -> f64 {
    (f64::from(share) / f64::from(u32::MAX) * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::Reorder;

    use super::*;
    use crate::netlink::message::attribute;
    use crate::topology;

    fn plain() -> Impairments {
        Impairments {
            delay_ns: 50_000_000,
            loss: Loss::Random { ratio: 0.05, correlation: 0.0 },
            rate_bit_s: Some(50_000_000),
            limit_packets: 626,
            seed: 0x0102_0304_0506_0708,
            ..Impairments::nothing()
        }
    }

    /// The expected bytes were written by hand from the structures of `pkt_sched.h`, little endian.
    #[test]
    fn a_lossy_bottleneck_byte_by_byte() {
        let expected = "00000000 72020000 cdcccc0c 00000000 00000000 00000000 \
                        0c000a00 80f0fa02 00000000 0c000b00 00000000 00000000 \
                        0c000e00 08070605 04030201 \
                        14000600 105e5f00 00000000 00000000 00000000";
        assert_eq!(hex::encode(options(&plain()).bytes()), expected.replace(' ', ""));
    }

    #[test]
    fn every_impairment_of_the_golden_job_reaches_netem() {
        let job = golden::job("bulk-tcp-impaired");
        let built = options(&job.paths[0].down);
        let attributes = &built.bytes()[24..];
        let read = |kind| attribute(attributes, kind);
        assert_eq!(built.bytes()[..24], words(&[0, 100_000, 0, 5, 42_949_673, 0]));
        assert_eq!(read(TCA_NETEM_JITTER64), Some(&5_000_000_u64.to_ne_bytes()[..]));
        assert_eq!(read(TCA_NETEM_CORR), Some(&words(&[0x4000_0000, 0, 0])[..]));
        assert_eq!(read(TCA_NETEM_REORDER), Some(&words(&[0x4000_0000, 0x8000_0000])[..]));
        assert_eq!(read(TCA_NETEM_CORRUPT), Some(&words(&[4_294_967, 0])[..]));
        assert_eq!(read(TCA_NETEM_DELAY_DIST).map(<[u8]>::len), Some(8192));
        assert_eq!(read(TCA_NETEM_RATE), None);
        let model = read(TCA_NETEM_LOSS).and_then(|nest| attribute(nest, NETEM_LOSS_GE));
        assert_eq!(model, Some(&words(&[42_949_673, 1_288_490_189, 0, 0])[..]));
    }

    #[test]
    fn an_outage_and_its_end_name_nothing_that_would_start_afresh() {
        let job = golden::job("bulk-tcp-impaired");
        let impairments = &job.paths[0].down;
        for built in [outage(impairments), restore(impairments)] {
            for kept in [TCA_NETEM_PRNG_SEED, TCA_NETEM_DELAY_DIST, TCA_NETEM_CORR, TCA_NETEM_RATE] {
                assert_eq!(attribute(&built.bytes()[24..], kept), None);
            }
        }
        let (limit, loss, duplicate) = (100_000, u32::MAX, 0);
        assert_eq!(outage(impairments).bytes()[..24], words(&[0, limit, loss, 0, duplicate, 0]));
        assert_eq!(restore(impairments).bytes()[..24], options(impairments).bytes()[..24]);
        for given in [TCA_NETEM_LOSS, TCA_NETEM_REORDER, TCA_NETEM_LATENCY64, TCA_NETEM_JITTER64] {
            let read = |built: &Attributes| attribute(&built.bytes()[24..], given).map(<[u8]>::to_vec);
            assert_eq!(read(&restore(impairments)), read(&options(impairments)), "attribute {given}");
        }
    }

    #[test]
    fn rates_beyond_32_bits_travel_in_64() {
        let fast = Impairments { rate_bit_s: Some(100_000_000_000), ..plain() };
        let built = options(&fast);
        let attributes = &built.bytes()[24..];
        assert_eq!(attribute(attributes, TCA_NETEM_RATE), Some(&words(&[u32::MAX, 0, 0, 0])[..]));
        assert_eq!(attribute(attributes, TCA_NETEM_RATE64), Some(&12_500_000_000_u64.to_ne_bytes()[..]));
    }

    #[test]
    fn a_rate_that_a_token_bucket_keeps_is_not_netems() {
        let changing = Impairments { shaper_queue_bytes: Some(1), ..plain() };
        let reordered = Impairments { reorder: Reorder { ratio: 0.1, correlation: 0.0, gap: 1 }, ..plain() };
        for shaped in [changing, reordered] {
            assert!(topology::shaper(&shaped, 1500).is_some());
            assert_eq!(attribute(&options(&shaped).bytes()[24..], TCA_NETEM_RATE), None);
        }
        assert!(topology::shaper(&plain(), 1500).is_none());
    }

    #[test]
    fn a_queue_behind_the_delay_line_has_the_rate_and_its_own_limit() {
        let queued = Impairments { queue_packets: Some(21), limit_packets: 1_000_000, ..plain() };
        let delays = InForce::read(options(&queued).bytes()).unwrap();
        assert_eq!((delays.rate_byte_s, delays.limit_packets, delays.delay_ns), (None, 1_000_000, 50_000_000));
        assert_eq!(queue(&queued).unwrap().bytes()[..8], words(&[0, 22]));
        assert_eq!(rate_byte_s(queue(&queued).unwrap().bytes()), Some(6_250_000));
        assert_eq!(queue(&plain()), None);
    }

    #[test]
    fn options_read_back_are_those_that_were_asked_for() {
        let reorder = Reorder { ratio: 0.25, correlation: 0.5, gap: 5 };
        let asked = Impairments { jitter_ns: 7, duplicate_ratio: 0.01, corrupt_ratio: 0.001, ..plain() };
        for loss in [
            Loss::None {},
            Loss::Random { ratio: 0.05, correlation: 0.25 },
            Loss::Gemodel { p: 0.01, r: 0.3, loss_bad: 0.9, loss_good: 0.02 },
        ] {
            for (reorder, rate_byte_s) in [(plain().reorder, Some(6_250_000)), (reorder.clone(), None)] {
                let asked = Impairments { loss: loss.clone(), reorder: reorder.clone(), ..asked.clone() };
                let expected = InForce {
                    delay_ns: 50_000_000,
                    jitter_ns: 7,
                    jitter_correlation: 0.0,
                    loss: loss.clone(),
                    rate_byte_s,
                    limit_packets: 626,
                    reorder,
                    duplicate_ratio: 0.01,
                    corrupt_ratio: 0.001,
                    seed: asked.seed,
                    in_order: false,
                };
                assert_eq!(InForce::read(options(&asked).bytes()), Some(expected));
            }
        }
    }

    #[test]
    fn order_is_a_rate_at_which_no_packet_takes_time_and_is_read_back_as_order() {
        let asked = Impairments { jitter_ns: 7, in_order: true, rate_bit_s: None, ..plain() };
        let found = InForce::read(options(&asked).bytes()).unwrap();
        assert_eq!((found.in_order, found.rate_byte_s), (true, None));
        assert_eq!(9014 * 1_000_000_000 / ORDERING_BYTE_S, 0);
        let rated = InForce::read(options(&Impairments { in_order: true, ..plain() }).bytes()).unwrap();
        assert_eq!((rated.in_order, rated.rate_byte_s), (false, Some(6_250_000)));
    }

    /// The expected bytes were written by hand from `struct tc_netem_slot`, little endian.
    #[test]
    fn a_collection_of_a_millisecond_byte_by_byte() {
        let expected = "00000000 80969800 00000000 00000000 00000000 00000000 \
                        2c000c00 40420f0000000000 40420f0000000000 00000000 00000000 0000000000000000 0000000000000000";
        assert_eq!(hex::encode(collection(1_000_000).bytes()), expected.replace(' ', ""));
    }

    #[test]
    fn nothing_asks_for_nothing() {
        assert!(!Impairments::nothing().impairs());
    }

    #[test]
    fn a_share_of_one_is_always() {
        assert_eq!([share(0.0), share(0.5), share(1.0)], [0, 0x8000_0000, u32::MAX]);
    }
}
