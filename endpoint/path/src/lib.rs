//! The path between the hosts of a run: what is to be built for a job ([`topology`]), what builds it ([`network`]),
//! what changes it at exact times ([`timeline`]), and what measures and captures its packets.
//!
//! It stands above the transports, because a job's transports say what their hosts' kernels must be told.
//!
//! **Invariants:** only [`netns`] enters namespaces, and only [`netlink`] speaks netlink.

pub mod calibration;
pub mod capture;
mod distribution;
pub mod netem;
pub mod netlink;
pub mod netns;
pub mod network;
pub mod probe;
mod queue_waker;
mod router_counters;
pub mod timeline;
pub mod topology;
pub mod userns;
