"""`--executor dask-local:2` as a user types it: it runs, and Ctrl-C leaves no process."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from cli.processes import CTRL_C, NETWARP, Terminal, finished_runs, has_ended, wait_for_runs
from netwarp.backends.process_tree import descendants

pytest.importorskip("distributed")
pytestmark = pytest.mark.guest

COMPARE = ("compare", "--transport", "tcp,sctp", "--rtt", "20ms", "--executor", "dask-local:2")


def test_a_cluster_on_this_machine_runs_a_study(netwarp: Netwarp, tmp_path: Path) -> None:
    answer = netwarp(*COMPARE, "--size", "10kB", "--replicates", "2", "--out", "out")
    assert answer.returncode == 0, answer.stderr
    assert len(finished_runs(tmp_path / "out")) == 4
    assert [line for line in answer.stderr.splitlines() if "of 4 runs" not in line] == []


def test_ctrl_c_ends_all_processes_of_the_cluster(tmp_path: Path) -> None:
    terminal = Terminal(
        tmp_path, *COMPARE, "--size", "20MB", "--replicates", "200", "--out", "out",
        TMPDIR=str(tmp_path),
    )  # fmt: skip
    wait_for_runs(terminal.process, tmp_path / "out")
    processes = list(descendants(terminal.process.pid))
    for key in CTRL_C * 3:
        terminal.type(bytes([key]))
    said = terminal.rest()
    assert terminal.process.returncode == 130, said
    kept = finished_runs(tmp_path / "out")
    assert f"interrupted: {len(kept)} of 400 runs are kept" in said
    assert "Traceback" not in said
    assert len(processes) > 2
    for process in processes:
        assert has_ended(process), "a worker or a guest outlived netwarp"


def test_an_interruption_is_the_last_that_is_said(tmp_path: Path) -> None:
    """Python's tracker of semaphores, which outlives the rest, warned of what it removed."""
    asked = (*COMPARE, "--size", "20MB", "--replicates", "200", "--out", tmp_path / "out")
    process = subprocess.Popen([NETWARP, *asked], stderr=subprocess.PIPE, text=True)
    wait_for_runs(process, tmp_path / "out")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert said.splitlines()[-1].startswith("interrupted: ")
