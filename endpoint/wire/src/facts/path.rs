//! Properties of a path and of its directions.

use crate::job::{Direction, Distribution, Impairments, Loss, Path, Reorder};

/// The most times that a link retransmits a packet. netem's tables have room for a deviation of three times their unit,
/// and LTE's hybrid ARQ usually gives up after the same number (maxHARQ-Tx, 3GPP TS 36.331).
pub const MOST_REPAIRS: u32 = 3;

impl Impairments {
    /// Returns impairments that do nothing, with a queue of one packet.
    pub fn nothing() -> Self {
        Self {
            delay_ns: 0,
            jitter_ns: 0,
            jitter_correlation: 0.0,
            distribution: Distribution::Uniform,
            loss: Loss::None {},
            rate_bit_s: None,
            limit_packets: 1,
            shaper_queue_bytes: None,
            discipline: None,
            reorder: Reorder { ratio: 0.0, correlation: 0.0, gap: 0 },
            duplicate_ratio: 0.0,
            corrupt_ratio: 0.0,
            seed: 0,
            in_order: false,
            queue_packets: None,
            aggregate_ns: 0,
            link_loss_ratio: 0.0,
            link_repair_ns: 0,
            policer_bytes: None,
        }
    }

    /// Returns whether packets are impaired at all. Otherwise no netem is needed, and `limit_packets` has no effect.
    pub fn impairs(&self) -> bool {
        // There is no `..`, so that a new field does not compile until it is handled here.
        let Self {
            delay_ns,
            jitter_ns,
            loss,
            rate_bit_s,
            shaper_queue_bytes,
            reorder,
            duplicate_ratio,
            corrupt_ratio,
            jitter_correlation: _,
            distribution: _,
            limit_packets: _,
            discipline: _,
            seed: _,
            in_order: _,
            queue_packets: _,
            aggregate_ns,
            link_loss_ratio,
            link_repair_ns: _,
            policer_bytes: _,
        } = self;
        *delay_ns > 0
            || *jitter_ns > 0
            || *loss != Loss::None {}
            || rate_bit_s.is_some()
            || shaper_queue_bytes.is_some()
            || reorder.ratio > 0.0
            || *duplicate_ratio > 0.0
            || *corrupt_ratio > 0.0
            || *aggregate_ns > 0
            || *link_loss_ratio > 0.0
    }

    /// Returns whether the queue needs a netem on another device than the netem with the delay line: reordered packets
    /// bypass a netem behind another one, and kernels refuse one behind a netem that duplicates packets.
    pub fn queues_apart(&self) -> bool {
        self.queue_packets.is_some() && (self.reorder.ratio > 0.0 || self.duplicate_ratio > 0.0)
    }

    /// Returns the longest time by which the link's own retransmissions delay a packet, in nanoseconds.
    pub fn longest_repair_ns(&self) -> u64 {
        if self.link_loss_ratio > 0.0 { u64::from(MOST_REPAIRS) * self.link_repair_ns } else { 0 }
    }

    /// Returns the longest time that a packet spends in this direction's delay line, in nanoseconds: netem's tables of
    /// delays end at four deviations (16-bit values, 8192 for each deviation).
    pub fn longest_delay_ns(&self) -> u64 {
        self.delay_ns + 4 * self.jitter_ns + self.longest_repair_ns()
    }

    /// Returns the most bytes that wait in this direction's queue; 0 if its rate is unlimited.
    pub(super) fn queue_bytes(&self, mtu_bytes: u32) -> u64 {
        let held_bytes = u64::from(self.queue_packets.unwrap_or(self.limit_packets)) * u64::from(mtu_bytes);
        match (self.shaper_queue_bytes, self.rate_bit_s) {
            (Some(shaper_bytes), _) => shaper_bytes.into(),
            (None, Some(_)) => held_bytes,
            (None, None) => 0,
        }
    }
}

impl Path {
    /// Returns the impairments of a direction.
    pub fn toward(&self, direction: Direction) -> &Impairments {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    /// Returns both directions with their impairments.
    pub fn directions(&self) -> [(Direction, &Impairments); 2] {
        [(Direction::Down, &self.down), (Direction::Up, &self.up)]
    }
}
