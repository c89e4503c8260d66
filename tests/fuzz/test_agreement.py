"""Whatever the planner accepts, the endpoint accepts: refusals come before anything runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings

import random_studies
from fuzz.conftest import FIRST_SEED
from netwarp.backends.guest_files import find_endpoint
from netwarp.errors import StudyError
from netwarp.plan import PlannedRun, plan_study
from netwarp.study import study_from_mapping
from netwarp.workloads.bulk.section import MOST_PARTS
from netwarp.workloads.stream.section import MOST_STREAMS

EXAMPLES = 1000


def test_the_endpoint_refuses_no_job_of_the_planner() -> None:
    planned: list[tuple[random_studies.Table, PlannedRun]] = []
    _each_study(lambda tables: planned.extend((tables, run) for run in _plan(tables)))
    # Enough that most pairs of keys have met in a study that is accepted.
    assert len(planned) > EXAMPLES / 10
    refusals = _check([run.job_json for _, run in planned])
    told = (f"{refusal}\n{tables}" for refusal, (tables, _) in _matched(refusals, planned))
    assert not refusals, "\n".join(told)


def test_a_job_that_no_planner_made_is_refused_with_its_line() -> None:
    job = plan_study(study_from_mapping(random_studies.PLAIN))[0].job_json
    assert _check([job, job]) == []
    unsound = job.replace('"buffer_bytes":', '"buffer_bytes":99999')
    (refusal,) = _check([job, unsound])
    assert "the job in line 2 cannot be run: transport.buffer_bytes: is 99999" in refusal


def test_the_endpoint_has_the_planners_bounds_of_streams_and_chunks() -> None:
    """Each stream has a thread: beyond these a run would compute for minutes, or wait for ever."""
    sctp = {"kind": "sctp", "streams": MOST_STREAMS}
    player = random_studies.PLAIN | {"workload": {"kind": "stream"}, "transport": sctp}
    parts = {"kind": "bulk", "size": "1MB", "chunks": MOST_PARTS}
    bulk = random_studies.PLAIN | {"workload": parts, "transport": {"kind": "quic"}}
    for tables, key, most in ((player, "streams", MOST_STREAMS), (bulk, "chunks", MOST_PARTS)):
        (job, *_) = (run.job_json for run in plan_study(study_from_mapping(tables)))
        assert _check([job]) == []
        (refusal,) = _check([job.replace(f'"{key}":{most}', f'"{key}":{most + 1}')])
        assert f"{key}: is {most + 1}" in refusal


def _each_study(use: Callable[[random_studies.Table], None]) -> None:
    """Call with each example, which follow from the lane's seed; a planner that fails otherwise
    than by refusing is shrunk to one.
    """
    drawing = settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    seed(FIRST_SEED)(given(random_studies.studies())(drawing(use)))()


def _plan(tables: random_studies.Table) -> list[PlannedRun]:
    try:
        return plan_study(study_from_mapping(tables))[:1]
    except StudyError:
        return []


def _check(jobs: list[str]) -> list[str]:
    """Give the endpoint all jobs at once, and return what it says of those that it refuses."""
    checked = subprocess.run(
        [find_endpoint(os.environ), "check", "-"],
        input="".join(jobs),
        capture_output=True,
        text=True,
        check=False,
    )
    refusals = checked.stderr.splitlines()
    assert checked.returncode == (2 if refusals else 0)
    return refusals


def _matched(
    refusals: list[str], planned: list[tuple[random_studies.Table, PlannedRun]]
) -> list[tuple[str, tuple[random_studies.Table, PlannedRun]]]:
    """Find the study of each refusal by the line it names."""
    lines = (int(refusal.partition("in line ")[2].split()[0]) for refusal in refusals)
    return [(text, planned[line - 1]) for text, line in zip(refusals, lines, strict=True)]
