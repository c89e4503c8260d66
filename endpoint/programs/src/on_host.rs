//! Installed programs on the host's own kernel. Their processes and files end with the run, for every user.
//!
//! They run as root of a user namespace, so they can do nothing to the host that its user could not do. Landlock keeps
//! them from writing to files that are not covered by a layer ([`super::host_layers`]).

use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use netwarp_path::netns::{unshare_mounts_and_messages, unshare_processes};
use netwarp_path::userns;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use super::files_of::FilesOf;
use super::host_layers::HostFiles;
use super::privileges::leave_session_keys;
use super::root::{self, Base};

/// The network namespace in which programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkOf {
    /// A new namespace, only for the run.
    Run,
    /// The machine's namespace, over which programs have no privileges.
    Machine,
}

/// Calls `run` in a child process that is root in a new user namespace and the first process of a new PID namespace. In
/// the child, returns what `run` returns; in the caller, whether the child succeeded. When the child ends, for whatever
/// reason, the kernel ends every process that it has started. Otherwise programs could outlive their roles, as children
/// of the process that started the run. The child has a new session keyring ([`crate::process::Hold`] keeps programs
/// from the keys themselves). The caller must have one thread.
///
/// # Errors
/// The host forbids it.
pub fn apart(network: NetworkOf, run: impl FnOnce() -> ExitCode) -> Result<ExitCode> {
    match network {
        NetworkOf::Run => userns::enter_private_userns()?,
        NetworkOf::Machine => userns::enter_userns()?,
    }
    unshare_processes()?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }.context("start the first process of the run (fork)")? {
        ForkResult::Child => {
            set_pdeathsig(Signal::SIGKILL).context("ask to die with the run (prctl PR_SET_PDEATHSIG)")?;
            leave_session_keys()?;
            Ok(run())
        }
        ForkResult::Parent { child } => {
            let ended = waitpid(child, None).context("wait for the run's first process")?;
            let is_success = matches!(ended, WaitStatus::Exited(_, 0));
            Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Builds the file systems that programs see. Programs can write `written_bytes` to all of them together.
///
/// # Arguments
/// * `in_sight` - files and directories of the machine that must stay visible to the caller.
pub fn lay_files(
    all: &[FilesOf<'_>],
    written_bytes: u64,
    working_directory: &Path,
    in_sight: &[&Path],
    hosts: &[(&str, IpAddr)],
) -> Result<()> {
    unshare_mounts_and_messages()?;
    let machine = HostFiles::now()?;
    root::mount_memory(written_bytes)?;
    in_sight.iter().try_for_each(|file| machine.reveal(file))?;
    let base = Base::Host(machine);
    all.iter().try_for_each(|files| root::build(*files, &base, working_directory, hosts))
}
