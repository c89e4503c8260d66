"""Studies with expectations, and results to hold them against."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from claimed import NOISE, grid
from netwarp.claims import ExpectationResult, evaluate_expectations
from netwarp.results import Results
from netwarp.study import Study, study_from_mapping

EXACT = (1.0, 1.0, 1.0)


def study(*expect: str, **keys: Any) -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "path": {},
            "workload": {"size": "1MB"},
            "factors": {"transport": ["tcp", "quic"], "workload.chunks": [1, 2]},
            "expect": [{"that": each} for each in expect],
            **keys,
        }
    )


def results(tcp: float = 10.0, quic: float = 8.0, noise: tuple[float, ...] = NOISE) -> Results:
    """Make completion times of two transports at two numbers of streams."""
    means = {(t, s): mean for t, mean in (("tcp", tcp), ("quic", quic)) for s in ("1", "2")}
    made = grid(means, noise=noise)
    runs = [
        replace(run, factors={"transport": run.factors["transport"],
                              "workload.chunks": run.factors["streams"]})
        for run in made.runs
    ]  # fmt: skip
    return Results(tuple(runs), made.criteria)


def judge(expect: str, found: Results | None = None) -> ExpectationResult:
    (judged,) = evaluate_expectations(study(expect).expectations, found or results())
    return judged
