"""Trees of files that a hostile guest has left are made harmless and removed, however they are."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from netwarp.backends.leftovers import make_harmless
from netwarp.file_trees import Entry, for_each, remove_tree, temporary_directory
from netwarp.run_directory import RunDirectory
from netwarp.run_status import Status

MORE_THAN_A_PATH = 30
"""Directories of 250 characters each, together longer than PATH_MAX (4096 bytes)."""
MORE_THAN_THE_STACK = 1600
"""Directories nested deeper than Python's recursion limit and the usual limit of open files."""


def plant(top: Path, name: str, depth: int) -> None:
    """Nest directories, with a set-user-ID file, a FIFO and a link in the innermost."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=here)
        os.close(here)
        here = below
    with os.fdopen(os.open("root", os.O_WRONLY | os.O_CREAT, dir_fd=here), "w") as file:
        file.write("#!/bin/sh\n")
        os.fchmod(file.fileno(), 0o6755)
    os.mkfifo("pipe", dir_fd=here)
    os.symlink("/etc/passwd", "link", dir_fd=here)
    os.close(here)


def modes(top: Path) -> dict[str, int]:
    """Give type and permissions of what is in the tree and is no directory, by name."""
    found = {}

    def note(entry: Entry) -> None:
        mode = entry.mode
        if not stat.S_ISDIR(mode):
            found[entry.name] = mode

    for_each(top, note)
    return found


@pytest.mark.parametrize(
    ("name", "depth"), [("d" * 250, MORE_THAN_A_PATH), ("d", MORE_THAN_THE_STACK)]
)
def test_a_tree_of_any_depth_is_made_harmless_and_removed(
    tmp_path: Path, name: str, depth: int
) -> None:
    top = tmp_path / "run"
    top.mkdir()
    assert depth > sys.getrecursionlimit() or depth * len(name) > os.pathconf("/", "PC_PATH_MAX")
    plant(top, name, depth)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    make_harmless(top)
    assert modes(top) == {"root": stat.S_IFREG | 0o755}
    remove_tree(top)
    assert not top.exists()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_links_that_programs_wrote_stay_and_others_go(tmp_path: Path) -> None:
    (tmp_path / "written" / "below").mkdir(parents=True)
    (tmp_path / "written" / "below" / "link").symlink_to("/nowhere")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "written").symlink_to("/nowhere")
    make_harmless(tmp_path)
    assert set(modes(tmp_path)) == {"link"}


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_nobody_else_may_write_to_what_is_left(tmp_path: Path, umask: int) -> None:
    """As a guest's kernel that was taken over leaves it: `chmod 777 .`, files at 666."""
    before = os.umask(umask)
    try:
        usual = tmp_path / "usual"
        usual.mkdir()
        top = tmp_path / "run"
        (top / "below").mkdir(parents=True)
        for file in (top / "file", top / "below" / "file"):
            file.write_text("kept")
            file.chmod(0o666)
        (top / "below").chmod(0o1777)
        top.chmod(0o3777)
        make_harmless(top)
        assert top.stat().st_mode == usual.stat().st_mode
    finally:
        os.umask(before)
    for path in top.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & (0o7022 | umask), path
        assert path.is_dir() or path.read_text() == "kept"


def test_what_a_link_leads_to_keeps_its_mode_and_content(tmp_path: Path) -> None:
    """As CVE-2023-6597 has it: a directory that cannot be removed, with a link in it."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (outside / "secret").write_text("kept")
    (outside / "secret").chmod(0o400)
    with temporary_directory("netwarp-", tmp_path) as place:
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        (place / "shut").mkdir()
        (place / "shut" / "link").symlink_to(outside / "secret")
        (place / "shut" / "folder").symlink_to(outside)
        (place / "shut").chmod(0)
    assert not place.exists()
    assert stat.S_IMODE(outside.stat().st_mode) == 0o500
    assert stat.S_IMODE((outside / "secret").stat().st_mode) == 0o400
    assert (outside / "secret").read_text() == "kept"


def test_one_failure_ends_no_walk(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
    seen = []

    def visit(entry: Entry) -> None:
        seen.append(entry.name)
        if entry.name == "b":
            raise OSError(5, "as from a broken disk")

    with pytest.raises(OSError, match="as from a broken disk"):
        for_each(tmp_path, visit)
    assert sorted(seen) == ["a", "b", "c", "file", "file", "file"]


def test_what_an_interrupted_run_left_is_removed_whatever_its_depth(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "out")
    with directory.locked():
        pass
    partial = directory.begin("c000-r00")
    plant(partial, "d", MORE_THAN_THE_STACK)
    with directory.locked():
        directory.discard_partials()
        assert directory.begin("c000-r00").is_dir()


def test_others_cannot_enter_the_runs_while_one_lasts(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "out")
    with directory.locked():
        pass
    directory.runs.chmod(0o755)
    with directory.locked():
        assert stat.S_IMODE(directory.runs.stat().st_mode) == 0o700
        directory.begin("c000-r00")
        directory.finish("c000-r00", Status("ok", None, 1.0, 1.0, 1, 1.0))
    assert stat.S_IMODE(directory.runs.stat().st_mode) == 0o755
    with suppress(KeyboardInterrupt), directory.locked():
        plant(directory.begin("c000-r01"), "d", 3)
        raise KeyboardInterrupt
    assert stat.S_IMODE(directory.runs.stat().st_mode) == 0o755
    assert {each.name for each in directory.runs.iterdir()} == {"c000-r00"}


HOLDS = """
import subprocess
import sys
from pathlib import Path
from netwarp.file_trees import temporary_directory
with temporary_directory("netwarp-", Path(sys.argv[1])) as place:
    (place / "shut").mkdir()
    (place / "shut" / "file").touch()
    (place / "shut").chmod(0)
    print(place, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    unlocked = tmp_path / "netwarp-of-an-earlier-version"
    unlocked.mkdir()
    (tmp_path / "netwarp-link.locked").symlink_to(unlocked)
    holding = [sys.executable, "-c", HOLDS, str(tmp_path)]
    held = subprocess.Popen(holding, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert held.stdout is not None
    place = Path(held.stdout.readline().strip())
    with temporary_directory("netwarp-", tmp_path):
        assert place.is_dir(), "it is in use"
    held.kill()
    held.communicate()
    assert place.is_dir()
    with temporary_directory("netwarp-other-", tmp_path):
        assert place.is_dir(), "it is of others"
    with temporary_directory("netwarp-", tmp_path):
        assert not place.exists()
    assert {each.name for each in tmp_path.iterdir()} == {unlocked.name, "netwarp-link.locked"}


@pytest.mark.parametrize("when", ["before it is opened", "before it is locked"])
def test_a_directory_that_others_remove_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    removed: list[Path] = []

    def remove_first(original: Callable[..., Any], *given: Any, **named: Any) -> Any:
        result = original(*given, **named)
        if not removed:
            (place,) = tmp_path.iterdir()
            place.rmdir()
            removed.append(place)
        return result

    module, name = (tempfile, "mkdtemp") if when == "before it is opened" else (fcntl, "flock")
    monkeypatch.setattr(module, name, partial(remove_first, getattr(module, name)))
    with temporary_directory("netwarp-", tmp_path) as place:
        assert place.is_dir()
        assert [place] != removed
