//! Creates mounts, and changes the attributes of a mount or of all mounts below a directory (mount_setattr(2)).

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};

/// A change of a mount's attributes. Other attributes stay as they are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Change {
    /// The `MOUNT_ATTR_` bits to set.
    pub set: u64,
    /// The `MOUNT_ATTR_` bits to clear.
    pub clear: u64,
    /// Whether all mounts below this one are changed too.
    pub all_below: bool,
}

/// Changes the mount at `target`.
///
/// # Errors
/// As `mount_setattr(2)`, which needs Linux 5.12.
pub(crate) fn change(target: &Path, change: Change) -> Result<()> {
    let path = CString::new(target.as_os_str().as_bytes()).context("a path contains a NUL byte")?;
    // SAFETY: all-zero is a valid value.
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    (attributes.attr_set, attributes.attr_clr) = (change.set, change.clear);
    let flags = if change.all_below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: path and attributes are valid for reads during the call.
    let result = unsafe {
        let attributes = std::ptr::from_ref(&attributes);
        let size = size_of::<libc::mount_attr>();
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, attributes, size)
    };
    Errno::result(result).map(drop).with_context(|| format!("change the mount at {} (mount_setattr)", target.display()))
}

/// Makes a mount read-only, and keeps its other attributes.
pub(crate) fn make_read_only(target: &Path) -> Result<()> {
    let read_only = Change { set: libc::MOUNT_ATTR_RDONLY, ..Change::default() };
    change(target, read_only).with_context(|| format!("keep {} from being written to", target.display()))
}

/// Makes a file or directory visible at another path too (bind mount).
pub(crate) fn bind(from: &Path, to: &Path) -> Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("bind {} to {}", from.display(), to.display()))
}

/// Creates a directory, and mounts a new file system of type `kind` on it.
pub(crate) fn mount_with(kind: &str, target: &Path, flags: MsFlags, options: Option<&str>) -> Result<()> {
    fs::create_dir_all(target).with_context(|| format!("create {}", target.display()))?;
    mount(Some(kind), target, Some(kind), flags, options)
        .with_context(|| format!("mount {kind} on {}", target.display()))
}
