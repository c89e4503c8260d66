"""The folder of runs is removed at the end, and by the next start if its process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from netwarp.ui.folder import (
    LOCK,
    PREFIX,
    locked_run_directory,
    remove_leftovers,
    remove_when_unlocked,
)

HOLDS = """
import sys
from pathlib import Path
from netwarp.ui.folder import locked_run_directory
with locked_run_directory(Path(sys.argv[1])) as folder:
    (folder / "lane" / "what-if-1").mkdir(parents=True)
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_removed_when_its_process_has_done_with_it(tmp_path: Path) -> None:
    with locked_run_directory(tmp_path) as folder:
        assert (folder / LOCK).is_file()
        remove_leftovers(tmp_path)
        assert folder.is_dir()
        remover = remove_when_unlocked(folder)
        (folder / "lane" / "what-if-1").mkdir(parents=True)  # a run may be under way
    assert remover.wait() == 0
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    held = subprocess.Popen(
        [sys.executable, "-c", HOLDS, tmp_path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert held.stdout is not None
    folder = Path(held.stdout.readline().strip())
    remove_leftovers(tmp_path)
    assert folder.is_dir()  # it is in use
    os.kill(held.pid, signal.SIGKILL)
    held.communicate()
    assert folder.is_dir()
    remove_leftovers(tmp_path)
    assert not folder.exists()


def test_what_an_interrupted_removal_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}half" / "lane" / "what-if-1").mkdir(parents=True)
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_leftover_stays(tmp_path: Path) -> None:
    unlocked = tmp_path / f"{PREFIX}of-an-older-version"
    unlocked.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK).touch()
    linked = tmp_path / f"{PREFIX}link"
    linked.symlink_to(elsewhere)
    remove_leftovers(tmp_path)
    assert unlocked.is_dir()
    assert (elsewhere / LOCK).is_file()
    assert linked.is_symlink()
