//! Programs that are not part of netwarp: the file system and the processes they see, their output, and when servers
//! are ready.

pub(crate) mod coarse_clocks;
mod devices;
pub(crate) mod host_layers;
pub(crate) mod on_host;
pub(crate) mod output;
pub(crate) mod process;
pub(crate) mod readiness;
pub(crate) mod reaper;
pub(crate) mod root;
pub(crate) mod written;
