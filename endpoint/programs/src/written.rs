//! Copies the files that programs wrote from the layer in memory to the run directory.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::files_of::{EMPTIED, FilesOf};
use super::root::NAME_FILES;

/// The name of the directory for these files in the run directory.
pub const KEPT: &str = "written";

/// Copies all files and links that programs wrote to `directory`, each at its own path below it; if each host has
/// separate files, below a directory with the host's name.
///
/// Sockets, devices, empty directories and deleted files are left out.
///
/// # Errors
/// A file cannot be copied, usually because the disk is full.
pub fn keep(is_shared: bool, hosts: &[&str], directory: &Path) -> Result<()> {
    if is_shared {
        return keep_all(FilesOf::All, directory);
    }
    hosts.iter().try_for_each(|host| keep_all(FilesOf::One(host), &directory.join(host)))
}

fn keep_all(files: FilesOf<'_>, directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))?;
    copy_below(&files.written(), directory, Path::new(""))?;
    for emptied in EMPTIED {
        let from = files.below(&Path::new("/").join(emptied))?;
        copy_below(&from, &directory.join(emptied), Path::new(emptied))?;
    }
    Ok(())
}

/// Copies everything below a directory, without entering other file systems.
fn copy_below(from: &Path, to: &Path, seen_at: &Path) -> Result<()> {
    let attempt = || format!("keep what programs wrote in /{}", seen_at.display());
    let device = fs::symlink_metadata(from).with_context(attempt)?.dev();
    for entry in fs::read_dir(from).with_context(attempt)? {
        let entry = entry.with_context(attempt)?;
        let seen_at = seen_at.join(entry.file_name());
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let about = fs::symlink_metadata(&source).with_context(attempt)?;
        let kind = about.file_type();
        let is_ours = NAME_FILES.iter().any(|name| seen_at == Path::new("etc").join(name));
        if kind.is_dir() && about.dev() == device {
            copy_below(&source, &target, &seen_at)?;
        } else if (kind.is_file() || kind.is_symlink()) && !is_ours {
            let attempt = || format!("keep /{}, which a program wrote", seen_at.display());
            fs::create_dir_all(to).with_context(attempt)?;
            if kind.is_symlink() {
                symlink(fs::read_link(&source).with_context(attempt)?, &target).with_context(attempt)?;
            } else {
                // `fs::copy` would give the copy all of the mode first, and a guest may make nothing set-user-ID.
                let mut written = File::open(&source).with_context(attempt)?;
                let mut copy = File::create(&target).with_context(attempt)?;
                io::copy(&mut written, &mut copy).with_context(attempt)?;
                // No copy is a set-user-ID program, or a file that the user cannot remove.
                let mode = about.mode() & 0o755 | 0o600;
                fs::set_permissions(&target, Permissions::from_mode(mode)).with_context(attempt)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_links_are_copied_and_nothing_else() {
        let place = std::env::temp_dir().join(format!("netwarp-written-{}", std::process::id()));
        let (from, to) = (place.join("from"), place.join("to"));
        for directory in ["etc", "var/log", "empty"] {
            fs::create_dir_all(from.join(directory)).unwrap();
        }
        fs::write(from.join("var/log/access"), "GET /").unwrap();
        fs::set_permissions(from.join("var/log/access"), Permissions::from_mode(0o4000)).unwrap();
        fs::write(from.join("etc/hosts"), "ours").unwrap();
        symlink("/nowhere", from.join("var/link")).unwrap();
        copy_below(&from, &to, Path::new("")).unwrap();
        let mode = fs::metadata(to.join("var/log/access")).unwrap().mode();
        let link = fs::read_link(to.join("var/link")).unwrap();
        let others = ["etc", "empty"].map(|name| to.join(name).exists());
        fs::remove_dir_all(&place).unwrap();
        assert_eq!((mode & 0o7777, link.as_path(), others), (0o600, Path::new("/nowhere"), [false, false]));
    }
}
