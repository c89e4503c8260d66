//! A guest's memory in huge pages, where the host grants them to any user.
//!
//! The memory is a file. Creating a file system whose files have huge pages (`huge=` in tmpfs(5)) requires privileges
//! over a mount namespace, which any process has in a new user namespace. So a child process enters one, creates the
//! file system, and leaves its descriptor (fsmount(2)) to its parent. The file system is mounted on no directory, and
//! disappears with the last process that uses it.

use std::os::fd::OwnedFd;

use netwarp_path::userns::Caller;
use nix::errno::Errno;
use nix::sched::{CloneFlags, clone};
use nix::sys::wait::waitpid;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen};

/// The size of the child's stack, in bytes: more than creating a file system needs.
const CHILD_STACK_BYTES: usize = 256 << 10;

/// The largest number of files and directories in a file system: each takes memory of the kernel. A guest's memory is
/// one file.
const FILES_AT_MOST: &str = "64";

/// Creates an empty file system in memory, and returns its descriptor. The descriptor stays open in the program that
/// this process executes next. The caller must have one thread.
///
/// # Arguments
/// * `bytes` - the most bytes of all its files together.
///
/// # Errors
/// What the host refused to do, and its error.
pub fn file_system(pages: Pages, bytes: u64) -> Result<OwnedFd, (&'static str, Errno)> {
    match make(pages, bytes) {
        Err((_, Errno::EPERM)) => make_in_a_namespace(pages, bytes),
        made => made,
    }
}

/// The size of the pages of a file system in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Huge pages where they fit.
    Huge,
    /// Pages of the size that the host uses by default.
    Ordinary,
}

fn make(pages: Pages, bytes: u64) -> Result<OwnedFd, (&'static str, Errno)> {
    let make = || {
        let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        if pages == Pages::Huge {
            fsconfig_set_string(&context, "huge", "within_size")?;
        }
        fsconfig_set_string(&context, "mode", "0700")?;
        fsconfig_set_string(&context, "size", bytes.to_string())?;
        fsconfig_set_string(&context, "nr_inodes", FILES_AT_MOST)?;
        fsconfig_create(&context)?;
        let restricted = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        // The descriptor is not close-on-exec: it stays open when this process executes another program.
        fsmount(&context, FsMountFlags::empty(), restricted)
    };
    let attempt = match pages {
        Pages::Huge => "make a file system in memory with huge pages (fsopen, fsmount)",
        Pages::Ordinary => "make a file system in memory (fsopen, fsmount)",
    };
    make().map_err(|errno: rustix::io::Errno| (attempt, Errno::from_raw(errno.raw_os_error())))
}

fn make_in_a_namespace(pages: Pages, bytes: u64) -> Result<OwnedFd, (&'static str, Errno)> {
    let attempt = "create a user and a mount namespace (clone)";
    let caller = Caller::now();
    let mut made = Err((attempt, Errno::ECHILD));
    let mut stack = vec![0; CHILD_STACK_BYTES];
    let child = || {
        made = caller.become_root().and_then(|()| make(pages, bytes));
        0
    };
    let shared = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK | CloneFlags::CLONE_FILES;
    let namespaces = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS;
    // SAFETY: this process has one thread, which is suspended until the child has ended (CLONE_VFORK): they never use
    // the shared memory at the same time, and both the stack and the closure outlive the child.
    let child = unsafe { clone(Box::new(child), &mut stack, shared | namespaces, Some(libc::SIGCHLD)) };
    child.and_then(|child| waitpid(child, None)).map_err(|errno| (attempt, errno))?;
    made
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn a_file_system_that_is_attached_nowhere_holds_files() {
        // A host may forbid it, or lack huge pages or the system calls.
        let refusals = [Errno::EPERM, Errno::EINVAL, Errno::ENOSPC, Errno::ENOSYS, Errno::EACCES];
        match make(Pages::Huge, 4 << 20) {
            Ok(root) => {
                let file = format!("/proc/self/fd/{}/memory", root.as_raw_fd());
                let full = fs::write(&file, vec![1; 5 << 20]).unwrap_err();
                assert_eq!(full.raw_os_error(), Some(libc::ENOSPC));
                fs::write(&file, b"kept").unwrap();
                assert_eq!(fs::read(&file).unwrap(), b"kept");
                assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains("huge=within_size"));
            }
            Err((attempt, errno)) => assert!(refusals.contains(&errno), "cannot {attempt}: {errno}"),
        }
    }
}
