//! The file system that programs see: the machine's, with layers in memory on top that receive what they write.
//!
//! It is built once, before client and server start, and both see the same files. What each has of its own (`/proc`,
//! `/sys`) is mounted for its processes ([`super::reaper`]).

use std::fs::{self, Permissions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::mount::{MsFlags, mount};

use super::host_layers::{HostFiles, bind_devices};

/// Where the file system is built; programs see it as `/`.
pub(crate) const ROOT: &str = "/tmp/root";
/// The upper directory of overlayfs: what programs wrote.
pub(crate) const WRITTEN: &str = "/tmp/layer/upper";
/// The work directory that overlayfs needs beside the layer.
pub(super) const WORK: &str = "/tmp/layer/work";
/// Where the working directory is kept while an empty `/tmp` is mounted over it.
const HELD: &str = "/tmp/layer/held";
/// On a host, the parent of directories that do not hold files of the machine.
const OWN: &str = "/tmp/layer/own";
/// The home directory, which is empty: the user's files would otherwise influence the run.
pub(crate) const HOME: &str = "/tmp/home";

/// Directories below [`ROOT`] that programs see as empty, whatever the machine has there.
pub(crate) const EMPTIED: [&str; 2] = ["tmp", "run"];
/// Files of `/etc` that are written for the run.
pub(crate) const NAME_FILES: [&str; 3] = ["hosts", "nsswitch.conf", "resolv.conf"];

const ANYBODY: u32 = 0o1777;

/// The files below the layers.
pub(crate) enum Base {
    /// A guest's files: its root is the machine's, as one file system.
    Guest,
    /// The machine's own files.
    Host(HostFiles),
}

/// Builds the file system below [`ROOT`].
///
/// # Arguments
/// * `working_directory` - the programs' working directory, whose files are visible even below a directory that
///   programs see as empty.
/// * `hosts` - host names that resolve, with their addresses.
///
/// # Errors
/// The kernel has no overlayfs; the working directory does not exist.
pub(crate) fn build(base: &Base, working_directory: &Path, hosts: &[(&str, IpAddr)]) -> Result<()> {
    for directory in [ROOT, WRITTEN, WORK, HELD] {
        fs::create_dir_all(directory).with_context(|| format!("create {directory}"))?;
    }
    match base {
        Base::Guest => layer_all()?,
        Base::Host(files) => files.layer(working_directory)?,
    }
    let inside = below_root(working_directory)?;
    fs::read_dir(&inside).with_context(|| format!("open the working directory {}", working_directory.display()))?;
    bind(&inside, Path::new(HELD))?;
    for emptied in EMPTIED {
        put_empty(base, emptied)?;
        open_to_all(emptied)?;
    }
    build_devices(base)?;
    if fs::read_dir(&inside).is_err() {
        fs::create_dir_all(&inside).with_context(|| format!("create {}", inside.display()))?;
        bind(Path::new(HELD), &inside)?;
    }
    let home = below_root(Path::new(HOME))?;
    fs::create_dir_all(&home).with_context(|| format!("create {}", home.display()))?;
    write_names(hosts)
}

/// Mounts a file system in memory over `/tmp`, with room for this many bytes.
///
/// # Errors
/// The kernel refuses it.
pub(crate) fn mount_memory(bytes: u64) -> Result<()> {
    let options = format!("size={bytes},mode=0755");
    mount(Some("tmpfs"), "/tmp", Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).context("mount tmpfs on /tmp")
}

/// Puts one layer over all files of a guest.
fn layer_all() -> Result<()> {
    let layers = format!("lowerdir=/,upperdir={WRITTEN},workdir={WORK}");
    mount(Some("overlay"), ROOT, Some("overlay"), MsFlags::empty(), Some(layers.as_str()))
        .with_context(|| format!("mount overlayfs on {ROOT} ({layers})"))
}

/// Returns a path of the programs as seen from outside.
pub(crate) fn below_root(path: &Path) -> Result<PathBuf> {
    let relative = path.strip_prefix("/").with_context(|| format!("{} does not begin with /", path.display()))?;
    Ok(Path::new(ROOT).join(relative))
}

/// Mounts a file system of its own on a directory below [`ROOT`].
pub(crate) fn mount_fresh(kind: &str, directory: &str, options: Option<&str>) -> Result<()> {
    mount_with(kind, directory, MsFlags::empty(), options)
}

/// Mounts a view of the kernel on a directory below [`ROOT`]: nothing in it is a program or a device.
pub(super) fn mount_view(kind: &str, directory: &str, flags: MsFlags) -> Result<()> {
    let never = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount_with(kind, directory, never | flags, None)
}

fn mount_with(kind: &str, directory: &str, flags: MsFlags, options: Option<&str>) -> Result<()> {
    let target = Path::new(ROOT).join(directory);
    fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
    mount(Some(kind), &target, Some(kind), flags, options)
        .with_context(|| format!("mount {kind} on {}", target.display()))
}

/// Makes programs see a directory of the machine as empty. A directory that they do not see anyway, or that does not
/// exist, is not created.
///
/// # Errors
/// It cannot be covered.
pub(super) fn hide(directory: &Path) -> Result<()> {
    let target = below_root(directory)?;
    if !target.is_dir() {
        return Ok(());
    }
    let nothing = Path::new(OWN).join("nothing");
    fs::create_dir_all(&nothing).with_context(|| format!("create {}", nothing.display()))?;
    bind(&nothing, &target)
}

/// Mounts an empty directory in memory over one below [`ROOT`]. On a host it is in the memory that all files of the run
/// share, whose size is limited.
fn put_empty(base: &Base, directory: &str) -> Result<()> {
    if let Base::Guest = base {
        return mount_fresh("tmpfs", directory, None);
    }
    let (ours, target) = (Path::new(OWN).join(directory), Path::new(ROOT).join(directory));
    for each in [&ours, &target] {
        fs::create_dir_all(each).with_context(|| format!("create {}", each.display()))?;
    }
    bind(&ours, &target)
}

pub(super) fn bind(from: &Path, to: &Path) -> Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("bind {} to {}", from.display(), to.display()))
}

fn open_to_all(directory: &str) -> Result<()> {
    let path = Path::new(ROOT).join(directory);
    fs::set_permissions(&path, Permissions::from_mode(ANYBODY))
        .with_context(|| format!("open {} to all", path.display()))
}

/// Builds `/dev` with the usual devices, terminals and shared memory.
fn build_devices(base: &Base) -> Result<()> {
    match base {
        Base::Guest => mount_fresh("devtmpfs", "dev", None)?,
        Base::Host(_) => {
            put_empty(base, "dev")?;
            bind_devices()?;
        }
    }
    mount_fresh("devpts", "dev/pts", Some("newinstance,ptmxmode=0666,mode=0620"))?;
    put_empty(base, "dev/shm")?;
    open_to_all("dev/shm")?;
    for (target, link) in [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ] {
        let link = Path::new(ROOT).join("dev").join(link);
        // The kernel has created a ptmx device for the first instance of the terminals.
        let linked = remove(&link).and_then(|()| symlink(target, &link));
        linked.with_context(|| format!("link {} to {target}", link.display()))?;
    }
    Ok(())
}

/// Writes the files that resolve names: only `/etc/hosts` is used, because there is no name server, and asking one
/// would take seconds.
fn write_names(hosts: &[(&str, IpAddr)]) -> Result<()> {
    let sources = "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\n".to_owned();
    for (file, content) in NAME_FILES.iter().zip([hosts_file(hosts), sources, String::new()]) {
        let path = Path::new(ROOT).join("etc").join(file);
        // The host's file may be a link to a path that does not exist here.
        match remove(&path).and_then(|()| fs::write(&path, &content)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => cover(&path, file, &content)?,
            written => written.with_context(|| format!("write {}", path.display()))?,
        }
    }
    Ok(())
}

/// Mounts a file with this content over one that the user may not replace. A dangling link is left alone: programs find
/// nothing there either.
fn cover(path: &Path, name: &str, content: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let ours = Path::new(HELD).with_file_name(name);
    fs::write(&ours, content).with_context(|| format!("write {}", ours.display()))?;
    bind(&ours, path)
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

    #[test]
    fn paths_of_programs_lie_below_the_root() {
        assert_eq!(below_root(Path::new("/srv/www")).unwrap(), Path::new("/tmp/root/srv/www"));
        assert!(below_root(Path::new("srv")).is_err());
    }
}
