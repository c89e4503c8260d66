//! Programs of others, contained: their files, processes, output and readiness; and the enclosure of a guest's kernel.

pub mod coarse_clocks;
pub mod confine;
mod devices;
mod enclosure;
pub mod files_of;
pub mod guest_memory;
mod host_layers;
mod mounts;
pub mod on_host;
mod output;
pub mod privileges;
pub mod process;
pub mod readiness;
pub mod reaper;
pub mod root;
pub mod written;
