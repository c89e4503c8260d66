//! The file systems that programs see: which hosts share one, and at which paths its parts are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::mount::{MsFlags, mount};

use super::mounts::mount_with;

/// The directory at which a role sees the file system of its programs. The programs see it as `/`.
pub(crate) const ROOT: &str = "/tmp/root";
/// The directory with the parts of all file systems: layers, work directories and others.
const PARTS: &str = "/tmp/layer";

/// The directories below [`ROOT`] that are empty for programs, whatever the machine has there.
pub(crate) const EMPTIED: [&str; 2] = ["tmp", "run"];

/// A file system of programs, named by the hosts whose programs see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesOf<'a> {
    /// All hosts see the file system: each sees what the others write, and reaches the others' Unix sockets.
    All,
    /// Only the host of this name sees the file system.
    One(&'a str),
}

/// The hosts of a run whose job describes no network, in the order in which their file systems are built.
pub const USUAL_HOSTS: [&str; 2] = ["server", "client"];

impl<'a> FilesOf<'a> {
    /// Returns the file systems of a run: one if its hosts share it, otherwise one per host.
    pub fn run(shared: bool, hosts: &[&'a str]) -> Vec<Self> {
        if shared { vec![Self::All] } else { hosts.iter().map(|host| Self::One(host)).collect() }
    }

    /// Returns the file system that the programs of one host see.
    pub fn host(name: &'a str, shared: bool) -> Self {
        if shared { Self::All } else { Self::One(name) }
    }

    /// Returns the path of the file system's root, as the run's own processes see it.
    pub(super) fn root(self) -> PathBuf {
        if self == Self::All { ROOT.into() } else { self.part("root") }
    }

    /// Returns the path of overlayfs's upper directory, with the files that programs wrote.
    pub(super) fn written(self) -> PathBuf {
        self.part("upper")
    }

    /// Returns the path of the work directory that overlayfs needs.
    pub(super) fn work(self) -> PathBuf {
        self.part("work")
    }

    /// Returns the path at which the working directory stays reachable while an empty `/tmp` is mounted over it.
    pub(super) fn held(self) -> PathBuf {
        self.part("held")
    }

    /// Returns the parent of the directories in which programs see none of the machine's files.
    pub(super) fn own(self) -> PathBuf {
        self.part("own")
    }

    pub(super) fn part(self, name: &str) -> PathBuf {
        let parts = Path::new(PARTS);
        match self {
            Self::All => parts.join(name),
            Self::One(host) => parts.join(host).join(name),
        }
    }

    /// Converts a path as programs see it to the path at which the run's own processes see the same file.
    ///
    /// # Errors
    /// The path is not absolute.
    pub fn below(self, path: &Path) -> Result<PathBuf> {
        below(&self.root(), path)
    }

    /// Mounts the file system at [`ROOT`] for the calling process and its children, which must be in a separate mount
    /// namespace.
    pub(super) fn put_at_root(self) -> Result<()> {
        if self == Self::All {
            return Ok(());
        }
        fs::create_dir_all(ROOT).with_context(|| format!("create {ROOT}"))?;
        let all = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some(&self.root()), ROOT, None::<&str>, all, None::<&str>)
            .with_context(|| format!("bind {} to {ROOT}", self.root().display()))
    }

    /// Mounts a new file system on a directory of this file system.
    ///
    /// # Errors
    /// As `mount(2)`.
    pub fn mount_fresh(self, kind: &str, directory: &str, options: Option<&str>) -> Result<()> {
        mount_with(kind, &self.root().join(directory), MsFlags::empty(), options)
    }
}

/// Converts a path as programs see it to the path at which their role sees the same file.
pub fn below_root(path: &Path) -> Result<PathBuf> {
    below(Path::new(ROOT), path)
}

fn below(root: &Path, path: &Path) -> Result<PathBuf> {
    let relative = path.strip_prefix("/").with_context(|| format!("{} does not begin with /", path.display()))?;
    Ok(root.join(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_programs_lie_below_the_root() {
        assert_eq!(below_root(Path::new("/srv/www")).unwrap(), Path::new("/tmp/root/srv/www"));
        assert!(below_root(Path::new("srv")).is_err());
        let inside = |shared| FilesOf::host("client", shared).below(Path::new("/srv")).unwrap();
        assert_eq!((inside(true), inside(false)), ("/tmp/root/srv".into(), "/tmp/layer/client/root/srv".into()));
    }
}
