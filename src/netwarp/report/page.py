"""Renders the report: converts each section to plain values for the template."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from netwarp.claims.expected_sentences import WORDS, found_text
from netwarp.figures.chart import Chart
from netwarp.kernels_of_runs import kernels_text
from netwarp.measurement_notes import disturbed_text, means_text, uncertainty_notes
from netwarp.report import trust
from netwarp.report.answer import answers
from netwarp.report.cause_table import cause_table
from netwarp.report.link_table import link_table
from netwarp.report.median_runs import MedianRuns, median_runs
from netwarp.report.network_drawing import network_drawing
from netwarp.report.numbers import number_table
from netwarp.report.templates import figure_values, render_page
from netwarp.wording import factor_title, level_text, number, percent, transport_text
from netwarp.workloads import runs_programs

if TYPE_CHECKING:
    from netwarp.evaluation import RunData


def render(data: RunData, charts: Sequence[Chart]) -> str:
    """Return the report as one HTML file that needs no other."""
    runs = median_runs(data)
    job = data.job(data.results.runs[0].run) if data.results.runs else None
    fixed = data.fixed
    return render_page(
        "page.html",
        has_charts=bool(charts or runs),
        data=data,
        study=data.study,
        conditions=[
            (factor_title(key), _condition_text(key, value)) for key, value in fixed.items()
        ],
        facts=_facts(data),
        answers=answers(data),
        numbers=number_table(data.results, data.answers, fixed, data.clock),
        claims=data.claims,
        disturbed=disturbed_text(data),
        uncertainty=uncertainty_notes(data),
        other_means=None if data.clock == "real" else means_text(data.answers),
        expectations=[
            (result.text, found_text(result), result.kept.value, WORDS[result.kept])
            for result in data.expectations
        ],
        network=network_drawing(data),
        links=link_table(data),
        figures=[figure_values(chart) for chart in charts],
        causes=cause_table(data.results),
        over_time=_over_time(runs) if runs else None,
        trust=trust.collect(data, data.answers),
        relevant=percent(data.results.criteria.relevant, 2),
        real=data.clock == "real",
        programs=job is not None and runs_programs(job),
        provenance=_flat(
            "", {k: v for k, v in data.provenance.items() if k != "equal_treatment"}
        ),  # equal treatment is a section of its own
        kernels=kernels_text(data.provenance),
        command=shlex.join(map(str, data.provenance.get("command_line", []))),
    )


def _condition_text(key: str, value: str) -> str:
    if key.endswith("transport.kind"):
        return transport_text(value)
    return PurePath(value).name if key == "workload.file" else level_text(key, value)


def _facts(data: RunData) -> list[tuple[str, str]]:
    """Return facts about the study's execution for the top of the page, as pairs of a name and a
    text.
    """
    results, provenance = data.results, data.provenance
    facts = [
        ("runs", f"{len(results.runs)} in {len(results.cells)} cells"),
        ("failed", str(len(results.failed))),
        ("kernel", kernels_text(provenance)),
    ]
    virtual_s, wall_s = provenance.get("virtual_s"), provenance.get("wall_s")
    if data.clock == "real" and wall_s:
        facts.append(("real time", f"{number(wall_s)} s"))
    elif virtual_s and wall_s:
        facts.append(("virtual time", f"{number(virtual_s)} s"))
        faster = number(virtual_s / wall_s, 2)
        facts.append(("wall time of the runs", f"{number(wall_s)} s ({faster}× faster)"))
    return [*facts, ("seed", str(data.study.seed))]


def _over_time(runs: MedianRuns) -> dict[str, Any]:
    """Return all median runs as charts that are drawn only when the reader selects them."""
    figures = [figure_values(chart) | {"label": label} for label, chart in runs.charts]
    return {"runs": figures, "metric": runs.metric, "left_out": runs.cells - len(runs.charts)}


def _flat(prefix: str, value: Any) -> list[tuple[str, str]]:
    """Return nested provenance as rows, each with a name and a text."""
    if isinstance(value, dict):
        return [
            row
            for key, inner in value.items()
            for row in _flat(f"{prefix} › {key}" if prefix else key, inner)
        ]
    if isinstance(value, list):
        return [(prefix, shlex.join(map(str, value)))]
    return [(prefix.replace("_", " "), _plain(value))]


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return number(value, 5)
    return "–" if value is None else str(value)
