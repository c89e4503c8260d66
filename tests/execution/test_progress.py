"""The clocks of the progress bar, and spans of time in words."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from netwarp.cli.progress import Clocks, ProgressBar
from netwarp.execution.cost import Expected
from netwarp.run_status import Status
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


@pytest.mark.parametrize(("cpu_s", "study", "said"), [
    (19.0, "", ""),
    (20.0, "", "9 runs (1 of them kept): about 10.0 s on 2 CPUs\n"),
    (20.0, "park-2008/fig-4", ""),
])  # fmt: skip
def test_what_takes_long_is_announced_where_it_is_not_yet(
    cpu_s: float, study: str, said: str
) -> None:
    """`reproduce`, which names its studies, has announced all of them."""
    out = io.StringIO()
    bar = ProgressBar(Console(file=out, width=200))
    if study:
        bar.study(study)
    bar.expected(Expected(1, 9, 1, cpu_s), 2, adds=False)
    assert out.getvalue() == said


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
