//! The timeline of a job: the events of the paths during the run.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Direction;

/// The events of the paths during a run.
///
/// If changes are due at the same time, events are applied first, then redraws, then traces, each in the order given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Timeline {
    /// Single events, in order of time.
    pub events: Vec<Event>,
    /// Delays that change at random, periodically.
    pub redraws: Vec<Redraw>,
    /// Rates that follow a trace.
    pub traces: Vec<Trace>,
}

/// A change of a path at a given time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Event {
    /// When the event occurs, in nanoseconds after the run's epoch.
    pub at_ns: u64,
    /// Index of the path.
    pub path: u32,
    /// The change that the event makes.
    pub change: Change,
}

/// A change of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Change {
    /// Both directions drop every packet from now on; neither host is notified.
    Outage {},
    /// Both directions are restored to their state before the outage.
    Restore {},
    /// From now on, packets that arrive are delayed by these times.
    ///
    /// They may be reordered if no rate keeps them in order.
    Delay {
        /// One-way delay from server to client.
        down_ns: u64,
        /// One-way delay from client to server.
        up_ns: u64,
    },
    /// The shaper of a direction changes its rate. It applies to packets whose transmission begins from now on.
    Rate {
        /// The direction whose rate changes.
        direction: Direction,
        /// The rate from now on; at 0 nothing is sent.
        rate_bit_s: u64,
    },
    /// The client gets its address on this path, prefers it from now on, and is notified.
    Attach {},
    /// The client loses its address on this path, and the path drops every packet that comes to it: those on their way
    /// still arrive.
    Detach {},
}

/// Periodic random changes of a path's delay, drawn from a normal distribution that is cut at 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Redraw {
    /// Index of the path.
    pub path: u32,
    /// Time between draws; the first is made at the run's epoch.
    pub period_ns: u64,
    /// Mean of the round-trip time, half of which goes to each direction.
    pub mean_ns: u64,
    /// Standard deviation of the round-trip time.
    pub deviation_ns: u64,
    /// Seed of the draws.
    pub seed: u64,
}

/// A trace that the rate of one direction of a path follows, and that repeats when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Trace {
    /// Index of the path.
    pub path: u32,
    /// The direction whose rate follows the trace.
    pub direction: Direction,
    /// How long each rate is in force.
    pub step_ns: u64,
    /// The rates from the run's epoch on, one for each step; at 0 nothing is sent.
    pub rates_bit_s: Vec<u64>,
}
