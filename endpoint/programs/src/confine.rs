//! Runs a program that can write to some directories and nowhere else, whichever user it runs as. Landlock
//! (landlock(7)) enforces this and needs no privilege.
//!
//! The guest's root file system is the host's, mounted read-only in the guest. Root in the guest could remount it; then
//! only the host refuses the writes.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::IntoRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};

use crate::enclosure;
use crate::guest_memory::{Pages, file_system};
use crate::privileges::{LOW_PORTS, NETWORK, become_nobody};

/// The file accesses that are refused, as far as the kernel supports refusing them: creating, removing, renaming,
/// writing and truncating (Linux 6.2).
const ACCESS: ABI = ABI::V3;

/// The size limit of a guest's files, in bytes: many times the size of the largest records and captures.
const FILE_BYTES_AT_MOST: u64 = 64 << 30;

/// The limit on the private memory of each process of a guest's kernel, in bytes: twenty times what it needs. A guest's
/// own memory does not count: it is a file that all of these processes share.
const DATA_BYTES_AT_MOST: u64 = 64 << 20;

/// The attempted operation, as error messages name it.
const ATTEMPT: &str = "restrict what can be written (Landlock)";

/// How a program is confined.
#[derive(Debug, clap::Args)]
pub struct Confinement {
    /// A directory to which the program can write.
    #[arg(long)]
    writable: Vec<PathBuf>,
    /// Fail if the kernel cannot enforce this, instead of running the program without.
    #[arg(long)]
    must: bool,
    /// Give the program a TMPDIR of its own in memory, with room for this many bytes, and with huge pages if the host
    /// allows them. If it allows no such TMPDIR, the present one can be written to.
    #[arg(long, value_name = "BYTES")]
    own_memory: Option<u64>,
    /// Give the program namespaces of its own, in which everything but its writable directories is read-only, and limit
    /// its files to 64 GiB each, and the memory that each of its processes has for itself to 64 MiB.
    #[arg(long)]
    enclosed: bool,
    /// If this is root, run the program as nobody, with capabilities over the network only.
    #[arg(long)]
    as_nobody: bool,
    /// The program and its arguments.
    #[arg(required = true, last = true)]
    program: Vec<OsString>,
}

/// Replaces this process by a program, or waits for the program and ends with its status. If the host refuses new
/// namespaces or separate memory, the program runs without them, unless they are required.
pub fn run(confinement: &Confinement) -> ExitCode {
    let Err(error) = confine(confinement);
    eprintln!("netwarp-endpoint: {error:#}");
    ExitCode::FAILURE
}

fn confine(confinement: &Confinement) -> Result<Infallible> {
    let Confinement { writable, must, own_memory, enclosed, as_nobody, program } = confinement;
    // The file system is not mounted anywhere, so only its descriptor keeps it, also in other namespaces.
    let memory = |bytes| file_system(Pages::Huge, bytes).or_else(|_| file_system(Pages::Ordinary, bytes)).ok();
    let memory = own_memory.and_then(memory);
    let directory = memory.map(|memory| PathBuf::from(format!("/proc/self/fd/{}", memory.into_raw_fd())));
    let shared = (own_memory.is_some() && directory.is_none()).then(env::temp_dir);
    let writable: Vec<_> = writable.iter().chain(&shared).cloned().collect();
    if let Some(missing) = writable.iter().find(|directory| !directory.is_dir()) {
        bail!("{} is no directory", missing.display());
    }
    let all: Vec<_> = writable.iter().chain(&directory).cloned().collect();
    let become_program = || {
        if *enclosed && let Err(error) = bound_files(own_memory.unwrap_or(0)).and_then(|()| bound_data()) {
            return error;
        }
        let file = as_nobody.then(|| give_up_root(program)).transpose();
        let restricted = file.and_then(|file| restrict(&all, *must, *enclosed).map(|()| file));
        restricted.map_or_else(|error| error, |file| start(program, file, directory.as_deref()))
    };
    if *enclosed {
        let Err(error) = enclosure::run(&writable, &become_program);
        if *must {
            return Err(error.context("enclose a guest's kernel"));
        }
    }
    Err(become_program())
}

/// Limits the size of the files that this process, and every process that it starts, can write.
///
/// # Arguments
/// * `memory_bytes` - the size of the file that is a guest's memory, which the limit allows in any case.
fn bound_files(memory_bytes: u64) -> Result<()> {
    let bytes = FILE_BYTES_AT_MOST.max(memory_bytes);
    // SAFETY: no handler is installed. A write beyond the limit fails (EFBIG), and the writer goes on.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.context("ignore the signal of large files (SIGXFSZ)")?;
    let (_, most) = getrlimit(Resource::RLIMIT_FSIZE).context("read the bound of files (RLIMIT_FSIZE)")?;
    setrlimit(Resource::RLIMIT_FSIZE, bytes.min(most), bytes.min(most)).context("bound files (RLIMIT_FSIZE)")
}

/// Limits the private memory of this process, and of every process that it starts: its heap, and its private writable
/// mappings (`RLIMIT_DATA`, getrlimit(2)). Shared mappings do not count.
fn bound_data() -> Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_DATA).context("read the bound of data (RLIMIT_DATA)")?;
    let bytes = DATA_BYTES_AT_MOST.min(most);
    setrlimit(Resource::RLIMIT_DATA, bytes, bytes).context("bound data (RLIMIT_DATA)")
}

/// Restricts this process, and every process that it starts, to writing below these directories. If it is enclosed, it
/// can also send signals, and connect to abstract sockets, only among these processes (Linux 6.12).
fn restrict(writable: &[PathBuf], must: bool, enclosed: bool) -> Result<()> {
    let level = if must { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
    let status = restriction(writable, level, enclosed)?.restrict_self().context(ATTEMPT)?;
    if must && status.ruleset != RulesetStatus::FullyEnforced {
        bail!("this kernel cannot restrict what is written to: it needs Landlock (Linux 6.2 and later)");
    }
    Ok(())
}

/// Returns a Landlock ruleset that restricts a process, and every process that it starts, to writing below these
/// directories. The process must apply it to itself.
///
/// # Arguments
/// * `scoped` - whether signals and abstract sockets reach only processes that it has started, if the kernel supports
///   that.
///
/// # Errors
/// The kernel has no Landlock, and `level` requires it.
pub fn restriction(writable: &[PathBuf], level: CompatLevel, scoped: bool) -> Result<RulesetCreated> {
    let scopes = if scoped { Scope::from_all(ABI::V6) } else { BitFlags::EMPTY };
    Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_write(ACCESS))
        .map(|ruleset| ruleset.set_compatibility(CompatLevel::BestEffort))
        .and_then(|ruleset| if scopes.is_empty() { Ok(ruleset) } else { ruleset.scope(scopes) })
        .and_then(Ruleset::create)
        .map(|created| created.set_compatibility(CompatLevel::BestEffort))
        .and_then(|created| created.add_rules(path_beneath_rules(writable, AccessFs::from_write(ACCESS))))
        .context(ATTEMPT)
}

/// Returns a Landlock ruleset for programs that this host runs for another host: they read below one directory, write
/// below some, and reach no other process of the machine by abstract sockets (Linux 6.12) or by signals.
///
/// # Errors
/// The kernel's Landlock does not support all of these restrictions.
pub fn containment(readable: &Path, writable: &[PathBuf]) -> Result<RulesetCreated> {
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

/// Changes the user from root to nobody. Before that, opens the program's file, and returns a path to the open file:
/// nobody may have no access to the home directory in which the file lies.
fn give_up_root(program: &[OsString]) -> Result<PathBuf> {
    let program = program.first().context("no program is named")?;
    let file = File::open(program).with_context(|| format!("open {}", program.to_string_lossy()))?;
    // The interpreter of a script opens it too.
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).context("hand on a program's file (fcntl F_SETFD)")?;
    become_nobody(&[LOW_PORTS, NETWORK])?;
    Ok(PathBuf::from(format!("/proc/self/fd/{}", file.into_raw_fd())))
}

/// Replaces this process by the program. Returns only if that fails, with the reason.
///
/// # Arguments
/// * `file` - the path of the program's file, if it is not to be found by its name.
fn start(program: &[OsString], file: Option<PathBuf>, temporary: Option<&Path>) -> Error {
    let Some((program, arguments)) = program.split_first() else { return anyhow!("no program is named") };
    let mut command = Command::new(file.as_deref().map_or(program.as_os_str(), Path::as_os_str));
    let error = command.arg0(program).args(arguments).envs(temporary.map(|directory| ("TMPDIR", directory))).exec();
    Error::from(error).context(format!("start {}", program.to_string_lossy()))
}
