//! Where a run is carried out: in a guest, on this host's own kernel, or between this host and another one.

pub(crate) mod guest;
mod namespaces;
pub(crate) mod native;
pub(crate) mod remote;
mod role_process;
