//! Moves a process into private network namespaces on the host's kernel: as root, or through a user namespace.

use std::fs;

use anyhow::{Error, Result, anyhow};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Pid, Uid, getegid, geteuid};

use crate::netns::NetNs;

/// Whose capabilities allow network namespaces to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// The capabilities of the caller itself.
    Own,
    /// The capabilities of the caller as root of a new user namespace.
    UserNamespace,
}

/// Moves the caller, which must have one thread, into a new network namespace, so that its changes do not affect the
/// host. Namespaces disappear with the last process in them.
///
/// # Errors
/// The host forbids it; the message names the setting that forbids it and the command that changes it.
pub fn enter_private_netns() -> Result<Privilege> {
    if NetNs::create().is_ok() {
        return Ok(Privilege::Own);
    }
    enter_private_userns()?;
    Ok(Privilege::UserNamespace)
}

/// Moves the caller, which must have one thread, into a new network namespace and a new user namespace, in which the
/// caller is root, whatever user it is outside.
///
/// # Errors
/// As [`enter_private_netns`].
pub fn enter_private_userns() -> Result<()> {
    enter_userns()?;
    let attempt = "create a network namespace in a user namespace (unshare CLONE_NEWNET)";
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| refused(attempt, errno))
}

/// Moves the caller, which must have one thread, into a new user namespace, in which the caller is root, whatever user
/// it is outside. It keeps its network namespace, but has no rights over it.
///
/// # Errors
/// As [`enter_private_netns`].
pub fn enter_userns() -> Result<()> {
    let caller = Caller::now();
    let attempt = "create a user namespace (unshare CLONE_NEWUSER)";
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| refused(attempt, errno))?;
    caller.become_root().map_err(|(attempt, errno)| refused(attempt, errno))
}

fn refused(attempt: &str, errno: Errno) -> Error {
    anyhow!("cannot {attempt}: {}; {}", errno.desc(), NamespaceSysctls::read().remedy(errno))
}

/// The caller's user and group, as seen outside the user namespace that it enters.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    user: Uid,
    group: Gid,
}

impl Caller {
    /// Returns the caller's current user and group.
    pub fn now() -> Self {
        Self { user: geteuid(), group: getegid() }
    }

    /// Returns whether the caller is root.
    pub fn is_root(self) -> bool {
        self.user.is_root()
    }

    /// Maps user and group IDs unchanged into a process's new user namespace: all of them if the caller is root,
    /// otherwise only the caller's own. IDs that are not mapped appear as nobody.
    ///
    /// # Errors
    /// What the host refused to do, and its error.
    pub fn keep_identity(self, process: Pid) -> Result<(), (&'static str, Errno)> {
        let write = |file: &str, text: &str| fs::write(format!("/proc/{process}/{file}"), text);
        let every = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).map(|map| identity(&map));
        let all = || {
            write("uid_map", &every("uid_map")?)?;
            write("gid_map", &every("gid_map")?)
        };
        let own = || {
            write("setgroups", "deny")?;
            write("uid_map", &format!("{0} {0} 1", self.user))?;
            write("gid_map", &format!("{0} {0} 1", self.group))
        };
        let mapped = if self.is_root() { all() } else { own() };
        mapped.map_err(|error| ("map users into a user namespace", errno_of(&error)))
    }

    /// Makes the caller root in the user namespace that it has just entered. `setgroups` must be denied before an
    /// unprivileged process may write its group map (user_namespaces(7)).
    ///
    /// # Errors
    /// What the host refused to do, and its error.
    pub fn become_root(self) -> Result<(), (&'static str, Errno)> {
        for (file, text) in [
            ("/proc/self/setgroups", "deny".to_owned()),
            ("/proc/self/uid_map", format!("0 {} 1", self.user)),
            ("/proc/self/gid_map", format!("0 {} 1", self.group)),
        ] {
            fs::write(file, text).map_err(|error| ("map the user into a user namespace", errno_of(&error)))?;
        }
        Ok(())
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Returns the map of a nested namespace in which every ID of `map` keeps its number. Lines are as in
/// user_namespaces(7): first ID inside, first outside, number of IDs.
fn identity(map: &str) -> String {
    let lines = map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (first, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    });
    lines.collect()
}

/// The values of the host's sysctls that can forbid namespaces; `None` for a sysctl that the kernel lacks.
#[derive(Debug, Clone, Copy, Default)]
struct NamespaceSysctls {
    /// Debian's `kernel.unprivileged_userns_clone`.
    unprivileged_clone: Option<u64>,
    /// Ubuntu's `kernel.apparmor_restrict_unprivileged_userns` (since 23.10).
    apparmor_restricts: Option<u64>,
    user_namespaces_at_most: Option<u64>,
    network_namespaces_at_most: Option<u64>,
}

impl NamespaceSysctls {
    fn read() -> Self {
        let read = |key: &str| fs::read_to_string(format!("/proc/sys/{key}")).ok()?.trim().parse().ok();
        Self {
            unprivileged_clone: read("kernel/unprivileged_userns_clone"),
            apparmor_restricts: read("kernel/apparmor_restrict_unprivileged_userns"),
            user_namespaces_at_most: read("user/max_user_namespaces"),
            network_namespaces_at_most: read("user/max_net_namespaces"),
        }
    }

    /// Returns a text that names the setting that forbids namespaces, and the command that changes it.
    fn remedy(self, errno: Errno) -> String {
        const OTHERWISE: &str = "or run as root, or use the virtual backend, which needs no privilege";
        let set = |key: &str, why: &str, value: &str| format!("{key} {why}: `sysctl -w {key}={value}`, {OTHERWISE}");
        match errno {
            Errno::ENOSPC if self.user_namespaces_at_most == Some(0) => {
                set("user.max_user_namespaces", "is 0", "15000")
            }
            Errno::ENOSPC if self.network_namespaces_at_most == Some(0) => {
                set("user.max_net_namespaces", "is 0", "15000")
            }
            Errno::ENOSPC => set("user.max_user_namespaces", "or user.max_net_namespaces is used up", "100000"),
            Errno::EPERM | Errno::EACCES if self.unprivileged_clone == Some(0) => {
                set("kernel.unprivileged_userns_clone", "is 0", "1")
            }
            Errno::EPERM | Errno::EACCES if self.apparmor_restricts == Some(1) => {
                set("kernel.apparmor_restrict_unprivileged_userns", "is 1", "0")
            }
            Errno::EPERM | Errno::EACCES => format!(
                "no sysctl forbids it, so a container's seccomp filter or a security module does: start the container \
                 with `--security-opt seccomp=unconfined --cap-add SYS_ADMIN --cap-add NET_ADMIN`, {OTHERWISE}"
            ),
            Errno::EINVAL => {
                format!("the kernel has no user namespaces (CONFIG_USER_NS): boot one that has, {OTHERWISE}")
            }
            _ => format!("run as root, {OTHERWISE}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_keeps_every_user_names_the_same_ones_twice() {
        assert_eq!(identity("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identity("0 1000 1\n1 100000 65536\n"), "0 0 1\n1 1 65536\n");
    }

    #[test]
    fn each_obstacle_is_named_with_the_command_that_removes_it() {
        let sysctls = NamespaceSysctls::default();
        let cases = [
            (
                NamespaceSysctls { unprivileged_clone: Some(0), ..sysctls },
                Errno::EPERM,
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                NamespaceSysctls { unprivileged_clone: Some(1), apparmor_restricts: Some(1), ..sysctls },
                Errno::EPERM,
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            (
                NamespaceSysctls { user_namespaces_at_most: Some(0), ..sysctls },
                Errno::ENOSPC,
                "user.max_user_namespaces=15000",
            ),
            (
                NamespaceSysctls { network_namespaces_at_most: Some(0), ..sysctls },
                Errno::ENOSPC,
                "user.max_net_namespaces=15000",
            ),
            (NamespaceSysctls { user_namespaces_at_most: Some(9), ..sysctls }, Errno::ENOSPC, "is used up"),
            (NamespaceSysctls { apparmor_restricts: Some(0), ..sysctls }, Errno::EPERM, "seccomp=unconfined"),
            (sysctls, Errno::EINVAL, "CONFIG_USER_NS"),
        ];
        for (sysctls, errno, remedy) in cases {
            let told = sysctls.remedy(errno);
            assert!(told.contains(remedy), "{errno}: {told}");
            assert!(told.contains("virtual backend"), "{told}");
        }
    }
}
