//! Encloses a guest kernel in new namespaces, in which all file systems are read-only except for the directories that
//! the run writes to.
//!
//! The guest kernel is a process of the machine. A program that has taken control of it, or that remounts the machine's
//! files inside the guest, can still do only what that process may do. So this process sees no other processes, no
//! network and no System V objects of the machine; it can change no other files, has no capability except root's right
//! to read, and cannot make most system calls that reach beyond itself. [`crate::confine`] adds Landlock.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use netwarp_path::netns::keep_mounts_private;
use netwarp_path::userns::Caller;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, clone};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, chdir, fork, getcwd, pipe2};

use crate::mounts::{Change, bind, change};
use crate::privileges::Test::{HasAny, Is};
use crate::privileges::{READ_ALL_FILES, RefusedBy, Word, forbid_system_calls, keep_capabilities};

/// The stack of the enclosed process until it executes the program, in bytes.
const STACK_BYTES: usize = 512 << 10;

/// System calls that a guest kernel does not need and that reach beyond its own processes and files: for named sockets,
/// namespaces and mounts, other processes' memory, keys, locks on others' files, and parts of the kernel with a history
/// of faults.
const FORBIDDEN: [libc::c_long; 36] = [
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_socket,
    libc::SYS_sendmmsg,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // A filter cannot see the mode with which openat2 creates a file.
    libc::SYS_openat2,
    libc::SYS_open_by_handle_at,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_flock,
];

/// The set-user-ID and set-group-ID bits of a file's mode. Whoever executes a file with such a mode that belongs to
/// root becomes root.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
/// The flags with which open(2) creates a file, and so uses its mode argument. `O_TMPFILE` includes `O_DIRECTORY`,
/// which by itself creates no file.
const MAKES_A_FILE: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;

/// System calls that are refused with some arguments: those that create set-user-ID or set-group-ID files, those that
/// send to sockets by name, and those for locks, leases and notices on files: they work on any readable file, and may
/// make other users of the file wait. Socket pairs must be Unix streams, as a guest kernel's are: the sender of a
/// datagram may name any socket, in an argument that no filter sees (sendmsg(2)).
const REFUSED: [RefusedBy; 22] = [
    RefusedBy { number: libc::SYS_chmod, tests: &[(Word::Low(1), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_fchmod, tests: &[(Word::Low(1), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_fchmodat, tests: &[(Word::Low(2), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_fchmodat2, tests: &[(Word::Low(2), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_creat, tests: &[(Word::Low(1), HasAny(SET_ID))] },
    RefusedBy {
        number: libc::SYS_open,
        tests: &[(Word::Low(1), HasAny(MAKES_A_FILE)), (Word::Low(2), HasAny(SET_ID))],
    },
    RefusedBy {
        number: libc::SYS_openat,
        tests: &[(Word::Low(2), HasAny(MAKES_A_FILE)), (Word::Low(3), HasAny(SET_ID))],
    },
    RefusedBy { number: libc::SYS_mkdir, tests: &[(Word::Low(1), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_mkdirat, tests: &[(Word::Low(2), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_mknod, tests: &[(Word::Low(1), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_mknodat, tests: &[(Word::Low(2), HasAny(SET_ID))] },
    RefusedBy { number: libc::SYS_socketpair, tests: &[(Word::Low(0), HasAny(!(libc::AF_UNIX as u32)))] },
    RefusedBy {
        number: libc::SYS_socketpair,
        tests: &[(Word::Low(1), HasAny(SOCKET_TYPE & !(libc::SOCK_STREAM as u32)))],
    },
    RefusedBy { number: libc::SYS_sendto, tests: &[(Word::Low(4), HasAny(u32::MAX))] },
    RefusedBy { number: libc::SYS_sendto, tests: &[(Word::High(4), HasAny(u32::MAX))] },
    RefusedBy { number: libc::SYS_fcntl, tests: &[(Word::Low(1), Is(libc::F_SETLK as u32))] },
    RefusedBy { number: libc::SYS_fcntl, tests: &[(Word::Low(1), Is(libc::F_SETLKW as u32))] },
    RefusedBy { number: libc::SYS_fcntl, tests: &[(Word::Low(1), Is(libc::F_OFD_SETLK as u32))] },
    RefusedBy { number: libc::SYS_fcntl, tests: &[(Word::Low(1), Is(libc::F_OFD_SETLKW as u32))] },
    RefusedBy { number: libc::SYS_fcntl, tests: &[(Word::Low(1), Is(libc::F_SETLEASE as u32))] },
    RefusedBy { number: libc::SYS_fcntl, tests: &[(Word::Low(1), Is(libc::F_NOTIFY as u32))] },
    RefusedBy { number: libc::SYS_fcntl, tests: &[(Word::Low(1), Is(SET_DELEGATION))] },
];
/// `F_SETDELEG` of `include/uapi/linux/fcntl.h` (Linux 6.19).
const SET_DELEGATION: u32 = 1040;
/// The bits of a socket's type that are not flags (`SOCK_TYPE_MASK` of `include/linux/net.h`).
const SOCKET_TYPE: u32 = 0xf;

/// The namespaces that an enclosure has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    /// Whether the enclosure has a user namespace; without one, the caller must be root.
    user: bool,
    /// Whether the enclosure has a PID namespace, which needs its own `/proc`; containers may forbid that.
    processes: bool,
}

/// The enclosures that are tried, best first.
const KINDS: [Kind; 4] = [
    Kind { user: true, processes: true },
    Kind { user: true, processes: false },
    Kind { user: false, processes: true },
    Kind { user: false, processes: false },
];

impl Kind {
    fn flags(self) -> CloneFlags {
        let always = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC;
        let user = if self.user { CloneFlags::CLONE_NEWUSER } else { CloneFlags::empty() };
        always | user | if self.processes { CloneFlags::CLONE_NEWPID } else { CloneFlags::empty() }
    }
}

/// Runs a program in an enclosure, and ends this process as the program ended. Returns only if no enclosure could be
/// made, with the reason. The caller must have one thread.
///
/// # Arguments
/// * `writable` - the directories that can be written to; they must exist.
/// * `become_program` - replaces the process by the program, and returns only if that failed, with the reason.
///
/// # Errors
/// The host allows none of [`KINDS`]; the reason is that for refusing the first one.
pub(crate) fn run(writable: &[PathBuf], become_program: &dyn Fn() -> anyhow::Error) -> Result<Infallible> {
    let mut refused = None;
    for kind in KINDS {
        match attempt(kind, writable, become_program) {
            Ok(ended) => end_as(ended),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| anyhow::anyhow!("no enclosure was tried")))
}

/// Ends this process with the exit status or the signal of another one.
fn end_as(ended: Ended) -> ! {
    if let Ended::Killed(signal) = ended {
        let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
        // SAFETY: the default action of a signal, which ends this process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        // SAFETY: the call takes a number.
        unsafe { libc::raise(signal) };
    }
    let Ended::Exited(status) = ended else { std::process::exit(i32::from(u8::MAX)) };
    std::process::exit(status)
}

/// How the program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Exited(i32),
    Killed(i32),
}

impl Ended {
    fn to_line(self) -> String {
        match self {
            Self::Exited(status) => format!("exited {status}\n"),
            Self::Killed(signal) => format!("killed {signal}\n"),
        }
    }

    fn from_line(line: &str) -> Option<Self> {
        match line.trim_end().split_once(' ')? {
            ("exited", status) => status.parse().ok().map(Self::Exited),
            ("killed", signal) => signal.parse().ok().map(Self::Killed),
            _ => None,
        }
    }
}

/// Creates one kind of enclosure, runs the program in it, and returns how the program ended.
fn attempt(kind: Kind, writable: &[PathBuf], become_program: &dyn Fn() -> anyhow::Error) -> Result<Ended> {
    let caller = Caller::now();
    let (go, our_go) = pipe2(OFlag::O_CLOEXEC).context("make a pipe")?;
    let (our_answer, answer) = pipe2(OFlag::O_CLOEXEC).context("make a pipe")?;
    // The ends of the pipes that the enclosed process uses. It must close the others.
    let mut theirs = Some((go, answer));
    let mut ours = Some((our_go, our_answer));
    let enclosed = {
        let child = || {
            drop(ours.take());
            let Some((go, answer)) = theirs.take() else { return 1 };
            enclosed(kind, caller.is_root(), go, answer, writable, become_program)
        };
        let mut stack = vec![0; STACK_BYTES];
        // SAFETY: the child has a copy of this process's memory, and this process has one thread.
        unsafe { clone(Box::new(child), &mut stack, kind.flags(), Some(libc::SIGCHLD)) }
            .context("make namespaces for a guest (clone)")?
    };
    drop(theirs.take());
    let Some((our_go, our_answer)) = ours.take() else { bail!("the pipes are gone") };
    let told = map_users(kind, caller, enclosed).and_then(|()| listen(our_go, our_answer));
    if told.is_err() {
        // It fails only if the process has ended already.
        let _ = kill(enclosed, Signal::SIGKILL);
    }
    let ended = waitpid(enclosed, None).context("wait for an enclosed process")?;
    // A process that was killed from outside reports nothing more.
    match (told?, ended) {
        (Some(ended), _) => Ok(ended),
        (None, WaitStatus::Signaled(_, signal, _)) => Ok(Ended::Killed(signal as i32)),
        (None, WaitStatus::Exited(_, status)) => Ok(Ended::Exited(status)),
        (None, other) => bail!("the enclosed process has ended as {other:?}"),
    }
}

fn map_users(kind: Kind, caller: Caller, enclosed: Pid) -> Result<()> {
    if !kind.user {
        return Ok(());
    }
    caller.keep_identity(enclosed).map_err(|(attempt, errno)| anyhow::anyhow!("cannot {attempt}: {}", errno.desc()))
}

/// Lets the enclosed process continue, and reads its answers: first that the enclosure is complete, then how the
/// program has ended; `None` if the process was killed before the second answer.
fn listen(go: OwnedFd, answer: OwnedFd) -> Result<Option<Ended>> {
    File::from(go).write_all(b"go\n").context("let an enclosed process go on")?;
    let mut told = String::new();
    File::from(answer).read_to_string(&mut told).context("hear of an enclosed process")?;
    match told.split_once('\n') {
        Some((READY, rest)) => Ok(Ended::from_line(rest)),
        Some((reason, _)) => bail!("{reason}"),
        None => bail!("an enclosed process ended before it was ready"),
    }
}

/// The enclosed process's answer that the enclosure is complete.
const READY: &str = "ready";

/// Runs in the enclosed process: completes the enclosure, runs the program, and answers. Returns the process's exit
/// status.
fn enclosed(
    kind: Kind,
    is_root: bool,
    go: OwnedFd,
    answer: OwnedFd,
    writable: &[PathBuf],
    become_program: &dyn Fn() -> anyhow::Error,
) -> isize {
    let mut answer = File::from(answer);
    let started = build(kind, is_root, go, writable).and_then(|()| start(become_program));
    match started {
        Err(error) => {
            let _ = writeln!(answer, "{}", format!("{error:#}").replace('\n', " "));
            1
        }
        Ok(program) => {
            let told = writeln!(answer, "{READY}").and_then(|()| {
                let ended = wait_for(program, kind);
                answer.write_all(ended.to_line().as_bytes())
            });
            isize::from(told.is_err())
        }
    }
}

fn build(kind: Kind, is_root: bool, go: OwnedFd, writable: &[PathBuf]) -> Result<()> {
    set_pdeathsig(Signal::SIGKILL).context("ask to die with the run (prctl PR_SET_PDEATHSIG)")?;
    let mut said = String::new();
    File::from(go).read_to_string(&mut said).context("wait to go on")?;
    if said.is_empty() {
        bail!("the process that encloses this one has ended");
    }
    keep_mounts_private()?;
    if kind.processes {
        let restricted = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), "/proc", Some("proc"), restricted, None::<&str>).context("mount a /proc of its own")?;
    }
    if kind.user {
        let file = "/proc/sys/user/max_user_namespaces";
        fs::write(file, "0").with_context(|| format!("write 0 to {file}"))?;
    }
    make_read_only(writable)?;
    // Root can still read all files, as other users can still read theirs.
    let kept: &[u32] = if is_root { &[READ_ALL_FILES] } else { &[] };
    keep_capabilities(kept).context("give up capabilities (prctl PR_CAPBSET_DROP)")?;
    Ok(())
}

/// Remounts all file systems read-only, except below these directories; devices in them cannot be opened.
fn make_read_only(writable: &[PathBuf]) -> Result<()> {
    let here = getcwd().context("find the current directory")?;
    let held = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    change(Path::new("/"), Change { set: libc::MOUNT_ATTR_RDONLY | held, all_below: true, ..Change::default() })?;
    for directory in writable.iter().filter(|directory| !directory.starts_with("/proc")) {
        let path = fs::canonicalize(directory).with_context(|| format!("find {}", directory.display()))?;
        bind(&path, &path)?;
        change(&path, Change { clear: libc::MOUNT_ATTR_RDONLY, ..Change::default() })?;
    }
    // The current directory is on the new mounts only after it has been entered again by its path.
    chdir(&here).with_context(|| format!("enter {}", here.display()))
}

/// Starts the program as a child of this process instead of replacing this process: the first process of a PID
/// namespace ignores signals, and a guest kernel that panics ends itself by a signal.
fn start(become_program: &dyn Fn() -> anyhow::Error) -> Result<Pid> {
    // SAFETY: this process has one thread.
    match unsafe { fork() }.context("start the enclosed program (fork)")? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let error = set_pdeathsig(Signal::SIGKILL)
                .context("ask to die with the run (prctl PR_SET_PDEATHSIG)")
                .and_then(|()| forbid_system_calls(&FORBIDDEN, &REFUSED))
                .map_or_else(|error| error, |()| become_program());
            eprintln!("netwarp-endpoint: {error:#}");
            std::process::exit(1)
        }
    }
}

/// Waits for the end of the program, and reaps the processes that it has left behind, so that their CPU time counts as
/// this process's.
fn wait_for(program: Pid, kind: Kind) -> Ended {
    let mut ended = Ended::Exited(1);
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(process, status)) if process == program => ended = Ended::Exited(status),
            Ok(WaitStatus::Signaled(process, signal, _)) if process == program => {
                ended = Ended::Killed(signal as i32);
            }
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => return ended,
        }
        if !kind.processes {
            return ended;
        }
        // This kills all processes that are left in the PID namespace. It fails if there are none.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    }
}
