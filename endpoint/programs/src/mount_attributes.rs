//! Attributes of mounts, for one or for all below a directory (mount_setattr(2)).

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use nix::errno::Errno;

/// What is changed about a mount; its other attributes stay.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Change {
    /// `MOUNT_ATTR_` bits that are set.
    pub set: u64,
    /// Those that are cleared.
    pub clear: u64,
    /// Whether all mounts below are changed too.
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
