"""A pytest plugin that runs a server and a client, which can be any programs, on two hosts with a
path between them.

The marker `netwarp` defines the path, and the fixture `netwarp_path` runs programs over it, as
`netwarp exec` does. Nothing of netwarp is imported until a test runs something.
"""

from __future__ import annotations

import contextlib
import itertools
import shlex
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
"""Maximum number of characters of each output in the report of a failed test."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `netwarp`."""
    config.addinivalue_line("markers", MARKER)


@dataclass(frozen=True)
class ProgramDone:
    """The outcome of one program of a run."""

    exit_status: int | None
    """Its exit status; None if a signal ended it, or it did not end."""
    signal: int | None
    """The signal that ended it; None if it exited or did not end."""
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Done:
    """The outcome of a client and a server that ran over the path."""

    exit_status: int
    """The client's exit status, as a shell reports it; 1 if the run failed for another reason."""
    failure: str | None
    """The reason why the run failed; None if it did not fail."""
    client: ProgramDone
    server: ProgramDone
    metrics: Mapping[str, float | None]
    """The run's metrics in base units, such as `run_time_s` and `wire_packets_down`."""
    directory: Path
    """The run directory, with records and whole outputs."""

    @property
    def stdout(self) -> str:
        """The client's standard output."""
        return self.client.stdout

    @property
    def stderr(self) -> str:
        """The client's standard error output."""
        return self.client.stderr


class NetwarpPath:
    """A path between two hosts in virtual time, over which programs can be run."""

    def __init__(self, node: pytest.Item, folder: Path, options: Mapping[str, Any]) -> None:
        self._node = node
        self._folder = folder
        self._numbers = itertools.count(1)
        self.options = dict(options)
        """Options of every run; options that are given to `run` have precedence."""

    def run(
        self,
        client: str | Sequence[str],
        *,
        server: str,
        cwd: Path | None = None,
        **options: Any,
    ) -> Done:
        """Run a server and a client over the path; in both, the names `server` and `client` resolve
        to the two hosts.

        Args:
            client: a line for the shell, or a program and its arguments.
            server: a line for the shell.
            cwd: the working directory of both; None for that of pytest.
            options: options of `netwarp exec`, by the same names; they have precedence over those
                of the marker: `rtt`, `loss`, `ready`, `env`, `seed`, `shared`, ….

        Raises:
            netwarp.InputError: nothing was run; the message has the problem and the remedy.
        """
        from netwarp.library import exec as run_programs

        given = {"out": self._folder / f"netwarp-{next(self._numbers)}", **self.options, **options}
        with contextlib.chdir(cwd or Path.cwd()):
            finished = run_programs(client, server=server, **given)
        done = _done(finished.summary(), finished.directory)
        self._node.add_report_section("call", "netwarp", _section(client, server, done))
        return done


@pytest.fixture
def netwarp_path(request: pytest.FixtureRequest, tmp_path: Path) -> NetwarpPath:
    """Return a path between two hosts, with the options in the `netwarp` markers of the test, its
    class and its module.
    """
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("netwarp"))):
        if marker.args:
            raise pytest.UsageError(
                f"{request.node.nodeid}: netwarp({marker.args[0]!r}): options have names, such as"
                ' netwarp(rtt="100ms", loss="1%")'
            )
        options |= marker.kwargs
    return NetwarpPath(request.node, tmp_path, options)


def _done(summary: Mapping[str, Any], directory: Path) -> Done:
    """Return the outcome of a run, from its summary."""
    client, server = (
        ProgramDone(each["exit_status"], each["signal"], each["stdout"], each["stderr"])
        for each in (summary["client"], summary["server"])
    )
    return Done(
        summary["exit_status"], summary["failure"], client, server, summary["metrics"], directory
    )


def _section(client: str | Sequence[str], server: str, done: Done) -> str:
    """Return the section about a run in the report of a failed test."""
    said = [
        f"client: {client if isinstance(client, str) else shlex.join(client)}",
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
