"""The server's role of one run: the endpoint, watched, with nothing but its job.

Where the job has a command, the endpoint contains it (endpoint/src/role/containment.rs).
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
"""Most bytes of a line: a record with 1 MiB of a program's output, every byte of it escaped."""
MOST_FILES = 2048
"""Most open files of a role: two for each connection."""
CONSOLE_TAIL_BYTES = 4096
"""Bytes of a role's console in which its last line is looked for."""
LARGEST_FILE_BYTES = 1 << 20
"""Most bytes of a file that a role writes; a file of a command's may have half of its memory."""
OWN_BYTES = 64 << 20
"""Memory of the role itself in bytes, beside its command's."""
NOBODY = 65534
"""User and group ID of a role that runs as nobody (`endpoint/programs/src/privileges.rs`)."""
ROLE_MESSAGES_ON_STDOUT = 'exec "$@" 3>&1 1>&2'
"""Descriptor 3 is where a role sends its messages, and dash knows descriptors of one digit only."""


class RoleError(Exception):
    """The role violates the role protocol."""


class ServerRole:
    """A server's role under way, in a directory of its own that goes with it.

    Args:
        endpoint: the program.
        job: admitted.
        address: where it listens.
        peer: the one host that it listens to.
        token: what requests begin with.
        limits: what it may take.
        containment: of a job with a command; without, the endpoint refuses it.
    """

    def __init__(
        self, endpoint: Path, job: Job, address: tuple[str, int], peer: str, token: str,
        limits: Limits, containment: Containment | None = None,
    ) -> None:  # fmt: skip
        adopt_orphans()  # the processes of a command, should their parent be killed before them
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
                with contextlib.suppress(NoGroupError):  # serve has said so when it started
                    most_bytes = workload_of(job).memory_bytes(job) + OWN_BYTES
                    group = memory_group(place.name, most_bytes)
                    unless_started.callback(group.remove)
                    bounded = [*group.joining, *bounded]
            else:
                role = [endpoint, "confine", "--as-nobody", "--writable", "."]
                role += ["--", endpoint, "server"]
                _give_to_nobody(place)
            # It starts in its directory, to which nobody may have no way by its path.
            role += ["--job", f"./{JOB_FILE}", *where]
            command = ending_with_us([*bounded, "sh", "-c", ROLE_MESSAGES_ON_STDOUT, "sh", *role])
            # Without a name: the role could put anything in place of a file of its directory.
            console = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - until `close`
            self._console = unless_started.enter_context(console)
            self._process = _started(command, place, self._console)
            unless_started.callback(_end, self._process)
            self._orders, self._messages = _pipes(self._process)
            self._held = unless_started.pop_all()

    def fileno(self) -> int:
        """Return the descriptor of its standard output."""
        return self._messages

    def begin(self, epoch_ns: int) -> None:
        """Order it to begin."""
        order = {"order": "begin", "epoch_ns": epoch_ns, "certificate": None, "token": self.token}
        self._order(order)

    def finish(self) -> None:
        """Tell it that no more clients will come."""
        self._order({"order": "finish"})

    def said(self) -> Sequence[str] | None:
        """Return the lines that have arrived; None when it has ended.

        Raises:
            RoleError: a line without end.
        """
        data = os.read(self.fileno(), READ_BYTES)
        if not data:
            return None
        *lines, self._unread = (self._unread + data).split(b"\n")
        if len(self._unread) > LONGEST_LINE_BYTES:
            raise RoleError(f"a message of more than {LONGEST_LINE_BYTES} bytes")
        return [line.decode(errors="replace") for line in lines]

    def how_it_ended(self) -> str | None:
        """Wait for its end, and give the reason of its failure; None where it ended well."""
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
        """Kill it and all that it has started, and remove its files."""
        self._held.close()

    def _order(self, order: dict[str, object]) -> None:
        """Write an order. Each kind is written once, so the pipe never fills. To a role that has
        ended nothing is written: its caller learns of that elsewhere.
        """
        kind = str(order["order"])
        if kind in self._ordered:
            return
        self._ordered.add(kind)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, json.dumps(order).encode() + b"\n")


def _started(command: list[str | Path], place: Path, console: IO[bytes]) -> subprocess.Popen[bytes]:
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
    """Kill a role and all that it has started."""
    kill_group(process)
    process.wait()
    for _ in reap_group(process.pid):
        pass
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _give_to_nobody(place: Path) -> None:
    """Give the role's directory to the user as whom it runs (`confine --as-nobody`)."""
    if os.geteuid() == 0:
        # A user namespace of an ordinary user has no nobody, and the role stays that user's.
        with contextlib.suppress(OSError):
            for path in (place, place / JOB_FILE):
                os.chown(path, NOBODY, NOBODY)


def _bounds(job: Job, limits: Limits) -> list[str]:
    """Return the bounds of a role's process, and of all that it starts, for prlimit(1)."""
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
