//! Sets up the devices that programs see in `/dev`.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, mknod};

use crate::mounts::{bind, make_read_only};

/// The devices that any user of a host may open.
const USUAL: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Makes the usual devices of a host visible in `directory`, by bind mounts.
pub(super) fn bind_usual(directory: &Path) -> Result<()> {
    for device in USUAL {
        let (source, target) = (Path::new("/dev").join(device), directory.join(device));
        File::create(&target).with_context(|| format!("create {}", target.display()))?;
        bind(&source, &target)?;
        // The devices can still be written to. Their modes and times are the machine's, so they must not change.
        make_read_only(&target)?;
    }
    Ok(())
}

/// Creates all devices of a guest in `directory`. They are copied, because the guest's kernel has only one file system
/// of devices (devtmpfs), in which a program of one host could leave a file for the other host.
///
/// # Arguments
/// * `view` - a directory on which that file system is mounted for the copying.
pub(super) fn copy_all(view: &Path, directory: &Path) -> Result<()> {
    fs::create_dir_all(view).with_context(|| format!("create {}", view.display()))?;
    mount(Some("devtmpfs"), view, Some("devtmpfs"), MsFlags::empty(), None::<&str>)
        .with_context(|| format!("mount devtmpfs on {}", view.display()))?;
    copy_below(view, directory)?;
    umount2(view, MntFlags::empty()).with_context(|| format!("unmount {}", view.display()))
}

/// Copies the devices in a directory and its subdirectories, such as `net/tun`.
fn copy_below(view: &Path, directory: &Path) -> Result<()> {
    for entry in fs::read_dir(view).with_context(|| format!("list {}", view.display()))? {
        let entry = entry.with_context(|| format!("list {}", view.display()))?;
        let (device, target) = (entry.path(), directory.join(entry.file_name()));
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
            copy_below(&device, &target)?;
        } else {
            copy(&device, &target)?;
        }
    }
    Ok(())
}

fn copy(device: &Path, target: &Path) -> Result<()> {
    let about = fs::symlink_metadata(device).with_context(|| format!("look at {}", device.display()))?;
    let kind = match about.file_type() {
        kind if kind.is_char_device() => SFlag::S_IFCHR,
        kind if kind.is_block_device() => SFlag::S_IFBLK,
        _ => return Ok(()),
    };
    let mode = Mode::from_bits_truncate(about.mode());
    mknod(target, kind, mode, about.rdev())
        .and_then(|()| {
            nix::sys::stat::fchmodat(nix::fcntl::AT_FDCWD, target, mode, nix::sys::stat::FchmodatFlags::FollowSymlink)
        })
        .with_context(|| format!("make the device {}", target.display()))
}
