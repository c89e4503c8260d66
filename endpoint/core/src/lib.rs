//! What transports, paths and workloads have in common: the clock and what waits by it, what has arrived, flows, and
//! the pipes between a role and its orchestrator.
//!
//! **Invariant:** a process whose clock is held blocks in `epoll_wait` alone, which the linker redirects to [`clock`].

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
