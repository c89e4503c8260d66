"""The page of published numbers, and the calculated control of CUBIC's windows."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cubic_windows import closed_form, round_by_round
from netwarp.sources import find_sources, load_sources
from netwarp.study import load_study
from validation import DOCS, HIT, OF_RUNS, Row, kept_rows, page, points, rows_below, with_kept

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


def summary(folder: Path, says: str, mean: float, text: str | None = None) -> None:
    """Write a run directory's summary with one published number."""
    condition: dict[str, Any] = {
        "factors": {"path.rtt": "10ms"}, "says": says, "mean": mean, "mean_interval": None,
        "published": 12.0,
    }  # fmt: skip
    values = {"metric": "cwnd_packets_second_half", "conditions": [condition]}
    claim = {
        "source": "RFC 9438, table 1",
        "text": text or f"it is {folder.name}",
        "values": values,
    }
    other = {"source": "x", "text": "no number", "values": {"conditions": [{"factors": {}}]}}
    folder.mkdir(parents=True)
    written = {"study": f"Study {folder.name}", "claims": [claim, other]}
    (folder / "summary.json").write_text(json.dumps(written))
    provenance = {
        "seed": 3, "replicates": 5, "netwarp": "0.1.0", "kernel": {"version": "7.3.4"},
        "started": "2026-11-26T12:16:22+00:00",
    }  # fmt: skip
    (folder / "provenance.json").write_text(json.dumps(provenance))


def test_rows_are_those_of_studies_and_not_of_their_variants(tmp_path: Path) -> None:
    summary(tmp_path / "a", "holds", 11.9)
    summary(tmp_path / "b", "reversed", 9.0)
    summary(tmp_path / "a" / "controls" / "c", "reversed", 1.0)
    rows = list(rows_below(tmp_path))
    assert [(row.source, row.text, row.word) for row in rows] == [
        ("RFC 9438", "it is a", "reproduced"),
        ("RFC 9438", "it is b", "missed"),
    ]


def test_what_hangs_on_a_choice_of_the_study_is_said_as_its_scorecard_says_it(
    tmp_path: Path,
) -> None:
    summary(tmp_path / "s" / "a", "holds", 11.9)
    summary(tmp_path / "s" / "b", "holds", 11.9)
    claims = [{"text": "it is a", "verdict": "depends"}, {"text": "it is b", "verdict": HIT}]
    (tmp_path / "s" / "scorecard.json").write_text(json.dumps({"claims": claims}))
    rows = list(rows_below(tmp_path))
    assert [row.depends for row in rows] == [True, False]
    text = page(rows, {})
    assert "**2 of 2 numbers came out, 1 of them by a choice of ours.**" in text
    assert "| RFC 9438 | 2 | 2 | 1 |" in text
    assert "| reproduced, depends |" in text


def test_the_page_has_misses_first_and_says_what_did_not_run() -> None:
    rows = [
        Row("s", "a", "missed", "cwnd_packets_second_half", "RTT 10 ms", 12, 9, (8, 10), "± 10 %"),
        Row("s", "b", "reproduced", "cwnd_packets_second_half", "RTT 10 ms", 12, 12, None),
    ]
    text = page(rows, {"l4s-tests": 36})
    assert "**1 of 2 numbers came out, 1 missed.**" in text
    assert "Not run for this page: 36 of l4s-tests." in text
    missed, hit = text.index("| 1 | s: a |"), text.index("| 2 | s: b |")
    assert missed < text.index("## What came out") < hit
    assert "9.00 [8.00, 10.0] | 0.750 | ± 10 % | missed |" in text


def test_a_row_that_was_missed_shows_by_how_much() -> None:
    near = Row("s", "a", "missed", "share_ratio", "", 0.4995, 0.5, (0.4999, 0.5001), OF_RUNS)
    text = page([near], {})
    assert "| 49.950 % | 50.000 [49.990, 50.010] | 1.0010 | 95 % of runs | missed |" in text


def test_how_many_numbers_are_met_by_a_wide_range_is_said() -> None:
    rows = [
        Row("s", "a", "reproduced", "share_ratio", "", 0.3, 0.3, (0.2, 0.5), OF_RUNS),
        Row("s", "b", "reproduced", "share_ratio", "", 0.3, 0.3, (0.29, 0.31), OF_RUNS),
        Row("s", "c", "missed", "share_ratio", "", 0.3, 0.4, (0.35, 0.45), OF_RUNS),
        Row("s", "d", "reproduced", "share_ratio", "", 0.3, 0.3, (0.2, 0.5), "± 10 %"),
    ]
    assert "of 3 such numbers 2 came out, 1 of them in a range" in page(rows, {})


def test_what_a_row_is_held_to_is_read_from_its_study(tmp_path: Path) -> None:
    claims = [claim for source in load_sources(list(find_sources())) for path in source.studies
              for claim in load_study(path).claims]  # fmt: skip
    of_runs = next(claim for claim in claims if claim.of_one_run)
    within = next(claim for claim in claims if claim.published and claim.tolerance == 0.1)
    for name, claim in (("a", of_runs), ("b", within)):
        summary(tmp_path / name, "holds", 12.0, claim.text)
    assert {row.held_to for row in rows_below(tmp_path)} == {"95 % of runs", "± 10 %"}


def test_rows_of_sources_that_ran_again_take_the_place_of_those_that_are_kept(
    tmp_path: Path,
) -> None:
    def row(source: str, text: str) -> Row:
        return Row(source, text, "missed", "cwnd_packets_second_half", "", 12, 9, (8, 10))

    kept = [row("RFC 9438", "a"), row("ware-2019", "old"), row("ware-2019", "gone")]
    assert with_kept([row("ware-2019", "new"), row("l4s-tests", "b")], kept) == [
        row("l4s-tests", "b"), row("RFC 9438", "a"), row("ware-2019", "new"),
    ]  # fmt: skip
    written = tmp_path / "rows.jsonl"
    assert kept_rows(written) == []
    written.write_text("".join(f"{json.dumps(asdict(each))}\n" for each in kept))
    assert [each.text for each in kept_rows(written)] == ["a", "old", "gone"]


def test_a_study_that_ran_again_replaces_its_own_rows_alone() -> None:
    def row(text: str, study: str, seed: int | None = None) -> Row:
        numbers = (12, 9, (8, 10), "± 10 %")
        return Row("s", text, "missed", "cwnd_packets_second_half", "", *numbers, study, seed)

    kept = [row("a", "one"), row("b", "one"), row("c", "two")]
    rows = with_kept([row("a", "one", 7)], kept)
    assert rows == [row("a", "one", 7), row("c", "two")]
    text = page(rows, {})
    assert "| s | one | 7 | not recorded | not recorded |" in text
    assert "| s | two | not recorded |" in text


def test_rows_have_the_provenance_of_their_runs(tmp_path: Path) -> None:
    summary(tmp_path / "a", "holds", 11.9)
    (row,) = rows_below(tmp_path)
    assert row.study == "Study a"
    assert (row.seed, row.replicates, row.version, row.kernel) == (3, 5, "0.1.0", "7.3.4")
    assert "| RFC 9438 | Study a | 3 | 5 | 0.1.0 | 7.3.4 | 2026-11-26 |" in page([row], {})


def test_numbers_that_were_not_run_are_named() -> None:
    row = Row("s", "a", "missed", "cwnd_packets_second_half", "", 12, 9, None)
    assert "Not run for this page: 15 of ccafct." in page([row], {"ccafct": 15})
    assert "Not run for this page" not in page([row], {})


def test_a_metric_has_one_panel_and_one_unit() -> None:
    times = [Row("s", f"{ours}", "missed", "median_s", "", 0.5, ours, None) for ours in (0.5, 1.5)]
    assert {(each.panel, each.published) for each in points(times)} == {("s: median (s)", 0.5)}


def test_the_kept_rows_are_those_of_the_page() -> None:
    text = (DOCS / "validation.md").read_text(encoding="utf-8")
    rows = kept_rows()
    assert rows
    for each in rows:
        assert f"{each.source}: {each.text} | {each.condition} |" in text
    assert f"{sum(each.is_hit for each in rows)} of {len(rows)} numbers came out" in text
