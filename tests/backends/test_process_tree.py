"""A process and its descendants, which may end at any moment."""

from __future__ import annotations

import os
import subprocess

import pytest

from netwarp.backends import process_tree


def test_a_process_that_ends_while_its_threads_are_listed_has_no_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(*_: object) -> list[str]:
        raise ProcessLookupError(3, "No such process")

    for name in ("listdir", "scandir"):  # either may be what lists a process's threads
        monkeypatch.setattr(os, name, ended)
    assert process_tree.children(1) == []
    assert list(process_tree.process_tree(7)) == [7]


def test_children_of_a_living_process_are_found() -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
        assert child.pid in process_tree.children(os.getpid())
