"""Finds which program of a guest spins, that is uses CPU time and never waits; from outside,
because the guest's clock stands still.

Each guest program runs in a separate host process (arch/um, stub processes named `uml-userspace`),
whose memory is the program's. Its command line is at the top of its stack, as the kernel put it
there (fs/binfmt_elf.c, create_elf_tables): argc, pointers to the arguments, null.
"""

from __future__ import annotations

import contextlib
import shlex
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netwarp.backends.process_tree import process_tree
from netwarp.backends.watch import ticks_spent
from netwarp.run_files import read_tail

# The address at which the stack of a guest program ends with `norandmaps`.
STACK_TOP = 0x7F7F_FFFF_E000
PAGE_BYTES = 4096
MOST_PAGES = 32
USERSPACE = "uml-userspace"
POINTER_BYTES = 8
WATCHED_S = 0.5
OUTPUT_TAIL_BYTES = 4096
KEPT_OUTPUT_BYTES = 64 << 20
"""Maximum number of bytes that are kept of the output of a program (`KEPT_BYTES` in
endpoint/programs/src/output.rs)."""
ALONE = 0.9
"""Minimum share of a guest's CPU time by which a program is found to spin without system calls."""
KERNEL_ALONE = 0.02
"""Minimum share of a guest's CPU time that a program uses if it spins; below it, it is the guest's
kernel that spins."""
ENDPOINT_LINK = "endpoint"
"""Name of the link to the endpoint in the directory of a guest's run."""
ASKS = (
    "asks over and over, and never waits{printed}: the clock stands still until all wait. Another"
    " version or mode of it may wait (poll, epoll) where this one asks; one that waits for a coarse"
    " clock needs --set workload.coarse_clocks=exact; in real time (--backend native) it may ask"
)
COMPUTES = (
    "computes without a system call{printed}, and no time passes until all wait: neither a timer"
    " nor another program can end that. If it ends by itself, raise that; if it waits for a signal"
    " or another thread in a loop, have it wait (poll, futex), or run in real time (--backend"
    " native)"
)
"""The message about a program that spins. docs/exec.md quotes it."""
KERNEL_WORKS = (
    "the guest's kernel computes and none of its programs does, as when its memory is full"
    " (--memory, in a study workload.memory) or when it has more packets to send than that allows"
)
OWN_NAMES = (ENDPOINT_LINK, "netwarp-endpoint")
"""The names of netwarp's own processes in a guest."""


@dataclass(frozen=True)
class Spinning:
    """A guest program that uses CPU time and never waits."""

    command: tuple[str, ...]
    """The command line of the program in the guest; empty if it is the guest's kernel that uses the
    CPU.
    """
    asks: bool
    """Whether the program makes system calls. If not, it only computes, and the guest's kernel, a
    separate process, is idle."""


def spinning(pid: int, watched_s: float = WATCHED_S) -> Spinning | None:
    """Return the program of a guest that uses the most CPU time at present.

    Args:
        pid: the process whose descendants belong to the guest.
        watched_s: the time in seconds over which CPU time is measured.

    Returns:
        The program; None if the command line of none can be read.
    """
    spent = ticks_spent(pid, watched_s)
    programs = {each: spent.get(each, 0) for each in _userspace(pid)}
    busiest = max(programs, key=programs.__getitem__, default=None)
    if busiest is None:
        return None
    of_all = programs[busiest] / max(1, sum(spent.values()))
    if of_all < KERNEL_ALONE:
        return Spinning((), asks=False)
    command = command_line(_top_of_stack(busiest), STACK_TOP)
    return None if command is None else Spinning(command, asks=of_all < ALONE)


def command_line(stack: bytes, top: int) -> tuple[str, ...] | None:
    """Return a program's arguments, read from the top of its stack; None if they are not found
    there.

    The texts of the arguments are contiguous, and the first text of the environment follows the
    last of them. Other data that looks like a list of pointers does not have this property.

    Args:
        stack: the bytes below an address.
        top: that address.
    """
    base = top - len(stack)
    words = struct.unpack(f"<{len(stack) // POINTER_BYTES}Q", stack)
    for index, count in enumerate(words):
        end = index + 1 + count
        if count == 0 or end + 1 >= len(words) or words[end] != 0:
            continue
        # The null word in between is not a pointer.
        pointers = (*words[index + 1 : end], words[end + 1])
        if not all(base <= pointer < top for pointer in pointers):
            continue
        texts = [stack[pointer - base :].partition(b"\0")[0] for pointer in pointers]
        ends = [pointer + len(text) + 1 for pointer, text in zip(pointers, texts, strict=True)]
        if ends[:-1] == list(pointers[1:]):
            return tuple(text.decode(errors="replace") for text in texts[:-1])
    return None


def _userspace(pid: int) -> Iterator[int]:
    """Yield the process IDs of the host processes that run a guest's programs."""
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # the process ended between two readings
            if Path(f"/proc/{each}/comm").read_text().startswith(USERSPACE):
                yield each


def _top_of_stack(pid: int) -> bytes:
    """Return the bytes of a process's stack, from its top downwards as far as its pages are
    mapped.
    """
    stack = b""
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            for page in range(1, MOST_PAGES + 1):
                memory.seek(STACK_TOP - page * PAGE_BYTES)
                stack = memory.read(PAGE_BYTES) + stack
    except OSError:
        pass  # a page that is not mapped: the stack ends above it
    return stack


def spinner_text(directory: Path, pid: int) -> str:
    """Return as text which of a guest's programs spins, how, what it printed last, and what the
    user can do.
    """
    found = spinning(pid)
    if found is None:
        return ""
    if not found.command:
        return f": {KERNEL_WORKS}"
    if Path(found.command[0]).name in OWN_NAMES:
        flooded = _flooded(directory)
        if flooded is not None:
            return f": a program prints without end, of which {flooded} has the beginning"
        return ": netwarp's own endpoint computes; give it less to do, or raise that"
    said = last_line(directory)
    printed = f" (the last that was printed: {said})" if said else ""
    told = ASKS if found.asks else COMPUTES
    return f": {shlex.join(found.command)} {told.format(printed=printed)}"


def _flooded(run: Path) -> str | None:
    """Return the name of an output file that has reached the maximum size, if there is one: the
    endpoint drops all further output of its program.
    """
    full = (path.name for path in run.glob("*.std*") if path.lstat().st_size >= KEPT_OUTPUT_BYTES)
    return next(full, None)


def last_line(run: Path) -> str | None:
    """Return the last line that a run's programs printed; None if there is none."""
    files = [(path, path.lstat()) for path in run.glob("*.std*")]
    found = [(about.st_mtime_ns, path) for path, about in files if about.st_size]
    try:
        lines = read_tail(max(found)[1], OUTPUT_TAIL_BYTES).split("\n")
    except (OSError, ValueError):
        return None
    return next((line.strip() for line in reversed(lines) if line.strip()), None)
