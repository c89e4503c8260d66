//! Builds the file system that programs see: the machine's files, with layers in memory on top that receive what
//! programs write.
//!
//! Each host of a run has its own file system, or all share one ([`FilesOf`]). They are built before client and server
//! start. `/proc` and `/sys`, which depend on the namespaces of the programs, are mounted later ([`super::reaper`]).

use std::fs::{self, Permissions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use anyhow::{Context as _, Result};
use nix::mount::{MsFlags, mount};

use super::devices;
use super::files_of::{EMPTIED, FilesOf, ROOT};
use super::host_layers::HostFiles;
use super::mounts::{bind, mount_with};

/// The home directory of programs. It is empty, as the user's files would otherwise influence the run.
pub const HOME: &str = "/tmp/home";

/// The files of `/etc` that are written for the run.
pub(crate) const NAME_FILES: [&str; 3] = ["hosts", "nsswitch.conf", "resolv.conf"];

const ANYBODY: u32 = 0o1777;

/// The files that programs see below the layers to which they write.
pub enum Base {
    /// A guest's files: one file system, the machine's root.
    Guest,
    /// The machine's own files.
    Host(HostFiles),
}

/// Builds a file system for programs.
///
/// # Arguments
/// * `working_directory` - the programs' working directory; its files are visible even below a directory that programs
///   otherwise see as empty.
/// * `hosts` - host names that resolve, with their addresses.
///
/// # Errors
/// The kernel has no overlayfs; the working directory does not exist.
pub fn build(files: FilesOf<'_>, base: &Base, working_directory: &Path, hosts: &[(&str, IpAddr)]) -> Result<()> {
    for directory in [files.root(), files.written(), files.work(), files.held()] {
        fs::create_dir_all(&directory).with_context(|| format!("create {}", directory.display()))?;
    }
    match base {
        Base::Guest => layer_all(files)?,
        Base::Host(machine) => machine.layer(files, working_directory)?,
    }
    let inside = files.below(working_directory)?;
    fs::read_dir(&inside).with_context(|| format!("open the working directory {}", working_directory.display()))?;
    bind(&inside, &files.held())?;
    for emptied in EMPTIED {
        put_empty(files, base, emptied)?;
        open_to_all(&files.root().join(emptied))?;
    }
    build_devices(files, base)?;
    if fs::read_dir(&inside).is_err() {
        fs::create_dir_all(&inside).with_context(|| format!("create {}", inside.display()))?;
        bind(&files.held(), &inside)?;
    }
    let home = files.below(Path::new(HOME))?;
    fs::create_dir_all(&home).with_context(|| format!("create {}", home.display()))?;
    write_names(files, hosts)
}

/// Mounts a file system in memory over `/tmp`, with room for this many bytes: it contains the layers of the programs'
/// files.
pub(crate) fn mount_memory(bytes: u64) -> Result<()> {
    let options = format!("size={bytes},mode=0755");
    mount(Some("tmpfs"), "/tmp", Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).context("mount tmpfs on /tmp")
}

/// Puts a single layer over all files of a guest.
fn layer_all(files: FilesOf<'_>) -> Result<()> {
    let (root, written, work) = (files.root(), files.written(), files.work());
    let layers = format!("lowerdir=/,upperdir={},workdir={}", written.display(), work.display());
    mount(Some("overlay"), &root, Some("overlay"), MsFlags::empty(), Some(layers.as_str()))
        .with_context(|| format!("mount overlayfs on {} ({layers})", root.display()))
}

/// Mounts a kernel file system, such as `proc` or `sysfs`, on a directory below [`ROOT`], with devices and the
/// execution of programs forbidden.
pub(super) fn mount_view(kind: &str, directory: &str, flags: MsFlags) -> Result<()> {
    let never = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount_with(kind, &Path::new(ROOT).join(directory), never | flags, None)
}

/// Makes a directory of the machine look empty to programs. Does nothing if programs do not see this directory anyway.
pub fn hide(files: FilesOf<'_>, directory: &Path) -> Result<()> {
    let target = files.below(directory)?;
    if !target.is_dir() {
        return Ok(());
    }
    let nothing = files.own().join("nothing");
    fs::create_dir_all(&nothing).with_context(|| format!("create {}", nothing.display()))?;
    bind(&nothing, &target)
}

/// Mounts an empty directory in memory over another one. On a host, it is in the file system in memory of limited size
/// that all layers of the run share.
fn put_empty(files: FilesOf<'_>, base: &Base, directory: &str) -> Result<()> {
    if let Base::Guest = base {
        return files.mount_fresh("tmpfs", directory, None);
    }
    let (ours, target) = (files.own().join(directory), files.root().join(directory));
    for each in [&ours, &target] {
        fs::create_dir_all(each).with_context(|| format!("create {}", each.display()))?;
    }
    bind(&ours, &target)
}

fn open_to_all(path: &Path) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(ANYBODY))
        .with_context(|| format!("open {} to all", path.display()))
}

/// Builds `/dev`, with the usual devices, pseudo-terminals and shared memory.
fn build_devices(files: FilesOf<'_>, base: &Base) -> Result<()> {
    let directory = files.root().join("dev");
    match (base, files) {
        (Base::Guest, FilesOf::All) => files.mount_fresh("devtmpfs", "dev", None)?,
        (Base::Guest, FilesOf::One(_)) => {
            put_empty(files, base, "dev")?;
            devices::copy_all(&files.part("devices"), &directory)?;
        }
        (Base::Host(_), _) => {
            put_empty(files, base, "dev")?;
            devices::bind_usual(&directory)?;
        }
    }
    files.mount_fresh("devpts", "dev/pts", Some("newinstance,ptmxmode=0666,mode=0620"))?;
    put_empty(files, base, "dev/shm")?;
    open_to_all(&directory.join("shm"))?;
    for (target, link) in [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ] {
        let link = directory.join(link);
        // The kernel has created a ptmx device for the first instance of the terminals.
        let linked = remove(&link).and_then(|()| symlink(target, &link));
        linked.with_context(|| format!("link {} to {target}", link.display()))?;
    }
    Ok(())
}

/// Writes the files that determine how programs resolve names: only by `/etc/hosts`, because there is no name server,
/// and asking one would take seconds.
fn write_names(files: FilesOf<'_>, hosts: &[(&str, IpAddr)]) -> Result<()> {
    let sources = "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\n".to_owned();
    for (file, content) in NAME_FILES.iter().zip([hosts_file(hosts), sources, String::new()]) {
        let path = files.root().join("etc").join(file);
        // The host's file may be a link to a path that does not exist here.
        match remove(&path).and_then(|()| fs::write(&path, &content)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                cover(&path, &files.part(file), &content)?;
            }
            written => written.with_context(|| format!("write {}", path.display()))?,
        }
    }
    Ok(())
}

/// Mounts a file with this content over a file that the user may not replace. Does nothing for a dangling link, as
/// programs find no file there either.
fn cover(path: &Path, ours: &Path, content: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    fs::write(ours, content).with_context(|| format!("write {}", ours.display()))?;
    bind(ours, path)
}

fn hosts_file(hosts: &[(&str, IpAddr)]) -> String {
    let lines = hosts.iter().map(|(name, address)| format!("{address} {name}\n"));
    ["127.0.0.1 localhost\n::1 localhost\n".to_owned()].into_iter().chain(lines).collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_line_each() {
        let text = hosts_file(&[("server", [10, 0, 2, 1].into()), ("client", [0xfd00, 0, 0, 0, 0, 0, 0, 1].into())]);
        assert_eq!(text, "127.0.0.1 localhost\n::1 localhost\n10.0.2.1 server\nfd00::1 client\n");
    }
}
