//! A program under way: started below [`super::root::ROOT`], watched, and ended.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, ensure};
use landlock::{CompatLevel, RulesetCreated};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, chdir, chroot, setsid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::output::Output;
use super::root::ROOT;
use crate::confine::{containment, restriction};

/// Open files, as an ordinary login has them.
const OPEN_FILES: u64 = 4096;

/// The first of two descriptors that a program takes orders from and answers to, where it does.
const CONTROL_FD: RawFd = 3;

/// What is to be started.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// All of its environment.
    pub environment: &'a [(String, String)],
    /// Where it starts, as it sees it.
    pub working_directory: &'a Path,
    /// Where its output is kept, `NAME.stdout` and `NAME.stderr` in this directory; none where nobody would look.
    pub output_directory: Option<&'a Path>,
    /// Such as `server`.
    pub name: &'a str,
    /// What it finds open as descriptors 3, to read from, and 4, to write to. Both are above 4 here.
    pub control: Option<(OwnedFd, OwnedFd)>,
    /// What holds it.
    pub hold: Hold,
}

/// What holds a program beside the file system that it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The guest, whose files are read-only on the host.
    Guest,
    /// Landlock, on a host: it writes to what has a layer, and to nothing else.
    Layers,
    /// As well, for programs that run by another host's word: it reads nothing but what it is shown, reaches no socket of the
    /// machine's by its name, and has no capability.
    Contained,
}

impl Hold {
    /// The restriction that the program takes on, if it does.
    fn restriction(self) -> Result<Option<RulesetCreated>> {
        Ok(match self {
            Self::Guest => None,
            Self::Layers => Some(restriction(&writable()?, CompatLevel::HardRequirement)?),
            Self::Contained => Some(containment(Path::new(ROOT), &writable()?)?),
        })
    }
}

/// A program that was started, with its descendants a session of its own.
#[derive(Debug)]
pub(crate) struct Program {
    /// The program's own process.
    pub process: Process,
    /// What it prints.
    pub stdout: Output,
    /// What it complains of.
    pub stderr: Output,
}

impl Program {
    /// Starts a program. Must be called inside the runtime.
    ///
    /// # Errors
    /// A program that is not there, or that the kernel does not run.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        let (program, arguments) = start.argv.split_first().context("there is no command")?;
        let mut command = Command::new(program);
        let environment = start.environment.iter().map(|(key, value)| (OsStr::new(key), OsStr::new(value)));
        command.args(arguments).env_clear().envs(environment);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let working_directory = start.working_directory.to_owned();
        let control = start.control.as_ref().map(|(orders, answers)| [orders.as_raw_fd(), answers.as_raw_fd()]);
        let (hold, mut restriction) = (start.hold, start.hold.restriction()?);
        // SAFETY: between fork and exec this makes system calls only, and the process that forks has one thread.
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

/// The process of a program, apart from what it prints.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    ended: AsyncFd<OwnedFd>,
}

impl Process {
    /// How it ended, when it has. Dropping this future loses nothing.
    ///
    /// # Errors
    /// As `waitpid(2)`.
    pub(crate) async fn ended(&mut self) -> Result<ExitStatus> {
        self.ended.readable().await.context("wait for a program's end")?.retain_ready();
        self.child.wait().context("ask how a program ended (waitpid)")
    }

    /// Sends a signal to it and to what it has started in its session.
    pub(crate) fn signal(&self, signal: Signal) {
        // It fails only if all of them are gone.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), signal);
    }
}

/// What the program's process does before it becomes the program.
fn enter(
    working_directory: &Path,
    control: Option<[RawFd; 2]>,
    hold: Hold,
    restriction: Option<RulesetCreated>,
) -> io::Result<()> {
    for (ours, theirs) in control.into_iter().flatten().zip(CONTROL_FD..) {
        // SAFETY: what is at the other number is of no use to the program.
        if unsafe { libc::dup2(ours, theirs) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    setsid()?;
    let (_, most_files) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let open_files = if hold == Hold::Contained { OPEN_FILES.min(most_files) } else { OPEN_FILES };
    setrlimit(Resource::RLIMIT_NOFILE, open_files, open_files)?;
    chroot(ROOT)?;
    chdir(working_directory)?;
    if hold == Hold::Contained {
        drop_capabilities()?;
    }
    if let Some(restriction) = restriction {
        restriction.restrict_self().map_err(io::Error::other)?;
    }
    Ok(())
}

/// Has the program, root of a user namespace, come to be without capabilities (capabilities(7): what is not in the bounding set, root does
/// not get by executing a file).
fn drop_capabilities() -> io::Result<()> {
    for capability in 0.. {
        // SAFETY: the call takes numbers.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } < 0 {
            let error = io::Error::last_os_error();
            // The first that the kernel does not know.
            return if error.raw_os_error() == Some(libc::EINVAL) && capability > 0 { Ok(()) } else { Err(error) };
        }
    }
    Ok(())
}

/// What programs may write to on a host: all that they see but for the kernel's own files.
fn writable() -> Result<Vec<PathBuf>> {
    let list = || format!("list {ROOT}");
    let entries = fs::read_dir(ROOT).with_context(list)?.collect::<io::Result<Vec<_>>>().with_context(list)?;
    let of_programs = entries.iter().filter(|entry| entry.file_name() != "proc" && entry.file_name() != "sys");
    Ok(of_programs.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()).collect())
}

/// A descriptor that is readable when the process has ended (`pidfd_open(2)`).
fn open_pidfd(child: &Child) -> Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, libc::PIDFD_NONBLOCK) };
    ensure!(descriptor >= 0, "watch a program (pidfd_open): {}", io::Error::last_os_error());
    // SAFETY: the descriptor is new, and nobody else knows of it.
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

/// How an end reads in a message: `exited with status 3`, `was killed by SIGSEGV`.
pub(crate) fn how_it_ended(status: ExitStatus) -> String {
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
