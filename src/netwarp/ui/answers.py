"""Converts the results of a run directory to what the page shows: bars with intervals, and
verdicts.

Texts and numbers are the same as in the report.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from netwarp.claims.expected_sentences import WORDS, found_text
from netwarp.claims.too_few import too_few_as_planned
from netwarp.figures.dark import on_dark
from netwarp.figures.style import series_styles
from netwarp.measurement_notes import gave_up_text, means_text
from netwarp.metrics import metric_named
from netwarp.output.table import conditions_text
from netwarp.report.answer import answer_sentences, mark_class
from netwarp.report.cause_table import cause_table
from netwarp.results.comparisons import metrics_beside
from netwarp.results.undecided import undecided_text
from netwarp.verdict_wording import verdict_text
from netwarp.wording import (
    condition_text,
    contender_text,
    count_text,
    mean_text,
    number,
    quantities,
    spread_note,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netwarp.evaluation import RunData
    from netwarp.results.comparisons import Comparisons, ConditionGroup, ContenderResult
    from netwarp.wording import Quantity


def answer(data: RunData, of: int) -> dict[str, Any]:
    """Return what the page shows of a run directory, as a JSON object.

    Args:
        data: the runs so far.
        of: number of replicates that will have been run at the end. Until then, verdicts are
            provisional.
    """
    runs = data.results.runs
    causes = cause_table(data.results)
    return {
        "replicates": 1 + max((run.replicate for run in runs), default=-1),
        "of": of,
        "directory": str(data.directory),
        "metrics": [_metric(compared, data) for compared in data.answers if _has_values(compared)],
        "conditions": conditions_text(data),
        "warnings": [data.bimodal_text] if data.bimodal_text else [],
        "notes": list(filter(None, [gave_up_text(data.results), means_text(data.answers)])),
        "too_few": [
            f"warning: {each.sentence()}"
            for each in too_few_as_planned(data.study, None, in_real_time=data.clock == "real")
        ],
        "failures": list(dict.fromkeys(f"{run.run}: {run.reason}" for run in data.results.failed)),
        "expectations": [
            {
                "text": each.text,
                "kept": each.kept.value,
                "word": WORDS[each.kept],
                "found": found_text(each),
            }
            for each in data.expectations
        ],
        "causes": [
            {"cell": row.cell, "text": ", ".join(share.text for share in row.told)}
            for row in (causes.rows if causes else ())
        ],
        "cause_meanings": [
            {"name": name, "meaning": meaning}
            for name, _, meaning in (causes.legend if causes else ())
        ],
        "runs": [run.run for run in runs if run.replicate == 0],
    }


def _has_values(compared: Comparisons) -> bool:
    return any(
        each.cell.values(compared.metric) for group in compared.groups for each in group.contenders
    )


def _metric(compared: Comparisons, data: RunData) -> dict[str, Any]:
    """Return what the page shows of one metric, as a JSON object."""
    compared = _with_those_that_gave_up(compared)
    means = [
        abs(found.mean)
        for group in compared.groups
        for each in group.contenders
        if (found := each.cell.estimate(compared.metric)) is not None
    ]
    largest = max(means, default=0.0)
    shown = quantities(compared.metric, largest or 1.0)  # the usual unit if all values are 0
    metric = metric_named(compared.metric)
    is_share = metric.unit in ("ratio", "index") and largest <= 1
    beside = {name: _shown_beside(name, data) for name in _printed_with(compared.metric, data)}
    return {
        **_column(compared.metric, shown),
        "whole": 1.0 if is_share else None,
        "whole_text": value_text(compared.metric, 1.0),
        "better": metric.better,
        "sentences": answer_sentences(compared.with_values),
        "open": (undecided_text(compared, data.results) or "").partition("; --decide")[0] or None,
        "beside": [_column(name, of) for name, of in beside.items()],
        "groups": [_group(group, compared, shown, beside) for group in compared.groups],
    }  # fmt: skip


def _printed_with(metric: str, data: RunData) -> list[str]:
    """Return the metrics that are printed together with a metric, without those that have bars."""
    own = [compared.metric for compared in data.answers]
    return [name for name in metrics_beside(data.results, metric) if name not in own]


def _shown_beside(metric: str, data: RunData) -> list[Quantity]:
    found = (cell.estimate(metric) for cell in data.results.cells)
    return quantities(metric, max((abs(each.mean) for each in found if each), default=0.0) or 1.0)


def _column(metric: str, shown: Sequence[Quantity]) -> dict[str, Any]:
    """Return the name and title of a metric, and the units that its texts can have: the largest
    first, and last the one that fits this answer. Answers next to each other have the same unit.
    """
    return {"name": metric, "title": shown[0].title, "units": [each.unit for each in shown]}


def _with_those_that_gave_up(compared: Comparisons) -> Comparisons:
    """Return the comparisons without the conditions that have no value. Conditions in which
    transports gave up are kept, because that is a result.
    """
    valued = compared.with_values.groups
    groups = tuple(
        group
        for group in compared.groups
        if group in valued or any(each.cell.gave_up for each in group.contenders)
    )
    return replace(compared, groups=groups)


def _group(
    group: ConditionGroup,
    compared: Comparisons,
    shown: Sequence[Quantity],
    beside: Mapping[str, Sequence[Quantity]],
) -> dict[str, Any]:
    """Return what the page shows of one condition, as a JSON object."""
    labels = [each.label for each in group.contenders]
    styles = series_styles(compared.factor, labels)
    varied = {
        factor: level
        for factor, level in group.condition.items()
        if len({each.condition.get(factor) for each in compared.groups}) > 1
    }
    is_compared = any(each.comparison for each in group.contenders)
    return {
        "condition": condition_text(varied),
        "bars": [
            _bar(each, compared, shown)
            | {
                "colour": style.colour,
                "on_dark": on_dark(style.colour),
                "is_first": each.comparison is None and is_compared,
                "beside": [_mean(each, metric, of) for metric, of in beside.items()],
            }
            for each, style in zip(group.contenders, styles, strict=True)
        ],
    }


def _mean(each: ContenderResult, metric: str, shown: Sequence[Quantity]) -> list[str]:
    estimate = each.cell.estimate(metric)
    if estimate is None:
        return ["–" for _ in shown]
    return [count_text(estimate.mean, one) or number(estimate.mean * one.scale) for one in shown]


def _bar(each: ContenderResult, compared: Comparisons, shown: Sequence[Quantity]) -> dict[str, Any]:
    """Return what the page shows of one contender, with values in stored units, as a JSON
    object.
    """
    estimate = each.cell.estimate(compared.metric)
    bar: dict[str, Any] = {
        "label": contender_text(compared.factor, each.label) or "all",
        "verdict": verdict_text(each.comparison, compared.metric) if each.comparison else "",
        "mark": mark_class(each, compared),
        "failed": len(each.cell.failed),
        "gave_up": len(each.cell.gave_up),
        "mean": None, "low": None, "high": None, "texts": [], "note": "", "samples": [],
    }  # fmt: skip
    if estimate is None:
        return bar
    low, high = estimate.ci95 or (None, None)
    return bar | {
        "mean": estimate.mean,
        "low": low,
        "high": high,
        "texts": [f"{mean_text(estimate, one)} {one.unit}".rstrip() for one in shown],
        "note": spread_note(estimate, is_random=each.cell.is_random),
        "samples": list(estimate.samples),
    }
