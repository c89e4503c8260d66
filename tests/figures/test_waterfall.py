"""The waterfall of a page: its bars, its names, its milestones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp.figures.over_time.panels import timeline_chart
from netwarp.figures.over_time.plots import ShownRun
from netwarp.figures.over_time.run_timeline import RunTimeline, run_timeline
from netwarp.figures.style import PAPER, SCREEN
from netwarp.wire import Record, Resource, read_records
from support import job_of

GOLDEN = Path(__file__).parents[1] / "golden" / "records-page.jsonl"


def golden() -> list[Record]:
    return read_records(GOLDEN)


def timeline(records: list[Record], page: str = "nam-2021") -> RunTimeline:
    return run_timeline(job_of("tls", workload={"kind": "page", "page": page}), records)


def test_bars_have_har_s_timings_in_the_page_s_order() -> None:
    shown = timeline(golden())
    assert [item.name for item in shown.items][:3] == ["/", "/style.css", "/script.js"]
    document = shown.items[0].bands
    assert [band.label for band in document] == ["blocked", "wait", "receive"]
    corners = [document[0].start_s, *(band.end_s for band in document)]
    assert corners == pytest.approx([0.000003, 0.400506, 0.601291, 0.802990], abs=1e-6)
    assert [(mark.label, round(mark.at_s, 3)) for mark in shown.milestones] == [
        ("first render", 1.431),
        ("page load", 1.666),
    ]
    assert shown.end_s == pytest.approx(1.6659, abs=1e-4)
    assert not shown.is_empty


def test_a_load_that_broke_off_has_no_milestone_that_it_did_not_reach() -> None:
    def without(*missing: int) -> RunTimeline:
        kept = [e for e in golden() if not isinstance(e, Resource) or e.resource not in missing]
        return timeline(kept)

    assert [mark.label for mark in without(7).milestones] == ["first render"]
    assert without(2, 7).milestones == []
    assert len(without(2, 7).items) == 6


@pytest.mark.parametrize("theme", [SCREEN, PAPER], ids=lambda theme: theme.name)
def test_few_resources_have_names_and_many_have_none(theme: Any) -> None:
    few = timeline(golden())
    chart = timeline_chart([ShownRun("", "#000000", few)], theme, interactive=False)
    assert "/image-5.webp" in _texts(chart)
    item = few.items[0]
    many = RunTimeline(end_s=few.end_s, activity="Resources", tones=few.tones, items=[item] * 150)
    chart = timeline_chart([ShownRun("", "#000000", many)], theme, interactive=True)
    assert item.name not in _texts(chart)


def _texts(spec: Any) -> set[str]:
    """Collect what layers of text write."""
    if isinstance(spec, list):
        return {text for each in spec for text in _texts(each)}
    if not isinstance(spec, dict):
        return set()
    found = {text for each in spec.values() for text in _texts(each)}
    if isinstance(spec.get("mark"), dict) and spec["mark"].get("type") == "text":
        found |= {row["name"] for row in spec["data"]["values"] if "name" in row}
    return found
