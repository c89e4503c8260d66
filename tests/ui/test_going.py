"""How far the runs of a question are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fake_backend import OK
from netwarp.ui.address import options_of
from netwarp.ui.going import EVERY_S, Going, expected_text
from netwarp.ui.what_if import study_of


def test_how_far_runs_are_is_said_now_and_then() -> None:
    sent: list[dict[str, Any]] = []
    now_s = [0.0]
    going = Going(lambda _, said: sent.append(said), 4, lambda: now_s[0])
    one: Any = SimpleNamespace(run="c000-r00")
    two: Any = SimpleNamespace(run="c001-r00")
    going.progressed(one, 3.0)
    assert sent == []  # it is too early for that
    now_s[0] = EVERY_S
    going.progressed(two, 5.0)
    going.progressed(two, 6.0)
    assert sent == [{"ended": 0, "of": 4, "reached_s": 3.0}]
    now_s[0] += EVERY_S
    going.finished(one, OK, resumed=False)
    assert sent[1:] == [{"ended": 1, "of": 4, "reached_s": 6.0}]
    now_s[0] += EVERY_S
    going.finished(one, OK, resumed=True)  # in the next step it is there already
    assert sent[2:] == [{"ended": 1, "of": 4, "reached_s": 6.0}]


def test_what_takes_long_says_about_how_long() -> None:
    def study(size: str) -> Any:
        return study_of(options_of([("transport", "tcp"), ("size", size), ("replicates", "10")]))

    assert expected_text(study("10kB"), 2) == ""
    assert expected_text(study("10GB"), 2).startswith("about ")
