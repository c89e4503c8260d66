"""A control group that bounds the memory of all processes of a server's run together (cgroups(7)).

In general only root can create one. If one can be created, it limits the total memory of contained
commands; otherwise the memory of each of their processes is limited separately.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
OF_PROCESS = Path("/proc/self/cgroup")
GONE_WITHIN_S = 2.0
"""Maximum time in s to wait until the kernel has reaped the last process of a group, which cannot
be removed until then."""


class NoGroupError(Exception):
    """No control group can be created on this host; the message says why."""


@dataclass(frozen=True)
class MemoryGroup:
    """A control group, created without processes."""

    directory: Path

    @property
    def joining(self) -> list[str]:
        """The command prefix that joins the group before it executes its program."""
        join = 'echo 0 > "$1/cgroup.procs" && shift && exec "$@"'
        return ["sh", "-c", join, "sh", str(self.directory)]

    def remove(self) -> None:
        """Remove the group, once its processes have ended."""
        until_s = time.monotonic() + GONE_WITHIN_S
        while time.monotonic() < until_s:
            try:
                return self.directory.rmdir()
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.01)
        return None


def memory_group(name: str, most_bytes: int) -> MemoryGroup:
    """Create a control group.

    Args:
        name: the name of its directory.
        most_bytes: the limit of the memory of all its processes together, including files in
            memory.

    Raises:
        NoGroupError: this host or user cannot create one.
    """
    if os.geteuid() != 0:
        raise NoGroupError("only root makes control groups")
    reasons = []
    for parent, file in _places():
        directory = parent / name
        try:
            directory.mkdir()
        except OSError as error:
            reasons.append(f"{parent}: {error.strerror}")
            continue
        try:
            # The file does not exist if the memory controller is off.
            with (directory / file).open("r+") as bound:
                bound.write(str(most_bytes))
        except OSError as error:
            reasons.append(f"{directory / file}: {error.strerror}")
            directory.rmdir()
            continue
        _forbid_swap(directory)
        return MemoryGroup(directory)
    raise NoGroupError("; ".join(reasons) or f"no control groups in {MOUNT}")


def memory_text() -> str:
    """Return as text what limits the memory of commands on this host."""
    try:
        memory_group(f"netwarp-try-{os.getpid()}", 1 << 30).remove()
    except NoGroupError as error:
        return (
            "the memory of commands is bounded for each process (4 GiB), not in sum, since no"
            f" control group can be made ({error}): start serve in one, as with"
            " `systemd-run --scope -p MemoryMax=4G`"
        )
    return "the memory of a command is bounded in sum, by a control group of each run"


def _places() -> Iterator[tuple[Path, str]]:
    """Yield directories in which a control group may be created, each with the name of the file
    that sets the group's memory limit.
    """
    with contextlib.suppress(OSError):
        for line in OF_PROCESS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "memory":
                yield MOUNT / "memory" / path.lstrip("/"), "memory.limit_in_bytes"
            elif not controllers:
                yield MOUNT / path.lstrip("/"), "memory.max"
                # A group with processes cannot delegate controllers to its children. The root group
                # can, but a service has bounds set by its owner, which its processes must not
                # escape.
                if not path.endswith((".service", ".scope")) or "/session-" in path:
                    yield MOUNT, "memory.max"


def _forbid_swap(directory: Path) -> None:
    """Forbid swapping for the group, if the kernel accounts for it, so that a command that needs
    too much memory fails instead of being swapped to disk.
    """
    with contextlib.suppress(OSError), (directory / "memory.swap.max").open("r+") as bound:
        bound.write("0")
