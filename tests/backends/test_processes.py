"""What is killed by `stop` has measured nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from netwarp.backends.processes import Processes
from netwarp.backends.watch import Bounds
from netwarp.errors import BackendError


def test_a_process_that_is_stopped_has_no_ending(tmp_path: Path) -> None:
    processes = Processes(Bounds())
    code = "import signal; print('netwarp-progress 1', flush=True); signal.pause()"
    with pytest.raises(BackendError, match="was stopped"):
        processes.run(
            [sys.executable, "-c", code], tmp_path, {}, lambda _: processes.stop()
        )  # it is stopped when its first line has come


def test_none_is_started_after_that(tmp_path: Path) -> None:
    processes = Processes(Bounds())
    processes.stop()
    with pytest.raises(BackendError, match="was stopped"):
        processes.run([sys.executable, "-c", ""], tmp_path, {}, lambda _: None)
    assert list(tmp_path.iterdir()) == []
