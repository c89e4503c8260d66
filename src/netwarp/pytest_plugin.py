"""A plugin of pytest: a server and a client, any programs, run in two hosts with a path between.

The marker `netwarp` says what the path is like, the fixture `netwarp_path` runs programs over it,
as `netwarp exec` does. Nothing of netwarp is imported until a test runs something.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MARKER = (
    "netwarp(rtt=..., rate=..., loss=..., **options): the path of `netwarp_path`; options are those"
    " of `netwarp exec`, by the same names."
)
MOST_SHOWN = 2000
"""Most characters of each output that the report of a failed test has."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


@dataclass(frozen=True)
class ProgramDone:
    """A program that has run."""

    exit_status: int | None
    """Its exit status; None if a signal ended it, or it did not end."""
    signal: int | None
    """The signal that ended it; None if it exited or did not end."""
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Done:
    """A client and a server that have run over the path."""

    exit_status: int
    """The client's, as a shell has it; 1 where the run failed otherwise."""
    failure: str | None
    """Why the run failed; None where it did not."""
    client: ProgramDone
    server: ProgramDone
    metrics: Mapping[str, float | None]
    """The run's metrics in base units, such as `run_time_s` and `wire_packets_down`."""
    directory: Path
    """The run directory, with records and whole outputs."""

    @property
    def stdout(self) -> str:
        """What the client printed."""
        return self.client.stdout

    @property
    def stderr(self) -> str:
        """What the client printed to standard error."""
        return self.client.stderr


class NetwarpPath:
    """A path between two hosts, over which programs are run; its clock is virtual time."""

    def __init__(self, node: pytest.Item, folder: Path, options: Mapping[str, Any]) -> None:
        self._node = node
        self._folder = folder
        self._numbers = itertools.count(1)
        self.options = dict(options)
        """The options that each run has, unless it is given others."""

    def run(
        self,
        client: str | Sequence[str],
        *,
        server: str,
        cwd: Path | None = None,
        **options: Any,
    ) -> Done:
        """Run a server and a client; the names `server` and `client` resolve in both.

        Args:
            client: a line for the shell, or a program and its arguments.
            server: a line for the shell.
            cwd: where both start, with its files; None for where pytest was started.
            options: of `netwarp exec`, by the same names, in place of the marker's: `rtt`, `loss`,
                `ready`, `env`, `seed`, `shared`, ….

        Raises:
            netwarp.InputError: nothing was run; the message says what is wrong and the remedy.
        """
        from netwarp.library import exec as run_programs

        arguments = ["sh", "-c", client] if isinstance(client, str) else list(client)
        given = {"out": self._folder / f"netwarp-{next(self._numbers)}", **self.options, **options}
        with contextlib.chdir(cwd or Path.cwd()):
            finished = run_programs(arguments, server=server, **given)
        done = _done(finished.told, finished.directory)
        self._node.add_report_section("call", "netwarp", _section(arguments, server, done))
        return done


@pytest.fixture
def netwarp_path(request: pytest.FixtureRequest, tmp_path: Path) -> NetwarpPath:
    """A path between two hosts, as the markers `netwarp` of the test, its class and module say."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("netwarp"))):
        if marker.args:
            raise pytest.UsageError(
                f"{request.node.nodeid}: netwarp({marker.args[0]!r}): options have names, such as"
                ' netwarp(rtt="100ms", loss="1%")'
            )
        options |= marker.kwargs
    return NetwarpPath(request.node, tmp_path, options)


def _done(told: Mapping[str, Any], directory: Path) -> Done:
    client, server = (
        ProgramDone(each["exit_status"], each["signal"], each["stdout"], each["stderr"])
        for each in (told["client"], told["server"])
    )
    return Done(told["exit_status"], told["failure"], client, server, told["metrics"], directory)


def _section(client: Sequence[str], server: str, done: Done) -> str:
    """Write what the report of a failed test has of a run."""
    said = [
        f"client: {' '.join(client)}",
        f"server: {server}",
        f"exit status {done.exit_status}; {done.failure or 'the run did not fail'}",
        f"run directory: {done.directory}",
    ]
    for name, text in (
        ("client's output", done.client.stdout),
        ("client's standard error", done.client.stderr),
        ("server's output", done.server.stdout),
        ("server's standard error", done.server.stderr),
    ):
        if text:
            said.append(f"{name}:\n{text[-MOST_SHOWN:].rstrip()}")
    return "\n".join(said)
