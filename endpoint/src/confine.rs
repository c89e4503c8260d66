//! Runs a program that can write to some directories and nowhere else, whichever user it runs as. Landlock
//! (landlock(7)) enforces this and needs no privilege.
//!
//! The guest's root file system is the host's, mounted read-only in the guest. Root in the guest could remount it; then
//! only the host refuses the writes.

use std::ffi::OsString;
use std::os::fd::IntoRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};

use crate::guest_memory;

/// The accesses that are refused: creating, removing, renaming, writing and truncating (Linux 6.2), as far as the
/// kernel supports them.
const ACCESS: ABI = ABI::V3;

/// What error messages say was attempted.
const ATTEMPT: &str = "restrict what can be written (Landlock)";

/// Replaces this process by `program`. Returns only if that fails.
///
/// # Arguments
/// * `writable` - directories that it can write to, and all below them.
/// * `must` - fail if the kernel has no Landlock, rather than go on without.
/// * `huge_pages` - give it a directory for temporary files (`TMPDIR`) of its own, which it can write to as well, in
///   memory with huge pages; where the host refuses, `TMPDIR` stays unchanged.
pub(crate) fn run(mut writable: Vec<PathBuf>, must: bool, huge_pages: bool, program: &[OsString]) -> ExitCode {
    let memory = huge_pages.then(guest_memory::file_system).and_then(Result::ok);
    let directory = memory.map(|memory| PathBuf::from(format!("/proc/self/fd/{}", memory.into_raw_fd())));
    writable.extend(directory.clone());
    let error = confine(&writable, must).map_or_else(|error| error, |()| start(program, directory.as_deref()));
    eprintln!("netwarp-endpoint: {error:#}");
    ExitCode::FAILURE
}

fn confine(writable: &[PathBuf], must: bool) -> Result<()> {
    if let Some(missing) = writable.iter().find(|directory| !directory.is_dir()) {
        bail!("{} is no directory", missing.display());
    }
    let level = if must { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
    let status = restriction(writable, level)?.restrict_self().context(ATTEMPT)?;
    if must && status.ruleset != RulesetStatus::FullyEnforced {
        bail!("this kernel cannot restrict what is written to: it needs Landlock (Linux 6.2 and later)");
    }
    Ok(())
}

/// Returns a ruleset that restricts a process, and all it starts, to writing below these directories. The process
/// applies it to itself.
///
/// # Errors
/// The kernel has no Landlock, and `level` requires it.
pub(crate) fn restriction(writable: &[PathBuf], level: CompatLevel) -> Result<RulesetCreated> {
    Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_write(ACCESS))
        .and_then(Ruleset::create)
        .map(|created| created.set_compatibility(CompatLevel::BestEffort))
        .and_then(|created| created.add_rules(path_beneath_rules(writable, AccessFs::from_write(ACCESS))))
        .context(ATTEMPT)
}

/// Returns a ruleset for a process, and all it starts, that runs on another host's orders: it reads below one
/// directory, writes below some, and reaches no process of the machine by abstract sockets (Linux 6.12) or by signals.
///
/// # Errors
/// The kernel's Landlock does not support all of it.
pub(crate) fn containment(readable: &Path, writable: &[PathBuf]) -> Result<RulesetCreated> {
    const ALL: ABI = ABI::V6;
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ALL))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ALL)))
        .and_then(Ruleset::create)
        .and_then(|created| created.add_rules(path_beneath_rules([readable], AccessFs::from_read(ALL))))
        .and_then(|created| created.add_rules(path_beneath_rules(writable, AccessFs::from_all(ALL))))
        .context("restrict what is read and written, and which sockets are reached (Landlock of Linux 6.12)")
}

/// Starts the program in this process's place; returns only the reason why that failed.
fn start(program: &[OsString], temporary: Option<&Path>) -> Error {
    let Some((program, arguments)) = program.split_first() else { return anyhow!("no program is named") };
    let error = Command::new(program).args(arguments).envs(temporary.map(|directory| ("TMPDIR", directory))).exec();
    Error::from(error).context(format!("start {}", program.to_string_lossy()))
}
