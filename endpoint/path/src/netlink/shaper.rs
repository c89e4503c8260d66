//! rtnetlink requests for the shaper of a bottleneck, which determines when the transmission of each packet starts.
//! Pure.
//!
//! `sch_htb` with a very small burst lets a packet pass when the previous one has been transmitted, whatever their
//! sizes, and at once on an idle link. Its child is a token bucket, which holds the queue or has a queueing discipline
//! as its child. The bucket does not limit the rate, but passes nothing while the rate is 0. Then a netem delays each
//! packet by its transmission time ([`crate::netem::transmission`]).
//!
//! Structures and numbers are those of `include/uapi/linux/pkt_sched.h`.

use super::message::{Attributes, Request, attribute, u32_at, u64_at, words};
use super::qdisc::{NETEM, SHAPER, add, ask, change, structure};
use crate::netem;
use crate::topology::Shaper;

/// The handle of the `htb` that enforces the rate, `6:`. Its only class is `6:1`.
const PACER: u32 = 0x0006_0000;
const PACER_CLASS: u32 = PACER + 1;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const HTB_VERSION: u32 = 3;
/// How early the shaper may let a packet start, in ticks: 2 µs. Otherwise the lateness of timers, one or two readings
/// of the clock, would add up from packet to packet. A packet that starts early waits until the previous transmission
/// has ended.
const EARLY_TICKS: u32 = 32;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u32 = 1;
/// The time in which a closed token bucket fills, in seconds. The kernel limits the bucket's size to 2³² ns
/// (`tbf_change`).
const CLOSED_FILL_S: u32 = 4;
/// The length of a tick, the kernel's unit of times in these options, in nanoseconds.
const TICK_NS: u64 = 64;
/// The rate of an open token bucket, in bytes per second: a full-size packet passes in less than a nanosecond.
const OPEN_BYTE_S: u64 = 1 << 43;

/// Returns the requests that add a shaper to the link `index`, as a child of the qdisc `parent`: an `htb` with one
/// class, and a token bucket (`tbf`) as the child of this class.
pub(super) fn add_shaper(index: u32, parent: u32, shaper: &Shaper) -> Vec<Request> {
    // struct tc_htb_glob: version, rate2quantum, default class, debug, packets sent past all classes.
    let options = Attributes::new().put(TCA_HTB_INIT, &words(&[HTB_VERSION, 10, PACER_CLASS & 0xffff, 0, 0]));
    vec![
        add(format!("put htb on link {index}"), index, PACER, parent, "htb", &options),
        class(index, libc::NLM_F_CREATE, shaper),
        add(format!("put tbf on link {index}"), index, SHAPER, PACER_CLASS, "tbf", &bucket(shaper)),
    ]
}

/// Returns the requests that change the rate at which packets leave the queue of the link `queue`. Waiting packets
/// stay, and a packet that is being transmitted continues at the old rate.
///
/// A rate of 0 stops the queue. After a change the kernel checks the queue only when it had planned to, so the queue
/// must be woken up ([`super::bottleneck::add_shaped_netem`]).
pub(crate) fn change_shaper(queue: u32, shaper: &Shaper) -> Vec<Request> {
    let gate = change(format!("open or close the queue of link {queue}"), queue, SHAPER, "tbf", &bucket(shaper));
    if shaper.rate_bit_s == 0 { vec![gate] } else { vec![class(queue, 0, shaper), gate] }
}

/// Returns the request that changes the rate at which a link transmits packets from now on; `None` for a rate of 0, at
/// which the shaper lets no packet through.
pub(crate) fn change_transmission(index: u32, shaper: &Shaper) -> Option<Request> {
    let options = || netem::transmission(shaper.transmission_bit_s());
    let attempt = || format!("change the rate of link {index}");
    (shaper.rate_bit_s > 0).then(|| change(attempt(), index, NETEM, "netem", &options()))
}

/// Returns the request that reads the class that limits a link's rate.
pub fn ask_rate(index: u32) -> Request {
    let structure = structure(index, PACER_CLASS, PACER);
    let attempt = format!("read back the rate of link {index}");
    // As for qdiscs, the kernel answers only if it is asked for the echo ([`ask`]).
    Request::new(attempt, libc::RTM_GETTCLASS, libc::NLM_F_ECHO, &structure, &Attributes::new())
}

/// Returns the rate of a class, in bytes per second, from its options (`TCA_OPTIONS`).
pub fn rate_byte_s(options: &[u8]) -> Option<u64> {
    let wide = attribute(options, TCA_HTB_RATE64).and_then(|wide| u64_at(wide, 0));
    wide.or_else(|| u32_at(attribute(options, TCA_HTB_PARMS)?, 8).map(u64::from))
}

/// Returns the request that reads the token bucket of a link, with the counters of its queue.
pub(crate) fn ask_bucket(index: u32) -> Request {
    ask(format!("read back the token bucket of link {index}"), index, SHAPER)
}

/// Returns the request that creates or changes the class that limits the rate. `struct tc_htb_opt`: two `struct
/// tc_ratespec`, buffer and cbuffer (bursts in ticks), quantum, level, priority.
fn class(index: u32, flags: i32, shaper: &Shaper) -> Request {
    let rate_byte_s = (shaper.rate_bit_s / 8).max(1);
    let rate = ratespec(rate_byte_s, 0);
    let burst = burst_ticks(shaper.burst_bytes, rate_byte_s);
    let parameters = words(&[&rate[..], &rate, &[burst, burst, shaper.frame_bytes, 0, 0]].concat());
    let options = Attributes::new().put(TCA_HTB_PARMS, &parameters);
    let options = if rate_byte_s > u64::from(u32::MAX) {
        options.put_u64(TCA_HTB_RATE64, rate_byte_s).put_u64(TCA_HTB_CEIL64, rate_byte_s)
    } else {
        options
    };
    Request::new(
        format!("set the rate of link {index} (htb)"),
        libc::RTM_NEWTCLASS,
        flags,
        &structure(index, PACER_CLASS, PACER),
        &Attributes::new().put_string(libc::TCA_KIND, "htb").nest(libc::TCA_OPTIONS, options),
    )
}

/// Returns the size of `htb`'s bucket as the kernel wants it: the time in which `burst_bytes` arrive at the rate, in
/// ticks, and at least [`EARLY_TICKS`].
fn burst_ticks(burst_bytes: u32, rate_byte_s: u64) -> u32 {
    let fill_ns = u64::from(burst_bytes).saturating_mul(1_000_000_000) / rate_byte_s;
    u32::try_from(fill_ns / TICK_NS).unwrap_or(u32::MAX).max(EARLY_TICKS)
}

/// Returns the options of the token bucket, which lets every packet pass, or none while the rate is 0.
///
/// They are a `struct tc_tbf_qopt`: two `struct tc_ratespec`, limit, buffer and mtu. A closed bucket holds a full-size
/// frame, but each frame costs as much as the largest `mpu` (`psched_l2t_ns`).
fn bucket(shaper: &Shaper) -> Attributes {
    let closed_byte_s = shaper.frame_bytes.div_ceil(CLOSED_FILL_S);
    let (rate, buffer) = if shaper.rate_bit_s == 0 {
        let fill_ns = u64::from(shaper.frame_bytes) * 1_000_000_000 / u64::from(closed_byte_s);
        (ratespec(closed_byte_s.into(), u16::MAX), (fill_ns / TICK_NS + 2) as u32)
    } else {
        (ratespec(OPEN_BYTE_S, 0), 0)
    };
    // The kernel applies this limit to any FIFO that is the bucket's child (`fifo_set_limit`).
    let limit = shaper.queue_packets.unwrap_or(shaper.queue_bytes);
    let parameters = words(&[&rate[..], &[0, 0, 0, limit, buffer, 0]].concat());
    let options = Attributes::new().put(TCA_TBF_PARMS, &parameters);
    if shaper.rate_bit_s == 0 {
        options
    } else {
        options.put_u32(TCA_TBF_BURST, shaper.frame_bytes).put_u64(TCA_TBF_RATE64, OPEN_BYTE_S)
    }
}

/// Returns a `struct tc_ratespec`: cell_log, linklayer and overhead; cell_align and mpu; rate.
fn ratespec(rate_byte_s: u64, mpu: u16) -> [u32; 3] {
    let link_layer = u32::from_le_bytes([0, TC_LINKLAYER_ETHERNET as u8, 0, 0]).to_le();
    [link_layer, u32::from(mpu) << 16, u32::try_from(rate_byte_s).unwrap_or(u32::MAX)]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::topology::Place;

    pub(in crate::netlink) const SLOW: Shaper = Shaper {
        rate_bit_s: 12_000_000,
        frame_bytes: 1514,
        queue_bytes: 150_000,
        queue_packets: None,
        place: Place::BehindNetem,
        burst_bytes: 0,
    };

    /// The expected bytes were written by hand from `rtnetlink.h` and `pkt_sched.h`, little endian.
    #[test]
    fn a_change_of_rate_byte_by_byte() {
        let header = "60000000 2800 0500 01000000 00000000";
        let structure = "00000000 0b000000 01000600 00000600 00000000";
        let rate = "00010000 00000000 60e31600";
        let options = ["34000280 30000100", rate, rate, "20000000 20000000 ea050000 00000000 00000000"].concat();
        let expected = [header, structure, "08000100 68746200", &options].concat().replace(' ', "");
        assert_eq!(change_shaper(11, &SLOW)[0].hex(), expected);
    }

    #[test]
    fn a_rate_of_nothing_closes_the_bucket_and_leaves_the_rate() {
        let closed = change_shaper(11, &Shaper { rate_bit_s: 0, ..SLOW });
        assert_eq!(closed.len(), 1);
        assert_eq!(change_transmission(12, &Shaper { rate_bit_s: 0, ..SLOW }), None);
        for frame_bytes in [590, 1514, 9014, 65_533] {
            let options = bucket(&Shaper { rate_bit_s: 0, frame_bytes, ..SLOW });
            let parameters = attribute(options.bytes(), TCA_TBF_PARMS).expect("there are parameters");
            let word = |place: usize| u64::from(u32_at(parameters, 4 * place).expect("it is there"));
            let (mpu, rate_byte_s, buffer_ns) = (word(1) >> 16, word(2), word(7) * TICK_NS);
            // psched_ns_t2l: the largest frame that is accepted; psched_l2t_ns: the cost of the smallest one.
            assert!(buffer_ns * rate_byte_s / 1_000_000_000 >= u64::from(frame_bytes), "{frame_bytes}");
            assert!(mpu * 1_000_000_000 / rate_byte_s > buffer_ns, "{frame_bytes}");
            assert!(buffer_ns < 1 << 32, "{frame_bytes}");
        }
    }

    #[test]
    fn fast_rates_travel_in_64_bits() {
        let rate = |rate_bit_s| {
            let message = class(11, 0, &Shaper { rate_bit_s, ..SLOW }).message();
            rate_byte_s(attribute(&message[36..], libc::TCA_OPTIONS).expect("there are options"))
        };
        assert_eq!(rate(12_000_000), Some(1_500_000));
        assert_eq!(rate(100_000_000_000), Some(12_500_000_000));
    }
}
