//! The common part of transports, paths and workloads: the clock and its timers, arrivals, flows, and a role's pipes.
//!
//! **Invariant:** a process whose clock is held blocks only in `epoll_wait`, which the linker redirects to [`clock`].

pub mod addresses;
pub mod arrival_log;
pub mod clock;
pub mod connection_gauges;
pub mod connection_sample;
pub mod content_sink;
pub mod deadline;
pub mod flow;
pub mod heap;
pub mod message_pipe;
pub mod orchestrator;
pub mod timers;
pub mod usage;
