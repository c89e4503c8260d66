"""The table of all cells, which can be sorted and filtered in the page, and its CSV file."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.estimate.levels import ordered
from netwarp.metrics import METRICS, metric_named
from netwarp.report import trust
from netwarp.report.answer import mark_class
from netwarp.report.templates import csv_link
from netwarp.results import CellResult, Results
from netwarp.results.comparisons import Comparisons, ContenderResult
from netwarp.run_directory import Clock
from netwarp.verdict_wording import verdict_text
from netwarp.wording import (
    Quantity,
    factor_title,
    level_text,
    mean_text,
    median_text,
    number,
    quantity,
    spread_note,
)


@dataclass(frozen=True)
class NumberCell:
    """One field of the table of numbers."""

    text: str
    detail: str
    """Second line of the field in smaller type; empty if there is none."""
    sort_by: str
    """What the column is sorted by: a number, or the text itself."""


@dataclass(frozen=True)
class VerdictCell(NumberCell):
    """The field of the table of numbers for a verdict; its column is sorted by the ratio."""

    mark: str
    """The CSS classes that colour the cell by its verdict."""


@dataclass(frozen=True)
class NumberRow:
    """The row of one cell of the study in the table of numbers."""

    levels: list[NumberCell]
    metrics: list[NumberCell]
    verdicts: list[VerdictCell]
    """The cell's verdict for each main metric."""
    mark: str
    """CSS classes of the row, which follow from the verdict for the first main metric."""
    failed: str
    """Text on the number of failed runs; empty if none failed."""
    disturbed: str
    """Text on the number of runs during which the path changed; empty if there are none."""


@dataclass(frozen=True)
class NumberTable:
    """The numbers of all cells, with a row for each."""

    factors: list[str]
    metrics: list[str]
    verdicts: list[str]
    """Headings of the verdicts for each main metric."""
    rows: list[NumberRow]
    csv_link: str
    """Data link that contains the cells as CSV."""


def number_table(
    results: Results, answers: Sequence[Comparisons], fixed: Mapping[str, str], clock: Clock
) -> NumberTable:
    """Return the table of numbers: a row for each cell, sorted by condition."""
    shown = shown_metrics(results, answers)
    factors = _factors_in_order(results)
    main, *others = (_contenders(compared) for compared in answers)
    rows = [
        _row([first, *rest], answers, factors, shown, clock)
        for first, *rest in zip(main, *others, strict=True)
    ]
    text = cells_csv(results, answers, fixed)
    return NumberTable(
        factors=[factor_title(factor) for factor in factors],
        metrics=[unit.axis_title for unit in shown.values()],
        verdicts=[_verdict_head(compared, answers) for compared in answers],
        rows=rows,
        csv_link=csv_link(text),
    )


def _contenders(compared: Comparisons) -> list[ContenderResult]:
    return [contender for group in compared.groups for contender in group.contenders]


def _verdict_head(compared: Comparisons, answers: Sequence[Comparisons]) -> str:
    head = f"Against {level_text(compared.factor, compared.first)}"
    return f"{metric_named(compared.metric).title}: {head.lower()}" if len(answers) > 1 else head


def shown_metrics(results: Results, answers: Sequence[Comparisons]) -> dict[str, Quantity]:
    """Return the columns: the compared metrics, those printed together with them, then those that
    reports add.
    """
    compared = [
        name
        for each in answers
        for name in (each.metric, *(metric_named(each.metric).beside or ()))
    ]
    own = [m for m in results.metrics if m not in METRICS and metric_named(m).in_report]
    columns = [*own, *(metric.name for metric in METRICS.values() if metric.in_report)]
    chosen = dict.fromkeys(m for m in (*compared, *columns) if m in results.metrics)
    return {
        m: quantity(m, max(e.mean for c in results.cells if (e := c.estimate(m)) is not None))
        for m in chosen
    }


def cells_csv(results: Results, answers: Sequence[Comparisons], fixed: Mapping[str, str]) -> str:
    """Return the cells as CSV, a line for each: factors, fixed conditions, counts, estimates in
    base units.
    """
    metrics = list(shown_metrics(results, answers))
    verdicts = [
        {
            contender.cell.index: verdict_text(contender.comparison, compared.metric)
            for contender in _contenders(compared)
            if contender.comparison is not None
        }
        for compared in answers
    ]
    verdict_heads = ["verdict", *(f"{compared.metric} verdict" for compared in answers[1:])]
    parts = ("mean", "low", "high", "median", "n")
    heads = [f"{metric} {part}" for metric in metrics for part in parts]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*results.factors, *fixed, "runs", "failed", *heads, *verdict_heads])
    for cell in results.cells:
        values: list[object] = []
        for metric in metrics:
            estimate = cell.estimate(metric)
            if estimate is None:
                values += [None] * len(parts)
                continue
            low, high = estimate.ci95 or (None, None)
            values += [estimate.mean, low, high, estimate.median, estimate.n]
        counts = [len(cell.runs), len(cell.failed)]
        found = [each.get(cell.index, "") for each in verdicts]
        writer.writerow([*cell.factors.values(), *fixed.values(), *counts, *values, *found])
    return text.getvalue()


def _factors_in_order(results: Results) -> dict[str, list[str]]:
    """Return the factors with sorted levels: conditions first, then the factor that is compared."""
    contender = results.contender_factor
    varied = [factor for factor in results.factors if factor != contender]
    factors = [*varied, contender] if contender else varied
    return {factor: ordered(results.factors[factor]) for factor in factors}


def _row(
    contenders: Sequence[ContenderResult],
    answers: Sequence[Comparisons],
    factors: Mapping[str, list[str]],
    shown: Mapping[str, Quantity],
    clock: Clock,
) -> NumberRow:
    """Return the row of one cell in the table of numbers."""
    cell = contenders[0].cell
    verdicts = [_verdict(*each) for each in zip(contenders, answers, strict=True)]
    failed = f"{len(cell.failed)} of {len(cell.runs)} runs failed" if cell.failed else ""
    disturbed = len(cell.disturbed)
    return NumberRow(
        levels=[
            NumberCell(level_text(factor, label), "", str(order.index(label)))
            for factor, order in factors.items()
            if (label := cell.factors[factor])
        ],
        metrics=[_metric(cell, metric, unit, clock) for metric, unit in shown.items()],
        verdicts=verdicts,
        mark=verdicts[0].mark,
        failed=failed,
        disturbed=f"{disturbed} of {len(cell.runs)} runs disturbed" if disturbed else "",
    )


def _verdict(contender: ContenderResult, compared: Comparisons) -> VerdictCell:
    """Return the field of the table with a contender's verdict."""
    comparison = contender.comparison
    if comparison is None:
        return VerdictCell("baseline", "", "", "first")
    return VerdictCell(
        verdict_text(comparison, compared.metric),
        trust.comparison_note(comparison, compared),
        "" if comparison.effect is None else repr(comparison.effect),
        mark_class(contender, compared),
    )


def _metric(cell: CellResult, metric: str, unit: Quantity, clock: Clock) -> NumberCell:
    """Return the field of the table with a metric: its mean, or in real time its median."""
    estimate = cell.estimate(metric)
    if estimate is None:
        return NumberCell("–", "", "")
    if clock == "real":
        text, detail = median_text(estimate, unit), f"n = {estimate.n}"
        return NumberCell(text, detail, repr(estimate.median))
    low, high = estimate.minimum * unit.scale, estimate.maximum * unit.scale
    detail = spread_note(estimate, is_random=cell.is_random) or (
        f"{number(estimate.median * unit.scale)} ({number(low)} – {number(high)})"
    )
    return NumberCell(mean_text(estimate, unit), detail, repr(estimate.mean))
