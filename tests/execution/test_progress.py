"""The clocks of the progress bar, and spans of time in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netwarp.cli.progress import Clocks
from netwarp.run_directory import Status
from netwarp.units import span_text

OK = Status("ok", None, 1.0, 1.0, 0, 100.0)


def test_virtual_time_of_finished_and_running_runs_adds_up() -> None:
    clocks = Clocks(started_s=1000.0)
    clocks.progressed("a", 40.0)
    clocks.progressed("b", 10.0)
    clocks.ended("a", OK, resumed=False)
    assert clocks.virtual_s == 110.0
    assert clocks.text(1002.0) == "virtual 1 min 50 s · wall 2.0 s · 55×"


def test_resumed_runs_take_no_time_here() -> None:
    clocks = Clocks(started_s=0.0)
    clocks.ended("a", OK, resumed=True)
    assert (clocks.virtual_s, clocks.finished, clocks.resumed) == (0.0, 1, 1)


def test_failures_are_counted() -> None:
    clocks = Clocks(started_s=0.0)
    clocks.ended("a", replace(OK, outcome="failed", reason="x"), resumed=False)
    assert clocks.text(1.0).endswith("· 1 failed")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (0.000_001, "0.001 ms"),
        (0.001, "1 ms"),
        (0.04, "40 ms"),
        (0.1, "0.1 s"),
        (59.9, "59.9 s"),
        (65, "1 min 05 s"),
        (8100, "2 h 15 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_spans(seconds: float, text: str) -> None:
    assert span_text(seconds) == text
