"""Random studies in real guests: every run ends well, within its rate, with the loss asked for."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from fuzz.conftest import FIRST_SEED, RUNS, block_id, blocks, report
from fuzz.judge import faults
from fuzz.studies import random_study
from fuzz.test_extremes import refused_by_backend, refused_by_endpoint
from fuzz.toml import to_toml
from guest.lab import run_study
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import StudyError
from netwarp.plan import PlannedRun, plan_study
from netwarp.study import study_from_mapping

# Of random studies a planner may refuse some; refusing most would leave the lane without runs.
LEAST_ACCEPTED = 0.6
REPEATED = 6


@pytest.mark.parametrize("seeds", blocks(RUNS), ids=block_id)
def test_random_studies_run(seeds: range, tmp_path: Path) -> None:
    failures = []
    for seed in seeds:
        planned = _plan(seed)
        if planned is None or _lacks_its_kernel(planned):
            continue
        refused = refused_by_backend(planned) or refused_by_endpoint(planned, tmp_path)
        if refused:
            failures.append(_told(seed, f"planned, but refused: {refused}"))
            continue
        (run,) = run_study([planned], tmp_path / str(seed), jobs=1)
        failures += [_told(seed, fault) for fault in faults(run)]
    report(failures)


def test_most_random_studies_are_accepted() -> None:
    seeds = range(FIRST_SEED, FIRST_SEED + 300)
    accepted = sum(_plan(seed) is not None for seed in seeds)
    assert accepted >= LEAST_ACCEPTED * len(seeds)


def test_some_are_the_same_again(tmp_path: Path) -> None:
    seeds = range(FIRST_SEED, FIRST_SEED + RUNS)
    plans = (plan for seed in seeds if (plan := _plan(seed)) and not _lacks_its_kernel(plan))
    planned = list(islice(plans, REPEATED))
    records = [
        [
            (run.path / "records.jsonl").read_bytes()
            for number, plan in enumerate(planned)
            for run in run_study([plan], tmp_path / time / str(number), jobs=1)
        ]
        for time in ("once", "again")
    ]
    assert records[0] == records[1]


def _plan(seed: int) -> PlannedRun | None:
    """Plan a random study; None where the planner refuses it, as it may."""
    try:
        (planned,) = plan_study(study_from_mapping(random_study(seed)))
    except StudyError:
        return None
    return planned


def _lacks_its_kernel(planned: PlannedRun) -> bool:
    """Whether a run is of a kernel that is not built here, or that lacks what the run asks for."""
    job = planned.job
    return job.kernel is not None and VirtualBackend().refuse(job, planned.job_sha256) is not None


def _told(seed: int, fault: str) -> str:
    """Name a case: the command that repeats it, what is wrong, and the study."""
    study = random_study(seed)
    return f"make fuzz SEED={seed} RUNS=1\n{fault}\n{json.dumps(study)}\n{to_toml(study)}"
