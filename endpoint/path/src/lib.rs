//! The path between the hosts of a run: planned ([`topology`]), built ([`network`]), changed ([`timeline`]), measured.
//!
//! This crate is above the transports, because a job's transports determine settings of their hosts' kernels.
//!
//! **Invariants:** only [`netns`] enters namespaces, and only [`netlink`] sends netlink messages.

mod asking;
pub mod calibration;
pub mod capacity;
pub mod capture;
mod count;
mod distribution;
pub mod impaired_ingress;
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
