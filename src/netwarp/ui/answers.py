"""Words the results of a run directory for the page: bars with intervals, and verdicts.

Texts and numbers are those of the report.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from netwarp.claims.expected_sentences import WORDS, found_text
from netwarp.claims.too_few import too_few_as_planned
from netwarp.figures.style import series_styles
from netwarp.measurement_notes import gave_up_text
from netwarp.metrics import metric_named
from netwarp.report.answer import answer_sentences, mark_class
from netwarp.report.cause_table import cause_table
from netwarp.results.comparisons import metrics_beside
from netwarp.results.undecided import undecided_text
from netwarp.verdict_wording import verdict_text
from netwarp.wording import (
    condition_text,
    count_text,
    level_text,
    mean_text,
    number,
    quantity,
    spread_note,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netwarp.evaluation import RunData
    from netwarp.results.comparisons import Comparisons, ConditionGroup, ContenderResult
    from netwarp.wording import Quantity


def answer(data: RunData, of: int) -> dict[str, Any]:
    """Return what the page draws.

    Args:
        data: the runs so far.
        of: replicates that are run in all. With fewer, verdicts are those so far.
    """
    runs = data.results.runs
    causes = cause_table(data.results)
    return {
        "replicates": 1 + max((run.replicate for run in runs), default=-1),
        "of": of,
        "directory": str(data.directory),
        "metrics": [_metric(compared, data) for compared in data.answers if _has_values(compared)],
        "notes": [note for note in [gave_up_text(data.results)] if note],
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
        "runs": [run.run for run in runs if run.replicate == 0],
    }


def _has_values(compared: Comparisons) -> bool:
    return any(
        each.cell.values(compared.metric) for group in compared.groups for each in group.contenders
    )


def _metric(compared: Comparisons, data: RunData) -> dict[str, Any]:
    """Return what the page draws of one metric."""
    compared = _with_those_that_gave_up(compared)
    means = [
        abs(found.mean)
        for group in compared.groups
        for each in group.contenders
        if (found := each.cell.estimate(compared.metric)) is not None
    ]
    shown = quantity(compared.metric, max(means, default=0.0))
    metric = metric_named(compared.metric)
    beside = {name: _shown_beside(name, data) for name in _beside(compared.metric, data)}
    return {
        "name": compared.metric,
        "title": shown.title,
        "unit": shown.unit,
        "better": metric.better,
        "sentences": answer_sentences(compared.with_values),
        "open": (undecided_text(compared, data.results) or "").partition("; --decide")[0] or None,
        "beside": [f"{each.title} ({each.unit})" if each.unit else each.title
                   for each in beside.values()],
        "groups": [_group(group, compared, shown, beside) for group in compared.groups],
    }  # fmt: skip


def _beside(metric: str, data: RunData) -> list[str]:
    """Return the metrics that are printed beside a metric, without those that have bars."""
    own = [compared.metric for compared in data.answers]
    return [name for name in metrics_beside(data.results, metric) if name not in own]


def _shown_beside(metric: str, data: RunData) -> Quantity:
    found = (cell.estimate(metric) for cell in data.results.cells)
    return quantity(metric, max((abs(each.mean) for each in found if each), default=0.0))


def _with_those_that_gave_up(compared: Comparisons) -> Comparisons:
    """Leave out conditions that have no value, unless transports gave up: that is an answer."""
    valued = compared.with_values.groups
    groups = tuple(
        group
        for group in compared.groups
        if group in valued or any(each.cell.gave_up for each in group.contenders)
    )
    return replace(compared, groups=groups)


def _group(
    group: ConditionGroup, compared: Comparisons, shown: Quantity, beside: Mapping[str, Quantity]
) -> dict[str, Any]:
    """Return what the page draws of one condition."""
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
                "is_first": each.comparison is None and is_compared,
                "beside": [_mean(each, metric, of) for metric, of in beside.items()],
            }
            for each, style in zip(group.contenders, styles, strict=True)
        ],
    }


def _mean(each: ContenderResult, metric: str, shown: Quantity) -> str:
    estimate = each.cell.estimate(metric)
    if estimate is None:
        return "–"
    return count_text(estimate.mean, shown) or number(estimate.mean * shown.scale)


def _bar(each: ContenderResult, compared: Comparisons, shown: Quantity) -> dict[str, Any]:
    """Return what the page draws of one contender."""
    estimate = each.cell.estimate(compared.metric)
    bar: dict[str, Any] = {
        "label": level_text(compared.factor, each.label) or "all",
        "verdict": verdict_text(each.comparison, compared.metric) if each.comparison else "",
        "mark": mark_class(each, compared),
        "failed": len(each.cell.failed),
        "gave_up": len(each.cell.gave_up),
        "mean": None, "low": None, "high": None, "text": "", "note": "", "samples": [],
    }  # fmt: skip
    if estimate is None:
        return bar
    low, high = estimate.ci95 or (None, None)
    return bar | {
        "mean": estimate.mean * shown.scale,
        "low": None if low is None else low * shown.scale,
        "high": None if high is None else high * shown.scale,
        "text": f"{mean_text(estimate, shown)} {shown.unit}".rstrip(),
        "note": spread_note(estimate, is_random=each.cell.is_random),
        "samples": [value * shown.scale for value in estimate.samples],
    }
