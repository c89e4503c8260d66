"""The page of published numbers, and the calculated control of CUBIC's windows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cubic_windows import closed_form, round_by_round
from validation import Row, page, rows_below

TABLE_1 = {100: 12, 1000: 38, 10_000: 187, 100_000: 1054, 1_000_000: 5926}
TABLE_2 = {100: 12, 1000: 38, 10_000: 120, 100_000: 379, 1_000_000: 1200}


@pytest.mark.parametrize(("rtt_s", "table"), [(0.1, TABLE_1), (0.01, TABLE_2)])
def test_the_closed_form_is_the_one_of_the_rfcs_tables(rtt_s: float, table: dict[int, int]) -> None:
    # Of Reno the RFC has 1.2/√p, the model √1.5/√p: 2 % more.
    for packets, window in table.items():
        assert closed_form(packets, rtt_s) == pytest.approx(window, rel=0.025)


def test_round_by_round_reno_friendly_windows_are_the_closed_forms() -> None:
    for packets in (1000, 10_000):
        found = round_by_round(packets, 0.01, packets / 2, 60)
        assert found == pytest.approx(closed_form(packets, 0.01), rel=0.01)


def test_a_cubic_window_that_starts_too_large_stays_too_large_for_long() -> None:
    right = closed_form(10_000, 0.1)
    for losses in (40, 80):
        found = round_by_round(10_000, 0.1, 5000, losses, fast_convergence=False)
        assert found > 1.15 * right, "half of d³ in a period is nearly nothing"


def summary(folder: Path, says: str, mean: float) -> None:
    """Write a run directory's summary with one published number."""
    condition: dict[str, Any] = {
        "factors": {"path.rtt": "10ms"}, "says": says, "mean": mean, "mean_interval": None,
        "published": 12.0,
    }  # fmt: skip
    values = {"metric": "cwnd_packets_second_half", "conditions": [condition]}
    claim = {"source": "RFC 9438, table 1", "text": f"it is {folder.name}", "values": values}
    other = {"source": "x", "text": "no number", "values": {"conditions": [{"factors": {}}]}}
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"claims": [claim, other]}))


def test_rows_are_those_of_studies_and_not_of_their_variants(tmp_path: Path) -> None:
    summary(tmp_path / "a", "holds", 11.9)
    summary(tmp_path / "b", "reversed", 9.0)
    summary(tmp_path / "a" / "controls" / "c", "reversed", 1.0)
    rows = list(rows_below(tmp_path))
    assert [(row.source, row.text, row.word) for row in rows] == [
        ("RFC 9438", "it is a", "reproduced"),
        ("RFC 9438", "it is b", "missed"),
    ]


def test_the_page_has_misses_first_and_says_what_did_not_run() -> None:
    rows = [
        Row("s", "a", "missed", "cwnd_packets_second_half", "RTT 10 ms", 12, 9, (8, 10)),
        Row("s", "b", "reproduced", "cwnd_packets_second_half", "RTT 10 ms", 12, 12, None),
    ]
    text = page(rows, {"l4s-tests": 36})
    assert "**1 of 2 numbers came out, 1 missed.**" in text
    assert "Not run for this page: 36 of l4s-tests." in text
    missed, hit = text.index("| 1 | s: a |"), text.index("| 2 | s: b |")
    assert missed < text.index("## What came out") < hit
    assert "9.00 [8.00, 10.0] | 0.750 | missed |" in text
