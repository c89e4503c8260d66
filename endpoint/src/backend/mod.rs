//! The machines that carry out a run: a guest, this host's own kernel, or this host and another one.

pub(crate) mod guest;
mod namespaces;
pub(crate) mod native;
pub(crate) mod remote;
mod role_process;
