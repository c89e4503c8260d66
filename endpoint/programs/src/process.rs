//! Starts a program with its own file system ([`super::files_of::ROOT`]) and restrictions, and waits for its end.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, ensure};
use landlock::{CompatLevel, RulesetCreated};
use netwarp_path::netns::make_root;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, chdir, setsid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::files_of::ROOT;
use super::output::Output;
use crate::confine::{containment, restriction};
use crate::privileges::{OF_KEYS, forbid_system_calls, keep_capabilities};

/// The limit of open files, as in an ordinary login session.
const OPEN_FILES: u64 = 4096;

/// The first of the program's two control descriptors ([`Start::control`]).
const CONTROL_FD: RawFd = 3;

/// The capabilities of a program whose restriction relies on layers (`include/uapi/linux/capability.h`): over its own
/// files (0, 1, 3, 4, 31), processes (5 to 8, 23, 24), memory (14, 15) and network (10 to 13). Capabilities over
/// mounts, roots, devices and other processes' memory would let it bypass the layers.
const OF_LAYERS: [u32; 17] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 23, 24, 31];

/// The parameters for starting a program.
#[derive(Debug)]
pub struct Start<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// All environment variables of the program.
    pub environment: &'a [(String, String)],
    /// The directory in which the program starts, as a path in its own file system.
    pub working_directory: &'a Path,
    /// The directory in which the program's output is kept, as `NAME.stdout` and `NAME.stderr`; `None` if it is not
    /// kept.
    pub output_directory: Option<&'a Path>,
    /// The program's name in file names and messages, such as `server`.
    pub name: &'a str,
    /// The descriptors that become the program's descriptors 3, to read from, and 4, to write to. Both are above 4 in
    /// this process.
    pub control: Option<(OwnedFd, OwnedFd)>,
    /// The restrictions of the program.
    pub hold: Hold,
}

/// How a program is restricted, in addition to the file system that it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// No restrictions: the program runs in a guest, in which the host's files are read-only.
    Guest,
    /// By Landlock, on a host: the program can write only to files that are covered by a layer, and reaches none of the
    /// user's keys.
    Layers,
    /// As [`Hold::Layers`], with more restrictions, for programs that this host runs for another host: the program
    /// reads only the files that it is shown, reaches no abstract socket of the machine, has no capabilities, and
    /// cannot create memory that belongs to no process.
    Contained,
}

impl Hold {
    /// Returns the capabilities to which the program is limited in its user namespace; `None` for no limit.
    fn capabilities(self) -> Option<&'static [u32]> {
        match self {
            Self::Guest => None,
            Self::Layers => Some(&OF_LAYERS),
            Self::Contained => Some(&[]),
        }
    }

    /// Returns the system calls that are refused to the program: those for the user's keys. A program that this host
    /// runs for another host is also refused those that create memory which belongs to no process and no file system:
    /// neither the limits of processes nor the sizes of layers would apply to it.
    fn forbidden_calls(self) -> &'static [&'static [libc::c_long]] {
        match self {
            Self::Guest => &[],
            Self::Layers => &[&OF_KEYS],
            Self::Contained => &[&OF_KEYS, &[libc::SYS_memfd_create, libc::SYS_memfd_secret]],
        }
    }

    /// Returns the Landlock ruleset that is applied to the program, if there is one.
    fn restriction(self) -> Result<Option<RulesetCreated>> {
        Ok(match self {
            Self::Guest => None,
            Self::Layers => Some(restriction(&writable()?, CompatLevel::HardRequirement, true)?),
            Self::Contained => Some(containment(Path::new(ROOT), &writable()?)?),
        })
    }
}

/// A running program: its first process and all descendants share a session.
#[derive(Debug)]
pub struct Program {
    /// The program's first process.
    pub process: Process,
    /// The program's standard output.
    pub stdout: Output,
    /// The program's standard error output.
    pub stderr: Output,
}

impl Program {
    /// Starts a program. Must be called inside the tokio runtime.
    ///
    /// # Errors
    /// The program does not exist, or the kernel cannot execute it.
    pub fn start(start: &Start<'_>) -> Result<Self> {
        let (program, arguments) = start.argv.split_first().context("there is no command")?;
        let mut command = Command::new(program);
        let environment = start.environment.iter().map(|(key, value)| (OsStr::new(key), OsStr::new(value)));
        command.args(arguments).env_clear().envs(environment);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let working_directory = start.working_directory.to_owned();
        let control = start.control.as_ref().map(|(orders, answers)| [orders.as_raw_fd(), answers.as_raw_fd()]);
        let (hold, mut restriction) = (start.hold, start.hold.restriction()?);
        // SAFETY: between fork and exec this makes only system calls, and the forking process has one thread.
        unsafe { command.pre_exec(move || enter(&working_directory, control, hold, restriction.take())) };
        let mut child = command.spawn().map_err(|error| not_started(program, &error))?;
        let stdout = child.stdout.take().context("the program has no standard output")?;
        let stderr = child.stderr.take().context("the program has no standard error")?;
        let file = |stream| start.output_directory.map(|directory| directory.join(format!("{}.{stream}", start.name)));
        let ended = open_pidfd(&child)?;
        // SAFETY: an OwnedFd is one descriptor until it is dropped, and this one is never replaced.
        let ended = unsafe { AsyncFd::register_with_interest(ended, Interest::READABLE) };
        let ended = ended.map_err(io::Error::from).context("watch a program")?;
        Ok(Self {
            process: Process { child, ended },
            stdout: Output::new(stdout, file("stdout").as_deref())?,
            stderr: Output::new(stderr, file("stderr").as_deref())?,
        })
    }
}

/// The first process of a running program; its output is handled separately.
#[derive(Debug)]
pub struct Process {
    child: Child,
    ended: AsyncFd<OwnedFd>,
}

impl Process {
    /// Waits until the process has ended, and returns its exit status. Dropping this future loses nothing.
    ///
    /// # Errors
    /// As `waitpid(2)`.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        self.ended.readable().await.context("wait for a program's end")?.retain_ready();
        self.child.wait().context("ask how a program ended (waitpid)")
    }

    /// Sends a signal to the process, and to the processes of its session that it has started.
    pub fn signal(&self, signal: Signal) {
        // It fails only if all of them have ended.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), signal);
    }
}

/// Prepares the program's process, in the child between fork and exec: directory, root, restrictions, control
/// descriptors.
fn enter(
    working_directory: &Path,
    control: Option<[RawFd; 2]>,
    hold: Hold,
    restriction: Option<RulesetCreated>,
) -> io::Result<()> {
    for (ours, theirs) in control.into_iter().flatten().zip(CONTROL_FD..) {
        // SAFETY: the program has no use for what is open at the other number.
        if unsafe { libc::dup2(ours, theirs) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    setsid()?;
    let (_, most_files) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let open_files = if hold == Hold::Contained { OPEN_FILES.min(most_files) } else { OPEN_FILES };
    setrlimit(Resource::RLIMIT_NOFILE, open_files, open_files)?;
    make_root(Path::new(ROOT))?;
    chdir(working_directory)?;
    if let Some(kept) = hold.capabilities() {
        keep_capabilities(kept)?;
    }
    if let Some(restriction) = restriction {
        restriction.restrict_self().map_err(io::Error::other)?;
    }
    if !hold.forbidden_calls().is_empty() {
        forbid_system_calls(&hold.forbidden_calls().concat(), &[]).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Returns the directories that programs may write to on a host: all that they see, except for the kernel's own file
/// systems.
fn writable() -> Result<Vec<PathBuf>> {
    let list = || format!("list {ROOT}");
    let entries = fs::read_dir(ROOT).with_context(list)?.collect::<io::Result<Vec<_>>>().with_context(list)?;
    let of_programs = entries.iter().filter(|entry| entry.file_name() != "proc" && entry.file_name() != "sys");
    Ok(of_programs.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()).collect())
}

/// Returns a descriptor that is readable when the process has ended (`pidfd_open(2)`).
fn open_pidfd(child: &Child) -> Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, libc::PIDFD_NONBLOCK) };
    ensure!(descriptor >= 0, "watch a program (pidfd_open): {}", io::Error::last_os_error());
    // SAFETY: the descriptor is new, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

fn not_started(program: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!(
            "{program}: there is no such program; it must be installed on this machine, below a directory of PATH or named \
             with its path, and not below /tmp or /run, which programs find empty"
        ),
        io::ErrorKind::PermissionDenied => anyhow::anyhow!("{program}: it may not be executed"),
        _ => anyhow::anyhow!("{program}: it cannot be started: {error}"),
    }
}

/// Returns a text for an exit status: `exited with status 3`, `was killed by SIGSEGV`.
pub fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal().map(Signal::try_from)) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(Ok(signal))) => format!("was killed by {signal}"),
        (None, _) => format!("ended with {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_in_words() {
        assert_eq!(how_it_ended(ExitStatus::from_raw(3 << 8)), "exited with status 3");
        assert_eq!(how_it_ended(ExitStatus::from_raw(11)), "was killed by SIGSEGV");
    }

    #[test]
    fn what_is_not_there_says_where_it_is_looked_for() {
        let error = not_started("caddy", &io::Error::from(io::ErrorKind::NotFound));
        assert!(error.to_string().starts_with("caddy: there is no such program"), "{error}");
    }
}
