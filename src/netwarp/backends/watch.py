"""Watches one process, a guest or a native endpoint: it ends with this process, and its console,
clock and CPU time are observed.

This module knows nothing about jobs.
"""

import contextlib
import ctypes
import os
import re
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from netwarp.backends.launching import dying_with_parent
from netwarp.backends.process_tree import cpu_ticks, peak_rss_bytes, tree_cpu_s

PROGRESS = re.compile(rb"netwarp-progress (\d+(?:\.\d+)?)\s*")
LOOK_EVERY_S = 0.5
FIRST_LOOK_S = 0.004
CONSOLE_LIMIT_BYTES = 4 << 20
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Bounds:
    """Limits on a guest's CPU time and on its time without progress, beyond which it is killed.

    If a guest program spins, the virtual clock stops for ever; this is detected by CPU time without
    progress. If a guest waits for the host, it uses no CPU time; this is detected by wall time
    without progress.
    """

    stall_cpu_s: float = 120.0
    stall_wall_s: float = 900.0
    cpu_s: float = 3600.0


@dataclass(frozen=True)
class Ending:
    """How a watched process ended."""

    exit_code: int
    """Exit status of the process, or minus the number of the signal that ended it."""
    given_up: str | None
    """Reason why the process was killed; None if it ended by itself."""
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    """Peak memory in bytes of the run's largest process. It is sampled at intervals that double
    from some milliseconds to half a second, so growth after the last sample is not included.
    """
    virtual_s: float


def watch(
    process: subprocess.Popen[bytes],
    console: Path,
    bounds: Bounds,
    on_progress: Callable[[float], None],
    name_spinner: Callable[[int], str] = lambda _: "",
) -> Ending:
    """Follow a process to its end, and kill its whole group if it stalls.

    Args:
        process: a process that leads its own session, and whose standard output is a pipe.
        console: the file that receives its output, except for the progress lines.
        bounds: the bounds beyond which it is killed.
        on_progress: called with the guest's clock in seconds.
        name_spinner: called with the ID of a process group that uses CPU time without progress;
            returns a text that names the program.
    """
    adopt_orphans()
    watcher = _Watcher(process, bounds, on_progress, name_spinner)
    try:
        with console.open("wb") as log:
            watcher.follow(log)
    finally:
        kill_group(process)
        if process.stdout is not None:
            process.stdout.close()
    _, wait_status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(wait_status)
    left = list(reap_group(process.pid))
    usages = [usage, *left]
    return Ending(
        exit_code=process.returncode,
        given_up=watcher.given_up,
        wall_s=time.monotonic() - watcher.started,
        # The CPU time of processes that were killed in a PID namespace of their own is unknown.
        cpu_s=max(sum(each.ru_utime + each.ru_stime for each in usages), watcher.cpu_s),
        peak_rss_bytes=max([watcher.peak_rss_bytes, *(each.ru_maxrss * 1024 for each in left)]),
        virtual_s=watcher.virtual_s,
    )


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, such as those of a guest (prctl(2),
    PR_SET_CHILD_SUBREAPER).

    User-Mode Linux runs guest programs in host processes that it does not wait for when it ends;
    without this their CPU time, a large part of the total, would not be counted.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} (prctl, PR_SET_CHILD_SUBREAPER)")


def reap_group(group: int) -> Iterator[resource.struct_rusage]:
    """Wait for all remaining processes of a group, and yield the resource usage of each.

    They are this process's children once it has called `adopt_orphans`.
    """
    with contextlib.suppress(ChildProcessError):
        while True:
            yield os.wait4(-group, 0)[2]


class _Watcher:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        bounds: Bounds,
        on_progress: Callable[[float], None],
        name_spinner: Callable[[int], str],
    ) -> None:
        self.name_spinner = name_spinner
        self.process = process
        self.bounds = bounds
        self.on_progress = on_progress
        self.started = time.monotonic()
        self.given_up: str | None = None
        self.virtual_s = 0.0
        self.cpu_s = 0.0
        self.peak_rss_bytes = 0
        self._moved_wall = self.started
        self._moved_cpu_s = 0.0
        self._logged_bytes = 0

    def follow(self, log: IO[bytes]) -> None:
        stdout = self.process.stdout
        if stdout is None:
            raise ValueError("the process to watch needs standard output to be a pipe")
        pending = b""
        looked = self.started
        look_in_s = FIRST_LOOK_S
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while True:
                if selector.select(look_in_s):
                    data = os.read(stdout.fileno(), 65536)
                    if not data:
                        break
                    *lines, pending = (pending + data).split(b"\n")
                    if len(pending) > CONSOLE_LIMIT_BYTES:  # a line without end
                        lines, pending = [*lines, pending], b""
                    for line in lines:
                        self._handle_line(line, log)
                now = time.monotonic()
                if now - looked >= look_in_s:
                    looked = now
                    look_in_s = min(2 * look_in_s, LOOK_EVERY_S)
                    self._measure(now)
                    if self.given_up:
                        break
        if pending:
            self._handle_line(pending, log)

    def _handle_line(self, line: bytes, log: IO[bytes]) -> None:
        """Handle a line of the guest's console: store its progress, or write it to the log."""
        match = PROGRESS.fullmatch(line)
        if match is None:
            self._logged_bytes += len(line) + 1
            if self._logged_bytes <= CONSOLE_LIMIT_BYTES:
                log.write(line + b"\n")
                log.flush()
            return
        virtual_s = float(match[1])
        if virtual_s > self.virtual_s:
            self.virtual_s = virtual_s
            self._moved_wall = time.monotonic()
            self._moved_cpu_s = self.cpu_s
        self.on_progress(self.virtual_s)

    def _measure(self, now: float) -> None:
        """Measure CPU time and memory of the process, and set the reason to kill it if a bound is
        exceeded.
        """
        self.cpu_s = max(self.cpu_s, tree_cpu_s(self.process.pid))
        self.peak_rss_bytes = max(self.peak_rss_bytes, peak_rss_bytes(self.process.pid))
        at = f"its clock stood at {self.virtual_s:g} s"
        if self.cpu_s - self._moved_cpu_s > self.bounds.stall_cpu_s:
            self.given_up = (
                f"the run spins: {at} for {self.cpu_s - self._moved_cpu_s:.0f} s of CPU time"
                f" (limits.stall_cpu_s){self.name_spinner(self.process.pid)}"
            )
        elif now - self._moved_wall > self.bounds.stall_wall_s:
            self.given_up = f"the run hangs: {at} for {now - self._moved_wall:.0f} s"
        elif self.cpu_s > self.bounds.cpu_s:
            self.given_up = (
                f"the run took more than {self.bounds.cpu_s:.0f} s of CPU time, which no key"
                " raises: give it less to do"
            )


def ticks_spent(pid: int, watched_s: float) -> dict[int, int]:
    """Return the CPU time, in ticks, that a process and each of its living descendants use within
    `watched_s` seconds, by process ID.
    """
    before = cpu_ticks(pid)
    time.sleep(watched_s)
    return {each: ticks - before.get(each, 0) for each, ticks in cpu_ticks(pid).items()}


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own session, and all its descendants in that session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def ending_with_us(command: Sequence[str | Path]) -> list[str | Path]:
    """Return the command prefix whose program dies with the thread that starts it, even if that is
    killed with SIGKILL.

    The kernel kills it once it has been asked to (`prctl(2)`, PR_SET_PDEATHSIG). If the parent died
    before that, the process already has another parent; the shell checks this. PWD, which the shell
    sets, is removed, because it would make a guest's memory layout depend on the run directory's
    path.
    """
    still_ours = '[ "$PPID" = "$0" ] && unset PWD OLDPWD && exec "$@"'
    return [*dying_with_parent(), "sh", "-c", still_ours, str(os.getpid()), *command]
