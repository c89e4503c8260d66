"""The page: what each section shows, as plain values for the template."""

from __future__ import annotations

import base64
import json
import math
import shlex
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from netwarp import __version__
from netwarp.claims import evaluate_claims
from netwarp.figures.style import dark_overlay
from netwarp.metrics import METRICS
from netwarp.report import trust
from netwarp.report.chart_script import chart_script
from netwarp.report.happened import happened
from netwarp.results.comparisons import Comparisons, ContenderResult, compare_contenders
from netwarp.wording import (
    Quantity,
    condition_text,
    effect_text,
    favourable,
    level_text,
    mean_text,
    median_text,
    number,
    outcome_text,
    percent,
    quantity,
    sentence_case,
    spread_note,
    transport_text,
    verdict_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.estimate.comparison import Comparison
    from netwarp.figures.chart import Chart
    from netwarp.report.happened import Happened
    from netwarp.results import CellResult, Results
    from netwarp.results.rundata import RunData
    from netwarp.run_directory import Clock


def render(data: RunData, charts: Sequence[Chart]) -> str:
    """Render the report as HTML without a single reference to anything outside of it."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["transport"] = transport_text
    compared = compare_contenders(data.results)
    over_time = happened(data)
    return environment.get_template("page.html").render(
        data=data,
        study=data.study,
        version=__version__,
        style=_own("style.css"),
        script=_own("script.js"),
        bundle=Markup(chart_script()) if charts or over_time else "",  # noqa: S704 - a library's
        dark=_json(dark_overlay()),
        facts=_facts(data),
        answer=_answer(compared),
        standings=_standings(compared),
        results=_results_table(data.results, compared, data.clock),
        claims=evaluate_claims(data.study.claims, data.results),
        figures=[_figure(chart) for chart in charts],
        over_time=_over_time(over_time) if over_time else None,
        trust=trust.collect(data, compared),
        relevant=percent(data.results.criteria.relevant, 2),
        real=data.clock == "real",
        provenance=_provenance(data),
        command=shlex.join(map(str, data.provenance.get("command_line", []))),
    )


def _facts(data: RunData) -> list[tuple[str, str]]:
    """Say at a glance what stands behind the page."""
    results, provenance = data.results, data.provenance
    facts = [
        ("runs", f"{len(results.runs)} in {len(results.cells)} cells"),
        ("failed", str(len(results.failed))),
        ("kernel", str(provenance.get("kernel", {}).get("version", "unknown"))),
    ]
    virtual_s, wall_s = provenance.get("virtual_s"), provenance.get("wall_s")
    if data.clock == "real" and wall_s:
        facts.append(("real time", f"{number(wall_s)} s"))
    elif virtual_s and wall_s:
        facts.append(("virtual time", f"{number(virtual_s)} s"))
        facts.append(("wall time", f"{number(wall_s)} s ({number(virtual_s / wall_s, 2)}× faster)"))
    return [*facts, ("seed", str(data.study.seed))]


def _answer(compared: Comparisons) -> list[str]:
    """Answer the question in sentences, one for each contender."""
    first = level_text(compared.factor, compared.first)
    sentences = []
    for label, entries in _by_contender(compared).items():
        by_outcome: dict[str, list[Comparison]] = {}
        for contender in entries:
            if contender.comparison is not None:
                outcome = outcome_text(contender.comparison, compared.metric)
                by_outcome.setdefault(outcome, []).append(contender.comparison)
        groups = sorted(by_outcome.items(), key=lambda group: not group[1][0].verdict.decided)
        parts = [
            f"{outcome} {_where(len(found), len(entries))}{_span(found, compared)}"
            for outcome, found in groups
        ]
        name = level_text(compared.factor, label)
        sentences.append(f"{name} against {first}: {', '.join(part.strip() for part in parts)}.")
    return sentences


def _where(count: int, conditions: int) -> str:
    if conditions == 1:
        return ""
    return "in every condition" if count == conditions else f"in {count} of {conditions} conditions"


def _span(found: Sequence[Comparison], compared: Comparisons) -> str:
    """Give the smallest and the largest of the differences found."""
    decided = [c for c in found if c.verdict.decided and c.scale == "ratio"]
    texts = [
        effect_text(c, compared.metric)
        for c in sorted(decided, key=lambda c: abs(math.log(c.effect or 1.0)))
    ]
    if not texts:
        return ""
    return f" ({texts[0]})" if texts[0] == texts[-1] else f" ({texts[0]} to {texts[-1]})"


def _by_contender(compared: Comparisons) -> dict[str, list[ContenderResult]]:
    found: dict[str, list[ContenderResult]] = {}
    for group in compared.groups:
        for contender in group.contenders:
            if contender.comparison is not None:
                found.setdefault(contender.label, []).append(contender)
    return found


@dataclass(frozen=True)
class Standing:
    """How one contender fared over all conditions."""

    name: str
    marks: list[tuple[str, str, str]]
    """Class, short text and full text for each condition."""


def _standings(compared: Comparisons) -> dict[str, Any] | None:
    """Make the matrix contender × condition; None where there is nothing to compare."""
    contenders = _by_contender(compared)
    if not contenders or len(compared.groups) < 2:
        return None
    rows = []
    for label, entries in contenders.items():
        marks = [
            (
                _mark_class(contender, compared),
                _short(contender, compared),
                verdict_text(contender.comparison, compared.metric) if contender.comparison else "",
            )
            for contender in entries
        ]
        rows.append(Standing(level_text(compared.factor, label), marks))
    heads = [condition_text(group.condition).split(", ") for group in compared.groups]
    return {
        "metric": quantity(compared.metric, 1).title,
        "heads": heads,
        "rows": rows,
        "first": level_text(compared.factor, compared.first),
    }


def _short(contender: ContenderResult, compared: Comparisons) -> str:
    if contender.comparison is None:
        return ""
    if contender.comparison.verdict.decided:
        size = effect_text(contender.comparison, compared.metric)
        return f"{size} {outcome_text(contender.comparison, compared.metric)}"
    return {"equivalent": "≈", "identical": "=", "undecided": "?"}.get(
        contender.comparison.verdict.value, "not tested"
    )


def _mark_class(contender: ContenderResult, compared: Comparisons) -> str:
    better = favourable(contender.comparison, compared.metric) if contender.comparison else None
    return {True: "better", False: "worse", None: "even"}[better]


def _results_table(results: Results, compared: Comparisons, clock: Clock) -> dict[str, Any]:
    columns = [metric.name for metric in METRICS.values() if metric.in_report]
    metrics = [m for m in (compared.metric, *columns) if m in results.metrics]
    shown = {
        m: quantity(m, max(e.mean for c in results.cells if (e := c.estimate(m)) is not None))
        for m in dict.fromkeys(metrics)
    }
    groups = [
        {
            "condition": sentence_case(condition_text(group.condition)) or "All runs",
            "rows": [
                _result_row(contender, compared, shown, clock) for contender in group.contenders
            ],
        }
        for group in compared.groups
    ]
    return {
        "heads": [unit.axis_title for unit in shown.values()],
        "first": level_text(compared.factor, compared.first),
        "groups": groups,
    }


def _result_row(
    contender: ContenderResult, compared: Comparisons, shown: dict[str, Quantity], clock: Clock
) -> dict[str, Any]:
    comparison = contender.comparison
    return {
        "name": level_text(compared.factor, contender.label),
        "cells": [_value(contender.cell, metric, unit, clock) for metric, unit in shown.items()],
        "verdict": verdict_text(comparison, compared.metric) if comparison else "the first",
        "mark": _mark_class(contender, compared) if comparison else "first",
        "note": trust.comparison_note(comparison) if comparison else "",
        "failed": f"{len(contender.cell.failed)} of {len(contender.cell.runs)} runs failed"
        if contender.cell.failed
        else "",
    }


def _value(cell: CellResult, metric: str, unit: Quantity, clock: Clock) -> tuple[str, str]:
    estimate = cell.estimate(metric)
    if estimate is None:
        return ("–", "not measured")
    if clock == "real":
        return (median_text(estimate, unit), f"n = {estimate.n}")
    low, high = estimate.minimum * unit.scale, estimate.maximum * unit.scale
    note = spread_note(estimate) or (
        f"{number(estimate.median * unit.scale)} ({number(low)} – {number(high)})"
    )
    return (mean_text(estimate, unit), note)


def _figure(chart: Chart) -> dict[str, Any]:
    svg = chart.svg()
    return {
        "name": chart.name,
        "title": chart.title,
        "alt": chart.alt,
        "svg": "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode(),
        "png": "data:image/png;base64," + base64.b64encode(chart.png()).decode(),
        "spec": _json(chart.spec),
    }


def _over_time(shown: Happened) -> dict[str, Any]:
    """Give the first run as a picture and all as charts that are drawn when they are chosen."""
    first = shown.charts[0][1]
    return {
        "runs": [
            {"name": f"run-{chart.name}", "label": label, "alt": chart.alt,
             "spec": _json(chart.spec)}
            for label, chart in shown.charts
        ],
        "svg": "data:image/svg+xml;base64," + base64.b64encode(first.svg().encode()).decode(),
        "metric": shown.metric,
        "left_out": shown.cells - len(shown.charts),
    }  # fmt: skip


def _provenance(data: RunData) -> list[tuple[str, str]]:
    """Flatten the provenance; the equal-treatment table has its own place."""
    rest = {k: v for k, v in data.provenance.items() if k not in ("equal_treatment",)}
    return list(_flat("", rest))


def _flat(prefix: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [
            row
            for key, inner in value.items()
            for row in _flat(f"{prefix} › {key}" if prefix else key, inner)
        ]
    if isinstance(value, list):
        return [(prefix, shlex.join(map(str, value)))]
    return [(prefix.replace("_", " "), "–" if value is None else str(value))]


def _own(name: str) -> Markup:
    """Give a file of this package as it is."""
    return Markup(_resource(name))  # noqa: S704 - ours, no user's text in it


def _json(value: Any) -> Markup:
    r"""Write JSON that HTML reads as one script: `<` is written as `\u003c`."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - nothing in it can end the script


def _resource(name: str) -> str:
    return (files("netwarp.report") / name).read_text(encoding="utf-8")
