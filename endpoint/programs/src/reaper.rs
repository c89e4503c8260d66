//! The first process of a host's programs (`netwarp-endpoint reap`): it mounts their own file systems, reaps their
//! orphans, and ends all of them when it ends.

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

/// The line on standard output that says that the mounts are done.
const READY: &[u8] = b"ready\n";

/// The reaper, with which all programs of a host end.
#[derive(Debug)]
pub struct Reaper(Child);

impl Reaper {
    /// Moves the calling process into new mount and UTS namespaces, and every process that it starts from now on into a
    /// PID namespace that ends with the reaper. A host with files of its own has its own System V objects and POSIX
    /// message queues too.
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
    /// Kills the reaper, and with it the kernel kills all that is left in its PID namespace. The reaper is not waited
    /// for: it ends only when the last of them has been waited for, and a program that still runs is a child of the
    /// caller.
    fn drop(&mut self) {
        // It fails only if the reaper has ended already.
        let _ = self.0.kill();
    }
}

/// Runs the reaper.
pub fn run() -> ExitCode {
    match prepare() {
        Ok(()) => bury_orphans(),
        Err(error) => {
            eprintln!("netwarp-endpoint reap: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn prepare() -> Result<()> {
    set_pdeathsig(Signal::SIGKILL).context("ask to die with the role (prctl PR_SET_PDEATHSIG)")?;
    mount_view("proc", "proc", MsFlags::empty())?;
    // The kernel allows mounting a view of the devices only for a network namespace of one's own.
    if NetNs::current()?.is_ours()? {
        // Root's files in it are the machine's, and root's to change.
        mount_view("sysfs", "sys", MsFlags::MS_RDONLY)?;
    }
    // SAFETY: standard output is open and nothing else uses it; it is closed with this File, which says that no more
    // comes.
    let mut answer = unsafe { File::from_raw_fd(std::io::stdout().as_raw_fd()) };
    answer.write_all(READY).context("say that all is there")
}

/// Reaps orphaned processes forever: the reaper is ended from outside.
fn bury_orphans() -> ! {
    let mut child_ended = SigSet::empty();
    child_ended.add(Signal::SIGCHLD);
    // It fails only for an invalid mask.
    let _ = child_ended.thread_block();
    loop {
        while !matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive) | Err(_)) {}
        let _ = child_ended.wait();
    }
}
