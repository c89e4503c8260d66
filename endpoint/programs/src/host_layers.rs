//! The machine's files as programs of a native run see them: each file system is covered by a layer in memory
//! (overlayfs), which receives what programs write.
//!
//! A guest has one layer over all files. On a host, overlayfs does not cross into other file systems, and in a user
//! namespace it refuses a directory with mounts below it. So a directory without mounts gets a layer; in any other
//! directory, each entry is handled by itself.

use std::ffi::OsString;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};

use super::files_of::{EMPTIED, FilesOf};
use super::mounts::{bind, make_read_only};

/// The ID that a file's user or group appears to have in a user namespace to which its real ID is not mapped
/// (user_namespaces(7)).
const SOMEBODY_ELSES: u32 = 65534;

/// Directories that get no layer, as they do not contain files of the machine.
const NOT_LAYERED: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The machine's file systems, before the run mounts anything over them.
pub struct HostFiles {
    mount_points: Vec<PathBuf>,
    /// The machine's `/tmp`, which the run's own `/tmp` hides.
    tmp: File,
}

impl HostFiles {
    /// Finds the machine's file systems. Must be called in the mount namespace of the run, since mounts of another
    /// namespace cannot be bound.
    ///
    /// # Errors
    /// There is no `/proc`, or no `/tmp`.
    pub(crate) fn now() -> Result<Self> {
        let mounts = fs::read("/proc/self/mountinfo").context("read /proc/self/mountinfo")?;
        let tmp = File::open("/tmp").context("open /tmp")?;
        Ok(Self { mount_points: mount_points(&mounts), tmp })
    }

    /// Builds the file system that programs see: the machine's files, below layers in memory that receive what
    /// programs write.
    ///
    /// # Arguments
    /// * `files` - which file system to build, and where.
    /// * `working_directory` - this directory remains visible even below a directory that programs otherwise see as
    ///   empty.
    ///
    /// # Errors
    /// The kernel has no overlayfs, or refuses it here.
    pub(super) fn layer(&self, files: FilesOf<'_>, working_directory: &Path) -> Result<()> {
        Layering { machine: self, files, working_directory, layers: 0 }.layer_entries(Path::new("/"))
    }

    /// Returns the path at which a file of the machine can be opened, also if it is below the hidden `/tmp`.
    fn reached_at(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/tmp") {
            Ok(below) => PathBuf::from(format!("/proc/self/fd/{}", self.tmp.as_raw_fd())).join(below),
            Err(_) => path.to_owned(),
        }
    }

    /// Makes a file or directory of the machine's `/tmp` visible at its own path again.
    pub(crate) fn reveal(&self, path: &Path) -> Result<()> {
        if !path.starts_with("/tmp") {
            return Ok(());
        }
        let attempt = || format!("bring back {}", path.display());
        let source = self.reached_at(path);
        if fs::metadata(&source).with_context(attempt)?.is_dir() {
            fs::create_dir_all(path).with_context(attempt)?;
        } else {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/tmp"))).with_context(attempt)?;
            File::create(path).with_context(attempt)?;
        }
        bind(&source, path)
    }
}

/// Makes the layers of one file system, directory by directory.
struct Layering<'a> {
    machine: &'a HostFiles,
    files: FilesOf<'a>,
    /// The programs' working directory, which remains visible.
    working_directory: &'a Path,
    /// How many layers have been made so far.
    layers: u32,
}

impl Layering<'_> {
    fn layer_entries(&mut self, directory: &Path) -> Result<()> {
        let target = self.files.below(directory)?;
        fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
        // Programs do not see directories that the user may not read.
        let Ok(entries) = fs::read_dir(self.machine.reached_at(directory)) else { return Ok(()) };
        for entry in entries {
            let entry = entry.with_context(|| format!("list {}", directory.display()))?;
            self.layer_entry(&directory.join(entry.file_name()), &entry)?;
        }
        Ok(())
    }

    fn layer_entry(&mut self, path: &Path, entry: &DirEntry) -> Result<()> {
        let kind = entry.file_type().with_context(|| format!("look at {}", path.display()))?;
        let target = self.files.below(path)?;
        if kind.is_symlink() {
            let link =
                fs::read_link(self.machine.reached_at(path)).with_context(|| format!("read {}", path.display()))?;
            return symlink(link, &target).with_context(|| format!("link {}", target.display()));
        }
        if kind.is_file() {
            File::create(&target).with_context(|| format!("create {}", target.display()))?;
            bind(&self.machine.reached_at(path), &target)?;
            return make_read_only(&target);
        }
        if !kind.is_dir() {
            return Ok(());
        }
        let is_emptied = EMPTIED.iter().any(|emptied| path == Path::new("/").join(emptied));
        let is_ours = NOT_LAYERED.iter().any(|ours| path == Path::new(ours));
        if is_ours || (is_emptied && !self.working_directory.starts_with(path)) {
            return fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()));
        }
        if self.machine.mount_points.iter().any(|point| point != path && point.starts_with(path)) {
            return self.layer_entries(path);
        }
        self.layers += 1;
        self.put_layer(path, &target)
    }

    fn put_layer(&self, path: &Path, target: &Path) -> Result<()> {
        let upper = self.files.written().join(path.strip_prefix("/").unwrap_or(path));
        let work = self.files.work().join(self.layers.to_string());
        for directory in [target, &upper, &work] {
            fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))?;
        }
        let lower = self.machine.reached_at(path);
        if let Ok(way) = self.working_directory.strip_prefix(path) {
            own_what_leads(&lower, &upper, way)?;
        }
        let options =
            format!("userxattr,lowerdir={},upperdir={},workdir={}", escaped(&lower), escaped(&upper), escaped(&work));
        match mount(Some("overlay"), target, Some("overlay"), MsFlags::empty(), Some(options.as_str())) {
            // A file system that overlayfs does not support, such as FAT, or that the user may not read.
            Err(Errno::EINVAL | Errno::EACCES) => Ok(()),
            mounted => mounted.with_context(|| {
                format!(
                    "mount overlayfs over {} in a user namespace (Linux 6.6 or later): or use the virtual backend",
                    path.display()
                )
            }),
        }
    }
}

/// Creates, in a layer, the directories that lead to the working directory, if any of them belongs to another user.
/// Otherwise the kernel would create them when a program writes there, and fail (EOVERFLOW): it would have to give them
/// to their owner, who does not exist in an ordinary user's namespace.
fn own_what_leads(lower: &Path, upper: &Path, way: &Path) -> Result<()> {
    let mut parts: Vec<&Path> = way.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
    parts.reverse();
    let Ok(found) = parts.iter().map(|part| fs::metadata(lower.join(part))).collect::<io::Result<Vec<_>>>() else {
        return Ok(()); // That the working directory cannot be reached is reported when it is opened.
    };
    if !found.iter().any(|about| about.uid() == SOMEBODY_ELSES || about.gid() == SOMEBODY_ELSES) {
        return Ok(());
    }
    for (part, about) in parts.iter().zip(&found) {
        let ours = upper.join(part);
        fs::create_dir_all(&ours)
            .and_then(|()| fs::set_permissions(&ours, about.permissions()))
            .with_context(|| format!("create {}", ours.display()))?;
    }
    Ok(())
}

/// Returns the directories at which file systems are mounted (proc_pid_mountinfo(5): the fifth field, with octal
/// escapes).
fn mount_points(mounts: &[u8]) -> Vec<PathBuf> {
    let lines = mounts.split(|&byte| byte == b'\n');
    let fields = lines.filter_map(|line| line.split(|&byte| byte == b' ').nth(4));
    fields.map(|field| PathBuf::from(OsString::from_vec(unescaped(field)))).collect()
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let (mut text, mut at) = (Vec::new(), 0);
    while at < field.len() {
        let escape = field.get(at..at + 4).filter(|four| four[0] == b'\\');
        let byte = escape.and_then(|four| u8::from_str_radix(std::str::from_utf8(&four[1..]).ok()?, 8).ok());
        text.push(byte.unwrap_or(field[at]));
        at += if byte.is_some() { 4 } else { 1 };
    }
    text
}

/// Escapes a path for overlayfs's options.
fn escaped(path: &Path) -> String {
    let text = String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned();
    ['\\', ':', ','].into_iter().fold(text, |text, sign| text.replace(sign, &format!("\\{sign}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_escapes() {
        let mounts = b"22 1 0:20 / /sys rw - sysfs sysfs rw\n23 1 8:1 / /mnt/a\\040b rw,relatime - ext4 /dev/sda1 rw\n";
        assert_eq!(mount_points(mounts), [Path::new("/sys"), Path::new("/mnt/a b")]);
    }

    #[test]
    fn paths_are_escaped_as_options_are() {
        assert_eq!(escaped(Path::new("/a:b,c\\d")), "/a\\:b\\,c\\\\d");
    }
}
