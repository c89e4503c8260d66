"""The process that draws: one for all charts, and what it refuses is an error of ours."""

from __future__ import annotations

import pytest

from netwarp import vega
from netwarp.errors import NetwarpError

BAR = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "data": {"values": [{"a": "A", "b": 28}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "nominal"}},
}


def test_charts_are_drawn_as_svg_png_and_pdf() -> None:
    assert vega.svg(BAR).startswith("<svg ")
    assert vega.png(BAR, scale=2).startswith(b"\x89PNG")
    assert vega.pdf(BAR).startswith(b"%PDF")


def test_what_is_no_chart_is_refused_and_the_next_one_is_drawn() -> None:
    with pytest.raises(NetwarpError, match="cannot be drawn"):
        vega.svg({"mark": 17})
    assert vega.svg(BAR).startswith("<svg ")


def test_a_process_that_was_killed_is_replaced() -> None:
    vega.svg(BAR)
    worker = vega._worker
    assert worker is not None
    worker.stop()
    assert vega.svg(BAR).startswith("<svg ")


@pytest.mark.parametrize("character", ["\x1b", "\0", "\ufffe", "\ud800"])
def test_what_no_drawing_can_hold_is_replaced(character: str) -> None:
    """A factor's level, which a study may choose and a run directory of others may have."""
    level = f"a{character}[2Jb"
    chart = BAR | {"data": {"values": [{"a": level, "b": 28}]}}
    assert "a\ufffd[2Jb" in vega.svg(chart)
    assert vega.pdf(chart).startswith(b"%PDF")
