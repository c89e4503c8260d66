"""Runs the server's role of a run: the endpoint's process, with limits on its resources, and with
the job as its only input.

If the job has a command, the endpoint contains it (endpoint/src/role/containment.rs).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from netwarp.backends.remote.memory_group import NoGroupError, memory_group
from netwarp.backends.watch import adopt_orphans, ending_with_us, kill_group, reap_group
from netwarp.file_trees import temporary_directory
from netwarp.run_directory import JOB_FILE
from netwarp.units import NS_PER_S
from netwarp.wire import job_to_json
from netwarp.workloads import workload_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.backends.remote.admission import Limits
    from netwarp.backends.remote.commands import Containment
    from netwarp.wire import Job

READ_BYTES = 64 << 10
LONGEST_LINE_BYTES = 7 << 20
"""Longest line in bytes: a record with 1 MiB of a program's output, of which every byte is
escaped.
"""
MOST_FILES = 2048
"""Maximum number of open files of a role: two for each connection."""
CONSOLE_TAIL_BYTES = 4096
"""Bytes at the end of a role's console that are searched for its last line."""
LARGEST_FILE_BYTES = 1 << 20
"""Maximum size in bytes of a file that a role writes; a command's file may take half of its
memory."""
OWN_BYTES = 64 << 20
"""Memory in bytes of the role itself, in addition to its command's."""
NOBODY = 65534
"""User and group ID of a role that runs as nobody (`endpoint/programs/src/privileges.rs`)."""
ROLE_MESSAGES_ON_STDOUT = 'exec "$@" 3>&1 1>&2'
"""Shell command that starts a role with its standard output as descriptor 3, on which it sends its
messages; dash supports only descriptors of one digit."""


class RoleError(Exception):
    """The role violates the role protocol."""


class ServerRole:
    """A running role of a server, with a temporary directory that is removed with it.

    Args:
        endpoint: the program.
        job: the job, which has been admitted.
        address: the address at which it listens.
        peer: the only host whose connections it accepts.
        token: the token with which requests begin.
        limits: the limits on its resources.
        containment: how a job's command is contained; if None, the endpoint refuses jobs with
            commands.
    """

    def __init__(
        self, endpoint: Path, job: Job, address: tuple[str, int], peer: str, token: str,
        limits: Limits, containment: Containment | None = None,
    ) -> None:  # fmt: skip
        # so that a command's processes can be killed even if their parent dies before them
        adopt_orphans()
        self.token = token
        self.until_s = time.monotonic() + min(limits.run_s, job.limits.virtual_ns / NS_PER_S + 30)
        self._unread = b""
        self._ordered: set[str] = set()
        with contextlib.ExitStack() as unless_started:
            place = unless_started.enter_context(temporary_directory("netwarp-serve-"))
            (place / JOB_FILE).write_text(job_to_json(job))
            where = ["--address", address[0], "--port", str(address[1]), "--only-from", peer]
            role: list[str | Path]
            bounded = ["prlimit", *_bounds(job, limits), "--"]
            if containment is not None and workload_of(job).server_command(job) is not None:
                role = [endpoint, "serve-contained", *containment.options]
                with contextlib.suppress(NoGroupError):  # serve reported this when it started
                    most_bytes = workload_of(job).memory_bytes(job) + OWN_BYTES
                    group = memory_group(place.name, most_bytes)
                    unless_started.callback(group.remove)
                    bounded = [*group.joining, *bounded]
            else:
                role = [endpoint, "confine", "--as-nobody", "--writable", "."]
                role += ["--", endpoint, "server"]
                _give_to_nobody(place)
            # The role starts in its directory, because the user nobody may not be able to reach it
            # by its path.
            role += ["--job", f"./{JOB_FILE}", *where]
            command = ending_with_us([*bounded, "sh", "-c", ROLE_MESSAGES_ON_STDOUT, "sh", *role])
            # The file has no name: otherwise the role could replace it.
            console = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - until `close`
            self._console = unless_started.enter_context(console)
            self._process = _started(command, place, self._console)
            unless_started.callback(_end, self._process)
            self._orders, self._messages = _pipes(self._process)
            self._held = unless_started.pop_all()

    def fileno(self) -> int:
        """Return the descriptor of the role's standard output, for `select`."""
        return self._messages

    def begin(self, epoch_ns: int) -> None:
        """Order the role to begin."""
        order = {"order": "begin", "epoch_ns": epoch_ns, "certificate": None, "token": self.token}
        self._order(order)

    def finish(self) -> None:
        """Tell the role that no more clients will connect."""
        self._order({"order": "finish"})

    def said(self) -> Sequence[str] | None:
        """Return the lines that the role has printed since the last call; None if the role has
        ended.

        Raises:
            RoleError: a line is too long.
        """
        data = os.read(self.fileno(), READ_BYTES)
        if not data:
            return None
        *lines, self._unread = (self._unread + data).split(b"\n")
        if len(self._unread) > LONGEST_LINE_BYTES:
            raise RoleError(f"a message of more than {LONGEST_LINE_BYTES} bytes")
        return [line.decode(errors="replace") for line in lines]

    def how_it_ended(self) -> str | None:
        """Wait until the role has ended, and return the reason of its failure; None if it
        succeeded.
        """
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its messages and went on"
        if status == 0:
            return None
        printed = self._console_tail().strip().splitlines()
        tail = f": {printed[-1][:500]}" if printed else ""
        ended = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return f"the server {ended}{tail}"

    def _console_tail(self) -> str:
        console = self._console.fileno()
        first = max(0, os.fstat(console).st_size - CONSOLE_TAIL_BYTES)
        return os.pread(console, CONSOLE_TAIL_BYTES, first).decode(errors="replace")

    def close(self) -> None:
        """Kill the role and all processes that it has started, and remove its files."""
        self._held.close()

    def _order(self, order: dict[str, object]) -> None:
        """Write an order to the role's standard input. Each kind is written once, so that the pipe
        never fills. After the role's end nothing is written; `said` then returns None.
        """
        kind = str(order["order"])
        if kind in self._ordered:
            return
        self._ordered.add(kind)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, json.dumps(order).encode() + b"\n")


def _started(command: list[str | Path], place: Path, console: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a role's process in a separate session, with pipes to and from it."""
    return subprocess.Popen(
        command,
        cwd=place,
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=console,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a role's process and all processes that it has started."""
    kill_group(process)
    process.wait()
    for _ in reap_group(process.pid):
        pass
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _give_to_nobody(place: Path) -> None:
    """Make the user whose rights the role has (`confine --as-nobody`) the owner of its
    directory.
    """
    if os.geteuid() == 0:
        # An ordinary user's user namespace does not map nobody, so the role runs as that user.
        with contextlib.suppress(OSError):
            for path in (place, place / JOB_FILE):
                os.chown(path, NOBODY, NOBODY)


def _bounds(job: Job, limits: Limits) -> list[str]:
    """Return the resource limits of a role's process and its descendants, as options of
    prlimit(1).
    """
    workload = workload_of(job)
    has_command = workload.server_command(job) is not None
    file_bytes = workload.memory_bytes(job) // 2 if has_command else LARGEST_FILE_BYTES
    bounds = {
        "as": limits.memory_bytes,
        "nofile": MOST_FILES,
        "fsize": file_bytes,
        "cpu": int(limits.run_s) + 1,
        "core": 0,
    }
    return [f"--{name}={most}" for name, most in bounds.items()]


def _pipes(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Return the descriptors of a process's standard input and output, which are pipes."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("the role needs pipes for its orders and messages")
    return process.stdin.fileno(), process.stdout.fileno()
