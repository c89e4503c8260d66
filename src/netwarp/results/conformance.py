"""Conformance of performance envelopes: how well each contender's flow matches that of the first
contender.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netwarp.kept_runs import Kept
from netwarp.measure.envelope import Envelope, conformance, envelope
from netwarp.metrics.competing import CONFORMANCE_RATIO
from netwarp.metrics.envelope import envelope_points
from netwarp.results.results import Results, RunResult


def workload_compared(results: Results) -> str | None:
    """Return the name of the workload whose transports are compared in the study; None if a run has
    one workload, or if something else is compared.
    """
    parts = (results.contender_factor or "").split(".")
    return parts[1] if len(parts) == 3 and parts[::2] == ["workload", "transport"] else None


def with_conformance(results: Results, kept: Kept) -> Results:
    """Add the metric of conformance to the runs: how well each contender's performance envelope
    matches that of the first contender.

    A run is compared with the first contender's next replicate under the same condition; the last
    replicate is compared with the first. So no run of the first contender is compared with itself,
    and its own value is the conformance between runs of the same transport.
    """
    workload = workload_compared(results)
    if workload is None:
        return results
    made: dict[str, Envelope | None] = {}

    def envelope_of(run: RunResult) -> Envelope | None:
        if run.run not in made:
            job = kept.job(run.run) if run.outcome == "ok" else None
            made[run.run] = (
                envelope(envelope_points(job, kept.records(run.run), workload)) if job else None
            )
        return made[run.run]

    found: dict[str, float] = {}
    factor, first = results.contender_factor or "", results.first
    for _, cells in results.conditions():
        base = [run for cell in cells if cell.factors.get(factor) == first for run in cell.runs]
        for run in (run for cell in cells for run in cell.runs):
            other = _next(base, run)
            own, theirs = envelope_of(run), envelope_of(other) if other is not None else None
            if own is not None and theirs is not None:
                found[run.run] = conformance(own, theirs)
    name = f"{workload}.{CONFORMANCE_RATIO.name}"
    runs = (
        replace(run, metrics={**run.metrics, name: found[run.run]}) if run.run in found else run
        for run in results.runs
    )
    return replace(results, runs=tuple(runs))


def _next(base: Sequence[RunResult], run: RunResult) -> RunResult | None:
    """Return the run of `base` with the next replicate; after the last replicate, the first run.
    None if the found run is `run` itself.
    """
    others = [each for each in base if each.outcome == "ok"]
    later = (each for each in others if each.replicate > run.replicate)
    found = next(later, next(iter(others), None))
    return None if found is None or found.run == run.run else found
