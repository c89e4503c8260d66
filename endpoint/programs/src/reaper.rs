//! The first process of the PID namespace of a host's programs (`netwarp-endpoint reap`): it mounts their `/proc` and
//! `/sys`, reaps orphaned processes, and when it ends, all programs end.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use netwarp_path::netns::{NetNs, keep_mounts_private, unshare_messages, unshare_mounts_names_and_processes};
use nix::mount::MsFlags;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::sethostname;

use super::files_of::FilesOf;
use super::root::mount_view;

/// The line on standard output by which the reaper says that the mounts are done.
const READY: &[u8] = b"ready\n";

/// A running reaper; when it is dropped, all programs of its host end.
#[derive(Debug)]
pub struct Reaper(Child);

impl Reaper {
    /// Moves the calling process into new mount and UTS namespaces, and starts a reaper as the first process of a new
    /// PID namespace, to which all processes belong that the caller starts from now on. A host with separate files also
    /// gets its own System V objects and POSIX message queues.
    ///
    /// # Errors
    /// The kernel does not have these namespaces.
    pub fn start(host_name: &str, files: FilesOf<'_>) -> Result<Self> {
        unshare_mounts_names_and_processes()?;
        keep_mounts_private()?;
        if files != FilesOf::All {
            unshare_messages()?;
        }
        files.put_at_root()?;
        sethostname(host_name).with_context(|| format!("take the host name {host_name}"))?;
        let mut child = Command::new("/proc/self/exe")
            .arg("reap")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the first process of the programs")?;
        let mut said = String::new();
        let mut answer = child.stdout.take().context("the first process has no standard output")?;
        std::io::Read::read_to_string(&mut answer, &mut said).context("hear of the first process")?;
        if said.as_bytes() != READY {
            bail!("the first process of the programs could not begin: see the console");
        }
        Ok(Self(child))
    }
}

impl Drop for Reaper {
    /// Kills the reaper; the kernel then kills every process that is left in its PID namespace. The reaper is not
    /// waited for: it ends only after all of these have been waited for, and a program that still runs is a child of
    /// the caller.
    fn drop(&mut self) {
        // It fails only if the reaper has ended already.
        let _ = self.0.kill();
    }
}

/// Runs the reaper.
pub fn run() -> ExitCode {
    match prepare() {
        Ok(()) => reap_orphans(),
        Err(error) => {
            eprintln!("netwarp-endpoint reap: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn prepare() -> Result<()> {
    set_pdeathsig(Signal::SIGKILL).context("ask to die with the role (prctl PR_SET_PDEATHSIG)")?;
    mount_view("proc", "proc", MsFlags::empty())?;
    // The kernel allows mounting sysfs only to the owner of the network namespace.
    if NetNs::current()?.is_ours()? {
        // Files in it belong to the machine, and root could change them; so it is read-only.
        mount_view("sysfs", "sys", MsFlags::MS_RDONLY)?;
    }
    // SAFETY: standard output is open and nothing else uses it; it is closed with this File, which says that no more
    // comes.
    let mut answer = unsafe { File::from_raw_fd(std::io::stdout().as_raw_fd()) };
    answer.write_all(READY).context("say that all is there")
}

/// Reaps orphaned processes forever, until the reaper is killed.
fn reap_orphans() -> ! {
    let mut child_ended = SigSet::empty();
    child_ended.add(Signal::SIGCHLD);
    // It fails only for an invalid mask.
    let _ = child_ended.thread_block();
    loop {
        while !matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive) | Err(_)) {}
        let _ = child_ended.wait();
    }
}
