//! Creates and enters network namespaces; no other file enters them. A socket or process that is created in a namespace
//! stays there.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{chdir, pivot_root};

/// `_IO(0xb7, 1)` of `include/uapi/linux/nsfs.h`: the user namespace that owns a namespace.
const NS_GET_USERNS: libc::Ioctl = 0xb701;

/// A network namespace, kept alive by its descriptor.
#[derive(Debug)]
pub struct NetNs(File);

impl NetNs {
    /// Returns the caller's network namespace.
    pub fn current() -> Result<Self> {
        let path = "/proc/thread-self/ns/net";
        File::open(path).map(Self).with_context(|| format!("open {path}"))
    }

    /// Creates a network namespace, and moves the caller into it.
    pub fn create() -> Result<Self> {
        unshare(CloneFlags::CLONE_NEWNET).context("create a network namespace (unshare CLONE_NEWNET)")?;
        Self::current()
    }

    /// Returns whether the namespace belongs to the caller's user namespace; otherwise the caller has no rights over
    /// it.
    ///
    /// # Errors
    /// The kernel cannot tell (ioctl_ns(2)).
    pub fn is_ours(&self) -> Result<bool> {
        // SAFETY: the request takes no argument; what it gives is a new descriptor, or none.
        let owner = unsafe { libc::ioctl(self.0.as_raw_fd(), NS_GET_USERNS) };
        match Errno::result(owner) {
            Ok(owner) => {
                // SAFETY: the descriptor is new, and nobody else knows of it.
                drop(unsafe { OwnedFd::from_raw_fd(owner) });
                Ok(true)
            }
            Err(Errno::EPERM) => Ok(false),
            Err(errno) => Err(errno).context("ask whose the network namespace is (NS_GET_USERNS)"),
        }
    }

    /// Moves the caller into the namespace.
    pub fn enter(&self) -> Result<()> {
        setns(&self.0, CloneFlags::CLONE_NEWNET).context("enter a network namespace (setns)")
    }

    /// Returns the namespace's file descriptor, for `IFLA_NET_NS_FD`.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Moves the caller into new mount and UTS namespaces; processes that it starts from now on are in a new PID namespace.
///
/// # Errors
/// The kernel has no such namespaces, or the caller may not make them.
pub fn unshare_mounts_names_and_processes() -> Result<()> {
    let namespaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWPID;
    unshare(namespaces).context("make namespaces for mounts, host name and processes (unshare)")
}

/// Moves the caller into a new mount namespace, whose mounts no other process sees, and into a new IPC namespace.
///
/// # Errors
/// The kernel has no such namespaces, or the caller may not make them.
pub fn unshare_mounts_and_messages() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC)
        .context("make namespaces for mounts and messages (unshare)")?;
    keep_mounts_private()
}

/// Makes mounts private: later mounts in the caller's mount namespace are not propagated to any other.
///
/// # Errors
/// As `mount(2)`.
pub fn keep_mounts_private() -> Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_PRIVATE | MsFlags::MS_REC, None::<&str>)
        .context("keep mounts to ourselves (MS_PRIVATE)")
}

/// Moves the caller into a new IPC namespace.
///
/// # Errors
/// The kernel has no such namespace, or the caller may not make it.
pub fn unshare_messages() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWIPC).context("make a namespace for messages (unshare CLONE_NEWIPC)")
}

/// Makes a directory the root of the calling process, in a new mount namespace from which everything else is removed:
/// unlike after chroot(2), no descriptor and no `..` leads out of it. The caller's mounts must be private. The function
/// makes only system calls, so it can be called between fork and exec.
///
/// # Errors
/// As `unshare(2)`, `mount(2)` and `pivot_root(2)`.
pub fn make_root(directory: &Path) -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    // The root must be a mount point, which a directory of layers is not.
    mount(Some(directory), directory, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)?;
    chdir(directory)?;
    // The old root is then on top of the new one (pivot_root(2), "pivot_root(".", ".")").
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")
}

/// Makes processes that the caller starts from now on run in a new PID namespace.
///
/// # Errors
/// The kernel has no such namespace, or the caller may not make it.
pub fn unshare_processes() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWPID).context("make a namespace for processes (unshare CLONE_NEWPID)")
}

/// Writes a sysctl of the caller's network namespace. `key` is the path below `/proc/sys`.
pub fn write_sysctl(key: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/{key}"), value)
}
