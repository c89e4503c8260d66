"""Commands that a server runs for its clients: with a whole server, or with its role alone."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from native.two_hosts import NETWARP, TIMEOUT_S, Served, free_port, pair, serve
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.commands import Containment, containment
from netwarp.backends.remote.role import ServerRole
from netwarp.backends.remote.session import tcp_congestion
from netwarp.errors import BackendError
from netwarp.plan import plan_study
from netwarp.study.exec import study_from_exec
from netwarp.wire import Job, Program
from netwarp.wire.record import record_from_json

PYTHON = "/usr/bin/python3"
PATIENCE_S = 30.0
PORT = 8079
SERVE = f"head -c 2000000 /dev/zero > file; exec {PYTHON} -m http.server {PORT}"
FETCH = "import sys, urllib.request as r; print(len(r.urlopen(sys.argv[1]).read()))"
CLIENT = (PYTHON, "-c", FETCH, f"http://server:{PORT}/file")
STAYS = f"{PYTHON} -c 'import time; print(\"ready\", flush=True); time.sleep(1000)'"
CONGESTION = tcp_congestion()


def skip_unless_commands_are_contained() -> None:
    """Skip where this host refuses `--allow-exec`, with its reason."""
    with tempfile.TemporaryDirectory() as place:
        try:
            containment(find_endpoint(), Path(place))
        except BackendError as error:
            pytest.skip(str(error))


def job(server: str, client: Sequence[str] = ("true",), ready: str = "line:^ready$") -> Job:
    study = study_from_exec(
        client, server=server, ready=ready, congestion=CONGESTION, memory="256MiB"
    )
    (run,) = plan_study(study)
    return run.job


class Contained:
    """A server's role with a command, without a client."""

    def __init__(self, command: str, limits: Limits, hidden: Sequence[Path] = ()) -> None:
        held = Containment(tuple(hidden), 1024)
        where = ("127.0.0.1", free_port())
        self.role = ServerRole(
            find_endpoint(), job(command), where, "127.0.0.1", "0" * 16, limits, held
        )
        self.role.begin(0)
        self.messages: list[dict[str, Any]] = []

    def hear(self, last: str) -> dict[str, Any]:
        """Wait for a message of this kind."""
        while (lines := self.role.said()) is not None:
            self.messages += [json.loads(line) for line in lines]
            found = [each for each in self.messages if each["message"] in (last, "failed")]
            if found:
                return found[0]
        raise AssertionError((self.messages, self.role.how_it_ended()))

    def printed(self) -> str:
        """Have it finish, and give what the command printed."""
        assert self.hear("ready")["message"] == "ready", self.messages
        self.role.finish()
        assert self.hear("done")["message"] == "done", self.messages
        records = [each["line"] for each in self.messages if each["message"] == "write"]
        (program,) = [
            each
            for each in (record_from_json(json.dumps(record)) for record in records)
            if isinstance(each, Program)
        ]
        return program.stdout


@contextmanager
def contained(
    command: str, limits: Limits | None = None, hidden: Sequence[Path] = ()
) -> Iterator[Contained]:
    made = Contained(command, limits or Limits(), hidden)
    try:
        yield made
    finally:
        made.role.close()


def printed(command: str, hidden: Sequence[Path] = ()) -> str:
    with contained(f"({command}) 2>&1; echo; echo ready; sleep 1000", hidden=hidden) as held:
        return held.printed().partition("\nready")[0].strip()


def processes(mark: str) -> list[int]:
    """Find the processes with a word among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue  # it ended meanwhile
    return found


def mark(of: str) -> str:
    return f"netwarp-{of}-{os.getpid()}"


def allowing(
    command: list[str | Path], address: str, place: Path, *options: str
) -> tuple[Served, str]:
    served = serve(command, address, place, "--allow-exec", *options)
    return served, pair(served, command)


def run_exec(
    served: Served, here: list[str | Path], where: str, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*here, NETWARP, "exec", "--backend", f"remote:{where}", "--congestion", CONGESTION,
         *arguments],
        cwd=folder, env=served.environ, capture_output=True, text=True, check=False,
        timeout=TIMEOUT_S,
    )  # fmt: skip
