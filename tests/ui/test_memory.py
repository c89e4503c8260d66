"""What was asked leaves no garbage behind, however rarely the command line searches for it."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from netwarp.ui import asked
from netwarp.ui.asked import Asked, Event, import_what_runs
from netwarp.ui.memory import COLLECT_AFTER


class Results:
    """Something that refers to itself, as results and what they are made of do."""

    def __init__(self) -> None:
        self.itself = self


class Question(Asked):
    """A question that has results."""

    made: weakref.ref[Results]

    def _answers(self) -> Iterator[Event]:
        results = Results()
        self.made = weakref.ref(results)
        yield "answer", {}


@pytest.fixture
def rare_searches() -> Iterator[None]:
    """Garbage is searched for as rarely as in a command."""
    import_what_runs()
    before = gc.get_threshold()
    gc.set_threshold(500_000)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("rare_searches")
def test_results_of_a_question_are_freed_when_it_ends() -> None:
    question = Question()
    question.begin()
    question.join()
    assert question.next_event() == ("answer", {})
    assert question.made() is None


@pytest.mark.usefixtures("rare_searches")
def test_modules_are_left_out_of_searches() -> None:
    asked._import.cache_clear()
    import_what_runs()
    assert gc.get_threshold()[0] == COLLECT_AFTER
    assert gc.get_freeze_count() > 10_000


HEAPS = """
import ctypes, sys, threading
from netwarp.ui.memory import share_one_heap

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fopen.restype = ctypes.c_void_p
if "shared" in sys.argv:
    share_one_heap()
together = threading.Barrier(8)

def allocate():
    together.wait()
    libc.malloc(5000)
    together.wait()

threads = [threading.Thread(target=allocate) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
file = libc.fopen(sys.argv[1].encode(), b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt"), reason="another C library than GNU's"
)
@pytest.mark.parametrize("shared", [True, False])
def test_threads_share_one_heap(tmp_path: Path, *, shared: bool) -> None:
    info = tmp_path / "info"
    words = [sys.executable, "-c", HEAPS, str(info), *["shared"] * shared]
    subprocess.run(words, check=True)
    heaps = info.read_text().count("<heap nr=")
    assert (heaps == 1) is shared, heaps
