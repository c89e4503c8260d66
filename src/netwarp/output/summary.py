"""The object that `--json` prints and `summary.json` contains. Scripts rely on the names in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netwarp.claims.too_few import too_few_in
from netwarp.estimate.comparison import Comparison, Verdict
from netwarp.estimate.stats import Estimate
from netwarp.results import CellResult, Results
from netwarp.results.two_modes import two_modes

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.results.comparisons import Comparisons


def summary(data: RunData) -> dict[str, Any]:
    """Return the object that `--json` prints, of plain types, with all values in base units."""
    provenance = data.provenance
    too_few = too_few_in(data.study, data.results)
    of_expectations = [each.to_json() for each in too_few if each.what == "expectations"]
    of_others = [each.to_json() for each in too_few if each.what != "expectations"]
    return {
        "study": data.study.title,
        "out": str(data.directory),
        "seed": data.study.seed,
        "virtual_s": provenance.get("virtual_s"),
        "wall_s": provenance.get("wall_s"),
        "records_sha256": data.records_sha256,
        "time_limit": data.limit_text,
        "too_few_replicates": next(iter(of_others), None),
        "too_few_for_expectations": next(iter(of_expectations), None),
        "runs_planned": len(data.results.runs) + len(data.not_done),
        "runs_not_done": list(data.not_done),
        "runs_left_by_time_limit": list(data.left_by_limit),
        "cells": _cells(data.results, data.answers),
        "claims": [json.loads(json.dumps(claim.to_json())) for claim in data.claims],
        "expectations": [result.to_json() for result in data.expectations],
    }


def _cells(results: Results, answers: Sequence[Comparisons]) -> list[dict[str, Any]]:
    """Return the cells with their comparisons for each main metric; the comparison for the first
    metric is also a separate field.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    for compared in answers:
        for contender in (each for group in compared.groups for each in group.contenders):
            if contender.comparison is not None:
                made = _comparison(contender.comparison, compared)
                found.setdefault(contender.cell.index, []).append(made)
    return [
        _cell(cell, results.metrics)
        | _bimodal(cell, [compared.metric for compared in answers])
        | ({"comparison": by[0], "comparisons": by} if (by := found.get(cell.index)) else {})
        for cell in results.cells
    ]


def _bimodal(cell: CellResult, metrics: Sequence[str]) -> dict[str, Any]:
    """Return the main metrics in which a cell's values form two groups (modes); empty if there are
    none.
    """
    found = [each for metric in metrics if (each := two_modes(cell, metric)) is not None]
    return {"bimodal": [each.to_json() for each in found]} if found else {}


def _cell(cell: CellResult, metrics: tuple[str, ...]) -> dict[str, Any]:
    """Return a cell as an object: its levels, its number of runs, and its estimates."""
    return {
        "factors": dict(cell.factors),
        "runs": len(cell.runs),
        "failed": len(cell.failed),
        "estimates": {
            metric: estimate_json(found)
            for metric in metrics
            if (found := cell.estimate(metric)) is not None
        },
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as an object for ``--json``, in base units."""
    return {
        "mean": estimate.mean,
        "ci95": list(estimate.ci95) if estimate.ci95 else None,
        "median": estimate.median,
        "samples": list(estimate.samples),
    }


def _comparison(comparison: Comparison, compared: Comparisons) -> dict[str, Any]:
    """Return a comparison with its verdict as an object for `--json`."""
    is_open = comparison.verdict is Verdict.UNDECIDED
    return {
        "metric": compared.metric,
        "against": compared.first,
        "verdict": comparison.verdict.value,
        comparison.scale: comparison.effect,
        "ci95": list(comparison.ci95) if comparison.ci95 else None,
        "p": comparison.p,
        "adjusted_p": comparison.adjusted_p,
        "pairs": comparison.n,
        "left_out": comparison.left_out,
        "exact": comparison.exact,
        "replicates_needed": compared.replicates_needed(comparison) if is_open else None,
    }
