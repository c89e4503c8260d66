"""Runs transfers in guests, or wherever another backend runs them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.lines import Transfer
from bench.measured import Cost
from netwarp.backends.base import Backend
from netwarp.execution import run_job
from netwarp.plan import PlannedRun, plan_study
from netwarp.study import study_from_mapping


def run(backend: Backend, line: Transfer, seed: int = 1) -> Cost:
    """Run one transfer in a directory of its own, see :func:`run_in`."""
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        return run_in(backend, line, Path(directory), seed)


def run_in(backend: Backend, line: Transfer, place: Path, seed: int = 1) -> Cost:
    """Run one transfer in a directory that exists, see :func:`run_planned`."""
    return run_planned(backend, plan(line, seed), place, line.name)


def run_planned(backend: Backend, run: PlannedRun, place: Path, name: str) -> Cost:
    """Run what was planned, in a directory that exists; a failed run ends the bench.

    CPU time is that of the guest's whole process tree, boot and teardown included.
    """
    outcome = run_job(backend, run.job, place)
    status = outcome.status
    if outcome.failed:
        raise SystemExit(f"{name} failed: {status.reason}")
    return Cost(status.cpu_s, status.wall_s, status.peak_rss_bytes / 2**20, status.virtual_s)


def plan(line: Transfer, seed: int = 1) -> PlannedRun:
    """Turn a line into the one run of a study."""
    content = {"kind": "bulk", "size": line.size, "verify": line.verify}
    study = {
        "title": line.name,
        "replicates": 1,
        "seed": seed,
        "path": line.path,
        "workload": {**(line.flow or content), "direction": line.direction},
        "factors": {"transport": [line.transport]},
        **({} if line.sampling is None else {"sampling": line.sampling}),
    }
    return plan_study(study_from_mapping(study))[0]
