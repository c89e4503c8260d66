//! Programs that are not netwarp's, and what holds them: the file system and the processes that they see, their output,
//! when servers among them are ready; and the enclosure in which a guest's kernel runs.

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
