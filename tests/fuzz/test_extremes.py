"""What the key reference allows, at its edges: what is planned runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from fuzz.conftest import FIRST_SEED, RUNS, block_id, blocks, report
from fuzz.extremes import extreme_study
from fuzz.judge import faults
from fuzz.toml import to_toml
from guest.lab import run_study
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import StudyError
from netwarp.plan import PlannedRun, plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import GemodelLoss, Impairments, Job, RandomLoss

ATTEMPTS = 8
# Most pairs of keys of all transports and workloads fit together in some of their values.
LEAST_ACCEPTED = 0.5
APART = 97
# A run that was given up in virtual time was given up by what was asked for: hours at 100 bit/s, or
# a change of the path each millisecond. One of several workloads is named before.
GIVEN_UP = re.compile(r"limit: (\w+: )?the (transfer was not over after|paths changed more than)")
# Where so much is lost, fifteen retransmissions in a row may be, and the kernel ends a connection.
HOPELESS = 0.3
ENDED = ("timed out", "TimedOut")


@pytest.mark.parametrize("seeds", blocks(RUNS), ids=block_id)
def test_what_is_planned_runs(seeds: range, tmp_path: Path) -> None:
    failures = []
    for seed in seeds:
        planned, attempt = planned_extreme(seed)
        if planned is None:
            continue
        refused = refused_by_backend(planned) or refused_by_endpoint(planned, tmp_path)
        if refused:
            failures.append(_told(seed, attempt, f"planned, but refused: {refused}"))
            continue
        (run,) = run_study([planned], tmp_path / str(seed), jobs=1)
        found = [fault for fault in faults(run) if not _was_asked_for(fault, planned.job)]
        failures += [_told(seed, attempt, fault) for fault in found]
    report(failures)


def test_most_pairs_of_keys_are_accepted_in_some_of_their_values() -> None:
    # Pairs of seeds one after another share a key, which may fit to few others.
    seeds = range(FIRST_SEED, FIRST_SEED + 200 * APART, APART)
    accepted = sum(planned_extreme(seed)[0] is not None for seed in seeds)
    assert accepted >= LEAST_ACCEPTED * len(seeds)


def planned_extreme(seed: int) -> tuple[PlannedRun | None, int]:
    """Plan a study of extremes, and say in which attempt; None where the planner refuses all."""
    for attempt in range(ATTEMPTS):
        try:
            (planned,) = plan_study(study_from_mapping(extreme_study(seed, attempt)))
        except StudyError:
            continue
        return planned, attempt
    return None, ATTEMPTS


def refused_by_backend(planned: PlannedRun) -> str | None:
    """Ask the backend whether it refuses a job; None if not, or if it is of a certain kernel, which
    may be one that is not built here.
    """
    job = planned.job
    return None if job.kernel else VirtualBackend().refuse(job, planned.job_sha256)


def _was_asked_for(fault: str, job: Job) -> bool:
    """Whether a run ended as it had to on such a path."""
    if GIVEN_UP.search(fault):
        return True
    ways = [way for path in job.paths for way in (path.down, path.up)]
    return any(word in fault for word in ENDED) and any(_loss(way) >= HOPELESS for way in ways)


def _loss(way: Impairments) -> float:
    """Give the share of packets that a direction loses or spoils, in its worst state."""
    loss = way.loss
    lost = 0.0
    if isinstance(loss, RandomLoss):
        lost = loss.ratio
    elif isinstance(loss, GemodelLoss):
        lost = max(loss.loss_good, loss.loss_bad if loss.r < 1 - HOPELESS else 0.0)
    return max(lost, way.corrupt_ratio)


def refused_by_endpoint(planned: PlannedRun, place: Path) -> str | None:
    """Ask the endpoint whether it could carry a job out; None when it could."""
    job = place / "job.json"
    job.write_text(planned.job_json)
    answer = subprocess.run(
        [find_endpoint(os.environ), "check", job], capture_output=True, text=True, check=False
    )
    return (answer.stderr or answer.stdout).strip() if answer.returncode else None


def _told(seed: int, attempt: int, fault: str) -> str:
    """Name a case: the command that repeats it, what is wrong, and the study."""
    study = extreme_study(seed, attempt)
    return f"make fuzz SEED={seed} RUNS=1\n{fault}\n{json.dumps(study)}\n{to_toml(study)}"
