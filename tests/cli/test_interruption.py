"""Stopped in the middle, netwarp ends at once, keeps what finished, leaves no process."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from cli.processes import (
    CTRL_C,
    NETWARP,
    Terminal,
    finished_runs,
    guests_in,
    has_ended,
    wait_for_runs,
)
from netwarp.backends.process_tree import children
from recorded import write_directory

STUDY = """# Does it stop?
title = "long"
replicates = 200
[path]
rtt = "100ms"
loss = "5%"
[workload]
kind = "bulk"
size = "10MB"
[factors]
transport = ["tcp"]
"""
SOURCE = """title = "long"
authors = "us"
published = "never"
method = "none"
differs = "nowhere"
studies = ["long"]
"""
COMPARE = (
    *("compare", "--transport", "tcp", "--size", "10MB", "--rtt", "100ms", "--loss", "5%"),
    *("--replicates", "200"),
)

# Python runs it before the program. A module that is there already counts at the next import.
INTERRUPTED_AT = """
import os, signal, sys

class Finder:
    is_waiting = True

    def find_spec(self, name, path=None, target=None):
        wanted = os.environ["INTERRUPTED_AT"]
        if self.is_waiting and sys.argv[1:] and (name == wanted or wanted in sys.modules):
            Finder.is_waiting = False
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Every CPU has other work to do, twice."""
    idlers = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"])
        for _ in range(2 * len(os.sched_getaffinity(0)))
    ]
    yield
    for idler in idlers:
        idler.kill()
        idler.wait()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "long.toml").write_text(STUDY)
    (tmp_path / "source.toml").write_text(SOURCE)
    return tmp_path


@pytest.mark.guest
@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize(
    ("arguments", "out", "keys"),
    [
        (COMPARE, "out", CTRL_C * 3),
        (("run", "long.toml"), "out", CTRL_C),
        (("demo", "--replicates", "50"), "out", CTRL_C),
        (("reproduce", "./"), "out/long", CTRL_C),
    ],
    ids=["compare, again and again", "run", "demo", "reproduce"],
)
def test_ctrl_c_stops_runs(place: Path, arguments: tuple[str, ...], out: str, keys: bytes) -> None:
    terminal = Terminal(place, *arguments, "--out", "out")
    wait_for_runs(terminal.process, place / out)
    guests = guests_in(place / out)
    for key in keys:
        terminal.type(bytes([key]))
    said = terminal.rest()
    assert terminal.process.returncode == 130, said
    kept = finished_runs(place / out)
    assert f"interrupted: {len(kept)} of " in said
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    for guest in [*guests, *guests_in(place / out)]:
        assert has_ended(guest), "a guest outlived netwarp"
    assert guests_in(place / out) == []


@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize(
    ("arguments", "made"),
    [(("report", "out"), "report.html"), (("timeline", "out", "c003-r01"), "figures/c003-r01.svg")],
    ids=["report", "timeline"],
)
def test_ctrl_c_stops_drawing(tmp_path: Path, arguments: tuple[str, ...], made: str) -> None:
    """It comes while the process that draws, or bundles a report's script, is at it."""
    write_directory(tmp_path / "out")
    # Without a cache the script is bundled anew.
    terminal = Terminal(tmp_path, *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"))
    while not (drawing := children(terminal.process.pid)):
        assert terminal.process.poll() is None, "it ended without drawing anything"
    terminal.type(CTRL_C * 3)
    said = terminal.rest()
    assert terminal.process.returncode == 130, said
    assert "interrupted" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out" / made).exists()
    for process in drawing:
        assert has_ended(process), "the process that draws outlived netwarp"


@pytest.mark.parametrize(
    "module",
    ["netwarp", "netwarp.cli.interruption", "threading", "gc", "netwarp.cli.program", "click",
     "netwarp.cli.compare", "netwarp.errors", "netwarp.study", "pydantic", "rich.console"],
)  # fmt: skip
def test_ctrl_c_while_the_program_starts_leaves_no_traceback(tmp_path: Path, module: str) -> None:
    """It comes when a module is imported, from the first one of netwarp on."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED_AT)
    done = subprocess.run(
        [NETWARP, "compare", "--backend", "replay:/nonexistent"],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "INTERRUPTED_AT": module},
        capture_output=True,
        text=True,
        check=False,
    )
    # A shell says 130 of both: ended by the signal before netwarp listens to it, and by netwarp.
    assert done.returncode in (-signal.SIGINT, 130), done.stderr
    assert done.stderr in ("", "interrupted\n", "interrupted: nothing was run yet\n")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_build_with_all_that_it_started(
    tmp_path: Path, how: signal.Signals
) -> None:
    """It comes while the source is unpacked, which a shell would wait for."""
    started = tmp_path / "unpacking"
    os.mkfifo(started)
    slow = tmp_path / "bin" / "tar"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\ntrap '' INT TERM\necho $$ > {started}\nsleep 1000\n")
    slow.chmod(0o755)
    (tmp_path / "linux.tar").write_text("not looked at")
    process = subprocess.Popen(
        [NETWARP, "kernel", "build", "--source", "linux.tar", "--cache", "kernels"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{slow.parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    unpacking = int(started.read_text())
    os.kill(process.pid, how)
    # Whatever still writes to the terminal, or to a pipe, would keep its reader waiting.
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert said.endswith("interrupted: nothing of this build is kept; the next one starts anew\n")
    assert has_ended(unpacking)


@pytest.mark.guest
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_stops_runs_and_the_same_command_goes_on(
    netwarp: Netwarp, tmp_path: Path, how: signal.Signals
) -> None:
    process = subprocess.Popen(
        [NETWARP, *COMPARE, "--out", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    out = tmp_path / "out"
    wait_for_runs(process, out)
    guests = guests_in(out)
    os.kill(process.pid, how)
    _, said = process.communicate(timeout=30)
    kept = finished_runs(out)
    assert 2 <= len(kept) < 200
    for guest in [*guests, *guests_in(out)]:
        assert has_ended(guest), "a guest outlived netwarp"
    assert guests_in(out) == []
    if how is not signal.SIGKILL:
        assert process.returncode == 130
        assert f"interrupted: {len(kept)} of 200 runs are kept" in said
        assert "Traceback" not in said
    answer = netwarp(*COMPARE[:-1], "4", "--out", "out")
    assert answer.returncode == 0, answer.stderr
    assert finished_runs(out)[:4] == [f"c000-r0{number}" for number in range(4)]
