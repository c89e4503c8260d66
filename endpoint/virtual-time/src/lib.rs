//! An event loop over UDP sockets in virtual time, for programs that run in a guest: a clock that is read once at each
//! wake-up ([`held_clock`]), and a wait that sends, receives and returns the time in one system call ([`Ring`]).
//!
//! In a guest a system call costs as much as the rest of a packet. A program that uses this crate must have the linker
//! redirect its calls of `clock_gettime` here (`-Wl,--wrap=clock_gettime`, in its `build.rs`).

pub mod held_clock;
mod ring;

pub use quinn_udp as udp;

pub use self::ring::{Arrival, Copied, Event, Ring, Waited};
