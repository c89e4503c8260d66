"""Control groups of servers' runs, in a tree that does what the kernel's does (cgroup-v2.rst).

The lane of native tests has them for real, where root has any: this machine's may be of version 1.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netwarp.backends.remote import memory_group as module
from netwarp.backends.remote import role
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.commands import Containment
from netwarp.backends.remote.memory_group import NoGroupError, memory_group, memory_text
from netwarp.wire import job_from_json
from support import GOLDEN

COMMAND = job_from_json((GOLDEN / "job-command-line.json").read_text())
CONTROL, PROCESSES = "cgroup.subtree_control", "cgroup.procs"


class Tree:
    """Control groups of version 2, whose files appear with their directory."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root = root / "cgroup"
        self._mkdir, self._rmdir = Path.mkdir, Path.rmdir
        self.root.mkdir()
        self._fill(self.root)
        (self.root / CONTROL).write_text("cpu memory pids")
        self.own = root / "own"
        patch.setattr(module, "MOUNT", self.root)
        patch.setattr(module, "OF_PROCESS", self.own)
        patch.setattr(os, "geteuid", lambda: 0)
        # Functions, which a path calls with itself; bound methods would not know it.
        patch.setattr(Path, "mkdir", self._of_path(self.mkdir))
        patch.setattr(Path, "rmdir", self._of_path(self.rmdir))

    def be_in(self, group: str) -> Path:
        """Put this process into a group, to which its parents hand memory on."""
        directory = self.root
        for part in Path(group).parts[1:]:
            directory = directory / part
            directory.mkdir()
            (directory / CONTROL).write_text("memory pids")
        # A group with processes hands no control on.
        (directory / CONTROL).write_text("cpu memory pids" if directory == self.root else "")
        self.own.write_text(f"0::{group}\n")
        return directory

    def groups(self) -> set[str]:
        return {path.name for path in self.root.rglob("netwarp-*")}

    def mkdir(self, path: Path, *how: Any, **known: Any) -> None:
        self._mkdir(path, *how, **known)
        if self.root in path.parents:
            self._fill(path)
            if "memory" in (path.parent / CONTROL).read_text():
                for name in ("memory.max", "memory.swap.max"):
                    (path / name).write_text("max")

    def rmdir(self, path: Path) -> None:
        if self.root in path.parents:
            if (path / PROCESSES).read_text():
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
            for file in path.iterdir():
                file.unlink()
        self._rmdir(path)

    @staticmethod
    def _of_path(method: Callable[..., None]) -> Callable[..., None]:
        def called(path: Path, *how: Any, **known: Any) -> None:
            method(path, *how, **known)

        return called

    def _fill(self, path: Path) -> None:
        for name in (CONTROL, PROCESSES):
            (path / name).write_text("")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    return Tree(tmp_path, monkeypatch)


@pytest.mark.parametrize("own", ["/", "/user.slice/user-0.slice/session-3.scope"])
def test_a_group_at_the_top_bounds_memory_of_all_without_swap(tree: Tree, own: str) -> None:
    tree.be_in(own)
    group = memory_group("netwarp-a", 5 << 20)
    assert group.directory == tree.root / "netwarp-a"
    assert (group.directory / "memory.max").read_text() == f"{5 << 20}"
    assert (group.directory / "memory.swap.max").read_text().startswith("0")
    group.remove()
    assert not tree.groups()
    assert "bounded in sum" in memory_text()
    assert not tree.groups()


def test_a_command_joins_the_group_before_it_begins(tree: Tree) -> None:
    tree.be_in("/")
    group = memory_group("netwarp-a", 5 << 20)
    seen = f"cat {group.directory / PROCESSES}"
    done = subprocess.run([*group.joining, "sh", "-c", seen], capture_output=True, check=True)
    assert done.stdout == b"0\n", "the kernel reads 0 as the process that writes"


@pytest.mark.parametrize(
    "own",
    [
        "/system.slice/netwarp.service",
        "/system.slice/run-r1.scope",
        "/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope",
    ],
)
def test_what_a_unit_starts_stays_within_the_bounds_of_its_owner(tree: Tree, own: str) -> None:
    unit = tree.be_in(own)
    with pytest.raises(NoGroupError, match=r"memory\.max") as refused:
        memory_group("netwarp-a", 5 << 20)
    assert str(tree.root / "netwarp-a") not in str(refused.value)
    assert not tree.groups(), "what was tried is removed"
    assert list(unit.glob("netwarp-*")) == []
    assert "systemd-run" in memory_text()


def test_a_unit_that_hands_memory_on_has_its_group_below_it(tree: Tree) -> None:
    unit = tree.be_in("/system.slice/netwarp.service")
    (unit / CONTROL).write_text("memory")
    assert memory_group("netwarp-a", 5 << 20).directory == unit / "netwarp-a"


def test_the_group_of_a_role_that_did_not_start_is_removed(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tree.be_in("/")
    made: list[str] = []

    def refuses(*_: object) -> None:
        made.extend(tree.groups())
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(role, "_started", refuses)
    with pytest.raises(OSError, match="temporarily unavailable"):
        role.ServerRole(
            tmp_path / "endpoint", COMMAND, ("127.0.0.1", 4433), "127.0.0.2", "00", Limits(),
            Containment((), 30_000),
        )  # fmt: skip
    assert len(made) == 1
    assert not tree.groups()


def test_a_group_that_is_in_use_for_ever_is_left(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GONE_WITHIN_S", 0.02)
    tree.be_in("/")
    group = memory_group("netwarp-a", 5 << 20)
    (group.directory / PROCESSES).write_text("17\n")
    group.remove()
    assert tree.groups() == {"netwarp-a"}
    (group.directory / PROCESSES).write_text("")
    group.remove()
    group.remove()
    assert not tree.groups(), "removed once is enough"
