"""What cells have in common is made once: each is still what it would be in a study of its own."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import random_studies
from netwarp.errors import StudyError
from netwarp.plan import PlannedRun, plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import job_from_json, job_sha256, job_to_json

WRONG = st.sampled_from(["-1ms", "10 parsecs", "", "101%", "0.5ns", {"a": 1}, -1, [[]], "gemodel"])
LEVELS: dict[str, st.SearchStrategy[Any]] = {
    "path.rtt": random_studies.DURATIONS,
    "path.delay": random_studies.DURATIONS,
    "path.jitter": random_studies.DURATIONS,
    "path.loss": random_studies.LOSSES,
    "path.loss_correlation": random_studies.RATIOS,
    "path.rate": random_studies.RATES,
    "path.queue": random_studies.QUEUES,
    "path.mtu": random_studies.MTUS,
    "path.reorder": random_studies.REORDERS.filter(lambda level: isinstance(level, str)),
    "path.second.delay": random_studies.DURATIONS,
    "path.handovers.every": random_studies.PERIODS,
    "path.outages.jitter": random_studies.DURATIONS,
    "transport": st.sampled_from(["tcp", "tls", "quic", "sctp"]),
    "transport.buffer": random_studies.SIZES,
    "transport.mss": random_studies.MSSES,
    "workload.chunks": st.sampled_from([1, 2, 5]),
    "workload.start_jitter": random_studies.DURATIONS,
}


@st.composite
def studies_of_several_cells(draw: st.DrawFn) -> random_studies.Table:
    study = draw(st.one_of(st.just(random_studies.PLAIN), random_studies.studies()))
    chosen = draw(st.lists(st.sampled_from(sorted(LEVELS)), min_size=1, max_size=2, unique=True))
    factors = {key: draw(st.lists(LEVELS[key], min_size=1, max_size=3)) for key in chosen}
    if draw(st.integers(1, 4)) == 1:
        factors[chosen[0]].append(draw(WRONG))
    return {**study, "replicates": 2, "factors": factors}


@settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(studies_of_several_cells())
def test_a_cell_among_others_is_planned_and_refused_as_alone(tables: random_studies.Table) -> None:
    together = _plan(tables)
    alone = [_plan({**tables, "factors": levels}) for levels in _combinations(tables["factors"])]
    if isinstance(together, StudyError):
        event("refused")
        refusals = [str(each) for each in alone if isinstance(each, StudyError)]
        assert str(together) in refusals or "the same level twice" in str(together)
        return
    event("planned")
    for index, plan in enumerate(alone):
        assert not isinstance(plan, StudyError)
        cell = [run for run in together if run.cell.index == index]
        assert [run.job_sha256 for run in cell] == [run.job_sha256 for run in plan]
        for run, same in zip(cell, plan, strict=True):
            assert run.cell.template == same.cell.template
            assert run.cell.template == job_from_json(job_to_json(run.cell.template))
            assert run.job_json == job_to_json(same.job.model_copy(update={"run": run.run}))
            assert run.job_sha256 == job_sha256(run.job)


def _combinations(factors: random_studies.Table) -> list[random_studies.Table]:
    combined = itertools.product(*([[level] for level in levels] for levels in factors.values()))
    return [dict(zip(factors, levels, strict=True)) for levels in combined]


def _plan(tables: random_studies.Table) -> list[PlannedRun] | StudyError:
    try:
        return plan_study(study_from_mapping(tables))
    except StudyError as error:
        return error
