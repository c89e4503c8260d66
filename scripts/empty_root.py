"""Roots of Debian that have nothing but Python, and commands that an ordinary user runs in them."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

USER = 1000
HOME = "/home/user"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
SHARED = Path("/mnt")
"""Where a directory of this machine is seen in a root."""

# pivot_root, not chroot: the kernel gives nobody a user namespace who lives in a chroot.
ENTER = """
set -eu
root=$1 shared=$2 command=$3
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$shared" "$root/mnt"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
cd "$root"
mkdir -p put_old
eval "$RESTRICT"
if [ "$ENTER" = chroot ]; then exec chroot . sh -c "$command"; fi
pivot_root . put_old
cd /
umount -l put_old
exec sh -c "$command"
"""


@dataclass(frozen=True)
class Root:
    """A root in a directory, of one suite of Debian."""

    directory: Path
    suite: str

    def make(self, mirror: str) -> None:
        """Make it, unless it is there: the base system without recommended packages, and Python."""
        if (self.directory / "home" / "user").is_dir():
            return
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        options = ("--variant=minbase", "--include=ca-certificates,python3,python3-venv")
        command = ["debootstrap", *options, self.suite, str(self.directory), mirror]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with (self.directory / "etc" / "passwd").open("a") as users:
            users.write(f"user:x:{USER}:{USER}::{HOME}:/bin/sh\n")
        (self.directory / "etc" / "resolv.conf").touch()
        home = self.directory / HOME.lstrip("/")
        home.mkdir(parents=True)
        os.chown(home, USER, USER)

    def run(
        self, command: str, shared: Path, *, restrict: str = "", chroot: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a line of the shell in it, as an ordinary user.

        Args:
            command: the line.
            shared: the directory that is `SHARED` there.
            restrict: lines of the shell that root runs before, in the root's directory; they may
                export BEFORE, words that are put before the command.
            chroot: whether to enter it as most tools do, which forbids user namespaces.
        """
        given = {"HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                 "PIP_CERT": str(CERTIFICATES)}  # fmt: skip
        given |= {name: value for name, value in os.environ.items() if _is_of_network(name)}
        words = [f"{name}={value}" for name, value in given.items()]
        as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "env", "-i"]
        line = f"exec {shlex.join([*as_user, *words])} $BEFORE sh -c {shlex.quote(command)}"
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "enter",
             self.directory, shared, line],
            env={"PATH": os.environ["PATH"], "BEFORE": "", "RESTRICT": restrict,
                 "ENTER": "chroot" if chroot else "pivot_root"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip


def _is_of_network(name: str) -> bool:
    """Return whether a variable says how this machine reaches a registry."""
    return name.lower().endswith("_proxy") or name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
