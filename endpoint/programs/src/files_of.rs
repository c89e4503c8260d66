//! The file systems of programs: which hosts share one, and where its parts are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::mount::{MsFlags, mount};

use super::mounts::mount_with;

/// The directory at which a role sees the file system of its programs. They see it as `/`.
pub(crate) const ROOT: &str = "/tmp/root";
/// The parent of the directories of which a file system consists.
const PARTS: &str = "/tmp/layer";

/// The directories below [`ROOT`] that are empty for programs, whatever the machine has there.
pub(crate) const EMPTIED: [&str; 2] = ["tmp", "run"];

/// The hosts whose programs see a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesOf<'a> {
    /// All hosts see it: each sees what the others write, and reaches the others' Unix sockets.
    All,
    /// Only the host of this name sees it.
    One(&'a str),
}

/// The hosts of a run without a network of its own, in the order in which their file systems are built.
pub const USUAL_HOSTS: [&str; 2] = ["server", "client"];

impl<'a> FilesOf<'a> {
    /// Returns the file systems of a run, whose hosts share one or have their own.
    pub fn run(shared: bool, hosts: &[&'a str]) -> Vec<Self> {
        if shared { vec![Self::All] } else { hosts.iter().map(|host| Self::One(host)).collect() }
    }

    /// Returns the file system of one host of such a run.
    pub fn host(name: &'a str, shared: bool) -> Self {
        if shared { Self::All } else { Self::One(name) }
    }

    /// Returns the root, as all processes of the run see it.
    pub(super) fn root(self) -> PathBuf {
        if self == Self::All { ROOT.into() } else { self.part("root") }
    }

    /// Returns the upper directory of overlayfs, with the files that programs wrote.
    pub(super) fn written(self) -> PathBuf {
        self.part("upper")
    }

    /// Returns the work directory that overlayfs needs beside the layer.
    pub(super) fn work(self) -> PathBuf {
        self.part("work")
    }

    /// Returns the place to which the working directory is bound while an empty `/tmp` is mounted over it.
    pub(super) fn held(self) -> PathBuf {
        self.part("held")
    }

    /// Returns the parent of the directories that have no files of the machine.
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

    /// Converts a path of the programs to one of all processes of the run.
    ///
    /// # Errors
    /// The path is not absolute.
    pub fn below(self, path: &Path) -> Result<PathBuf> {
        below(&self.root(), path)
    }

    /// Mounts the file system at [`ROOT`] for the calling process and those that it starts. They have mounts of their
    /// own.
    pub(super) fn put_at_root(self) -> Result<()> {
        if self == Self::All {
            return Ok(());
        }
        fs::create_dir_all(ROOT).with_context(|| format!("create {ROOT}"))?;
        let all = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some(&self.root()), ROOT, None::<&str>, all, None::<&str>)
            .with_context(|| format!("bind {} to {ROOT}", self.root().display()))
    }

    /// Mounts a new file system on a directory.
    ///
    /// # Errors
    /// As `mount(2)`.
    pub fn mount_fresh(self, kind: &str, directory: &str, options: Option<&str>) -> Result<()> {
        mount_with(kind, &self.root().join(directory), MsFlags::empty(), options)
    }
}

/// Converts a path of the programs to one of their role.
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
