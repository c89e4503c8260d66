"""Baselines: what was measured, kept in a file, and later results held against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import support
from netwarp.cli.checks import status_of
from netwarp.errors import InputError
from netwarp.evaluation import RunData, load
from netwarp.output.baseline import (
    Baseline,
    BaselineComparison,
    Standing,
    baseline_of,
    compare_with_baseline,
)
from netwarp.output.baseline_file import baseline_text, read_baseline, write_baseline
from netwarp.output.baseline_lines import baseline_lines
from netwarp.output.own_files import BASELINE_START, refuse_foreign
from netwarp.results import Results, RunResult


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    found = load(support.write_run_directory(tmp_path_factory.mktemp("baseline") / "out"))
    return replace(found, results=support.results(failed_run=None))


@pytest.fixture(scope="module")
def baseline(data: RunData, tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    path = tmp_path_factory.mktemp("saved") / "baseline.json"
    write_baseline(baseline_of(data), path)
    return read_baseline(path)


def changed(data: RunData, change: Callable[[RunResult], float | None]) -> RunData:
    """The same data with other completion times, as if other records had been written."""
    runs = tuple(
        replace(run, metrics={**run.metrics, "completion_time_s": change(run)})
        for run in data.results.runs
    )
    return replace(data, results=Results(runs, data.results.criteria))


def other_bytes(baseline: Baseline) -> Baseline:
    """The same values of other records."""
    cells = tuple(replace(cell, records_sha256="0" * 64) for cell in baseline.cells)
    return replace(baseline, cells=cells)


def hold(baseline: Baseline, data: RunData) -> BaselineComparison:
    return compare_with_baseline(baseline, data, "baseline.json")


def text_of(found: BaselineComparison) -> str:
    return "\n".join(line.plain for line in baseline_lines(found, Path("out")))


def test_a_saved_baseline_is_read_as_it_was(data: RunData, baseline: Baseline) -> None:
    assert baseline == baseline_of(data)
    text = baseline_text(baseline)
    assert json.loads(text)["netwarp_baseline"] == 1
    lines = [line for line in text.splitlines() if line.startswith("  {")]
    assert len(lines) == 24, "a line for each cell"
    assert baseline.conditions["seed"] == "1"
    assert {"kernel", "endpoint", "clock"} <= baseline.conditions.keys()


def test_the_order_of_the_file_is_not_that_of_the_plan(data: RunData, baseline: Baseline) -> None:
    turned = Results(
        tuple(replace(run, cell=23 - run.cell) for run in reversed(data.results.runs)),
        data.results.criteria,
    )
    again = baseline_of(replace(data, results=turned))
    assert [cell.factors for cell in again.cells] == [cell.factors for cell in baseline.cells]


def test_the_same_records_are_unchanged_byte_for_byte(data: RunData, baseline: Baseline) -> None:
    found = hold(baseline, data)
    assert found.standings == {Standing.UNCHANGED}
    assert all(cell.is_same_bytes for cell in found.metrics[0].cells)
    assert "24 unchanged (24 byte for byte)" in text_of(found)
    assert status_of(data, found) == 0


def test_the_same_values_of_other_records_are_unchanged(data: RunData, baseline: Baseline) -> None:
    found = hold(other_bytes(baseline), data)
    assert found.standings == {Standing.UNCHANGED}
    assert "24 unchanged (0 byte for byte)" in text_of(found)


def test_values_that_are_not_of_the_records_beside_them_are_held_against_todays(
    data: RunData, baseline: Baseline
) -> None:
    cells = tuple(
        replace(
            cell,
            values={
                metric: [2 * (each or 0.0) for each in of] for metric, of in cell.values.items()
            },
        )
        for cell in baseline.cells
    )
    found = hold(replace(baseline, cells=cells), data)
    assert found.standings == {Standing.BETTER}
    assert not any(cell.is_same_bytes for cell in found.metrics[0].cells)


def test_more_or_fewer_replicates_of_the_same_seeds_are_no_change(
    data: RunData, baseline: Baseline
) -> None:
    last = max(run.replicate for run in data.results.runs)
    fewer = tuple(run for run in data.results.runs if run.replicate < last)
    now = replace(data, results=Results(fewer, data.results.criteria))
    assert hold(baseline, now).standings == {Standing.UNCHANGED}
    assert hold(baseline_of(now), data).standings == {Standing.UNCHANGED}


@pytest.mark.parametrize(
    ("factor", "held", "status"),
    [(1.2, Standing.WORSE, 1), (0.8, Standing.BETTER, 0), (1.005, Standing.WITHIN, 0)],
)
def test_a_change_is_worse_better_or_within(
    data: RunData, baseline: Baseline, factor: float, held: Standing, status: int
) -> None:
    """By the smallest relevant difference, 1 %."""
    now = changed(
        data,
        lambda run: (
            (run.value("completion_time_s") or 0.0)
            * (factor if run.factors["transport"] == "quic" else 1.0)
        ),
    )
    found = hold(other_bytes(baseline), now)
    assert found.metrics[0].counts == {Standing.UNCHANGED: 18, held: 6}
    assert status_of(now, found) == status
    assert f"{held.value}: QUIC, loss 1 %, RTT 50 ms" in text_of(found)
    assert "netwarp timeline out c020-r00" in text_of(found)


def test_more_is_better_where_it_is(data: RunData) -> None:
    by_goodput = data.asked(["goodput_bit_s"], {})
    before = other_bytes(baseline_of(by_goodput))
    runs = tuple(
        replace(
            run, metrics={**run.metrics, "goodput_bit_s": 1.2 * (run.value("goodput_bit_s") or 0)}
        )
        if run.factors["transport"] == "quic"
        else run
        for run in data.results.runs
    )
    now = replace(by_goodput, results=replace(by_goodput.results, runs=runs))
    assert hold(before, now).metrics[0].counts == {Standing.UNCHANGED: 18, Standing.BETTER: 6}


def test_noise_that_replicates_do_not_tell_is_undecided(data: RunData, baseline: Baseline) -> None:
    def noisy(run: RunResult) -> float:
        sign = 1 if run.replicate % 2 else -1
        return (run.value("completion_time_s") or 0.0) * (1 + 0.05 * sign)

    now = changed(data, lambda run: noisy(run) if run.factors["path.loss"] != "0%"
                  else run.value("completion_time_s"))  # fmt: skip
    found = hold(other_bytes(baseline), now)
    assert found.metrics[0].counts == {Standing.UNCHANGED: 8, Standing.UNDECIDED: 16}
    assert status_of(now, found) == 3
    assert "replicates would decide" in text_of(found)


def test_a_run_without_a_value_is_worse(data: RunData, baseline: Baseline) -> None:
    now = changed(data, lambda run: None if run.run == "c000-r00"
                  else run.value("completion_time_s"))  # fmt: skip
    assert hold(other_bytes(baseline), now).metrics[0].counts[Standing.WORSE] == 1


def test_cells_that_only_one_has_are_missing_or_new(data: RunData, baseline: Baseline) -> None:
    fewer = replace(baseline, cells=baseline.cells[1:])
    found = hold(fewer, data)
    assert found.metrics[0].counts == {Standing.UNCHANGED: 23, Standing.NEW: 1}
    assert status_of(data, found) == 0
    kept = tuple(run for run in data.results.runs if run.cell != 5)
    now = replace(data, results=Results(kept, data.results.criteria))
    found = hold(baseline, now)
    assert found.metrics[0].counts == {Standing.UNCHANGED: 23, Standing.MISSING: 1}
    assert status_of(now, found) == 1
    assert "missing: TCP, loss 5 %, RTT 200 ms" in text_of(found)


def test_failed_runs_are_no_baseline(data: RunData) -> None:
    failed = replace(data, results=support.results())
    with pytest.raises(InputError, match="some failed"):
        baseline_of(failed)
    with pytest.raises(InputError, match="some have not ended"):
        baseline_of(replace(data, not_done=("c000-r00",)))


def test_json_has_every_cell(data: RunData, baseline: Baseline) -> None:
    told = json.loads(json.dumps(hold(baseline, data).to_json()))
    (by_metric,) = told["by_metric"]
    assert by_metric["counts"]["unchanged"] == 24
    assert by_metric["cells"][0]["same_records"] is True
    assert by_metric["cells"][0]["before"] == by_metric["cells"][0]["after"]


def test_only_a_baseline_is_replaced_by_one(baseline: Baseline, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    write_baseline(baseline, file)
    refuse_foreign("baseline save", file, BASELINE_START)
    file.write_text('{"name": "package"}')
    with pytest.raises(InputError, match="another file is there, which netwarp did not write"):
        refuse_foreign("baseline save", file, BASELINE_START)


def test_what_is_no_baseline_is_refused_with_the_remedy(baseline: Baseline, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    with pytest.raises(InputError, match=r"`netwarp baseline save .*b\.json` makes one"):
        read_baseline(file)
    good = json.loads(baseline_text(baseline))
    broken = {
        "[1": "no JSON",
        "[]": "not a baseline",
        json.dumps({**good, "netwarp_baseline": 2}): "format 2, and this version reads 1",
        json.dumps({**good, "seeds": [1]}): "not as many values as there are seeds",
        json.dumps({**good, "cells": [*good["cells"], good["cells"][0]]}): "a cell is there twice",
        json.dumps({**good, "metrics": ["goodput_bit_s"]}): "not the same replicates",
        json.dumps({**good, "more": 1}): "more: Extra inputs",
        json.dumps(good).replace("completion_time_s", "ease"): "metrics: there is no ease",
        json.dumps(good).replace('_time_s": [', '_time_s": [NaN, '): "finite",
        json.dumps(good).replace('_time_s": [', '_time_s": [1e308, '): "less than or equal",
    }  # fmt: skip
    for text, reason in broken.items():
        file.write_text(text)
        with pytest.raises(InputError) as refused:
            read_baseline(file)
        assert reason in str(refused.value), text[:80]


def without(data: RunData, *lacking: str) -> RunData:
    """The same data in which no run whose name begins so has a completion time."""
    return changed(
        data,
        lambda run: None if run.run.startswith(lacking) else run.value("completion_time_s"),
    )


def test_a_metric_that_no_run_has_any_more_is_worse_in_every_cell(
    data: RunData, baseline: Baseline
) -> None:
    """Also beside one that is still there, and if the records are the same."""
    by_two = baseline_of(data.asked(["completion_time_s", "goodput_bit_s"], {}))
    now = without(data, "c")
    found = hold(by_two, now)
    assert [each.difference.metric for each in found.metrics] == list(by_two.metrics)
    assert found.metrics[0].counts == {Standing.WORSE: 24}
    assert found.metrics[1].counts == {Standing.UNCHANGED: 24}
    assert status_of(now, found) == 1
    assert "no run has it any more" in text_of(found)
    assert hold(baseline, now).metrics[0].counts == {Standing.WORSE: 24}


def test_what_never_had_a_value_is_unchanged(data: RunData) -> None:
    """A run of the same seed without a value before and now is the same, whatever its records."""
    before = without(data, "c000", "c001-r03")
    baseline = other_bytes(baseline_of(before))
    assert hold(baseline, before).standings == {Standing.UNCHANGED}
    other_seeds = replace(baseline, seeds=tuple(seed + 1 for seed in baseline.seeds))
    by_cell = {cell.factors["path.rtt"]: cell.standing
               for cell in hold(other_seeds, before).metrics[0].cells[:2]}  # fmt: skip
    assert by_cell == {"50ms": Standing.UNCHANGED, "200ms": Standing.UNDECIDED}
    nearly = changed(before, lambda run: (v := run.value("completion_time_s")) and v * 1.005)
    assert hold(baseline, nearly).metrics[0].counts == {Standing.UNCHANGED: 1, Standing.WITHIN: 23}


def test_worse_is_what_had_a_value_and_has_none(data: RunData) -> None:
    before = without(data, "c000", "c001-r03")
    baseline = other_bytes(baseline_of(before))
    lost = hold(baseline, without(before, "c001-r04"))
    assert lost.metrics[0].counts == {Standing.UNCHANGED: 23, Standing.WORSE: 1}
    found = hold(baseline, data)
    assert found.metrics[0].counts == {Standing.UNCHANGED: 22, Standing.UNDECIDED: 2}, (
        "it is gained"
    )
    runs = tuple(
        replace(run, outcome="failed", metrics={}) if run.run == "c000-r00" else run
        for run in before.results.runs
    )
    failed = hold(baseline, replace(before, results=replace(before.results, runs=runs)))
    assert failed.metrics[0].counts == {Standing.UNCHANGED: 23, Standing.WORSE: 1}
