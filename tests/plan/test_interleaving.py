"""The order of runs in real time: everything once, pairs back to back, drawn from the seed."""

from __future__ import annotations

from itertools import groupby

from netwarp.plan import PlannedRun, plan_study
from netwarp.plan.interleaving import interleaved
from netwarp.study import study_from_mapping
from netwarp.study.contenders import contender_factor

STUDY = {
    "title": "order",
    "replicates": 6,
    "workload": {"kind": "bulk", "size": "1MB"},
    "factors": {
        "workload.chunks": [1, 2, 3, 4],
        "transport": ["tcp", "tls", "quic"],
    },
}
PLAN = plan_study(study_from_mapping(STUDY))


def conditions(runs: list[PlannedRun]) -> list[str]:
    return [f"{run.replicate}/{run.cell.levels['workload.chunks']}" for run in runs]


def test_every_run_is_there_once_and_replicates_follow_each_other() -> None:
    runs = interleaved(PLAN, 1)
    assert sorted(run.run for run in runs) == sorted(run.run for run in PLAN)
    assert [run.replicate for run in runs] == sorted(run.replicate for run in PLAN)


def test_what_is_compared_is_back_to_back() -> None:
    together = [key for key, _ in groupby(conditions(interleaved(PLAN, 1)))]
    assert len(together) == len(set(together)) == 6 * 4


def test_conditions_and_contenders_have_another_order_in_each_replicate() -> None:
    runs = interleaved(PLAN, 1)
    by_replicate = [runs[start : start + 12] for start in range(0, len(runs), 12)]
    orders = {tuple(run.cell.levels["workload.chunks"] for run in each) for each in by_replicate}
    firsts = {each[0].cell.levels["transport"] for each in by_replicate}
    assert len(orders) > 3
    assert len(firsts) > 1


def test_the_seed_decides() -> None:
    names = [[run.run for run in interleaved(PLAN, seed)] for seed in (1, 1, 2)]
    assert names[0] == names[1]
    assert names[0] != names[2]


def test_who_races() -> None:
    assert (
        contender_factor({"path.loss": ["0%", "1%"], "transport": ["tcp", "quic"]}) == "transport"
    )
    assert contender_factor({"transport": ["tcp"], "path.loss": ["0%", "1%"]}) == "path.loss"
    assert contender_factor({"transport": ["tcp"]}) == "transport"
    assert contender_factor({}) is None
