"""Which runs share a task: short ones do, long ones do not, and none is left out or given twice."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import BackendError
from netwarp.execution.cluster.batches import BATCH_S, BATCHES_FOR_EACH_GUEST, Waiting
from netwarp.execution.cluster.coordinator import DaskExecutor
from netwarp.execution.cost import run_cpu_s
from netwarp.plan import PlannedRun, plan_study
from netwarp.study import study_from_mapping


def planned(sizes: list[str], replicates: int) -> list[PlannedRun]:
    study = {
        "title": "batches",
        "replicates": replicates,
        "path": {"rtt": "20ms"},
        "transport": {"kind": "tcp"},
        "workload": {"kind": "bulk"},
        "factors": {"workload.size": sizes},
    }
    return plan_study(study_from_mapping(study))


def batches_of(runs: list[PlannedRun], guests: int) -> list[list[PlannedRun]]:
    waiting = Waiting(runs, lambda: True)
    return list(iter(lambda: waiting.take(guests), []))


def expected_cpu_s(batch: list[PlannedRun]) -> float:
    return sum(run_cpu_s(run.cell.template) for run in batch)


def test_short_runs_share_a_task_in_the_order_of_the_plan() -> None:
    runs = planned(["10kB"], 1000)
    batches = batches_of(runs, guests=2)
    assert [run for batch in batches for run in batch] == runs
    assert len(batches[0]) > 10
    assert all(expected_cpu_s(batch) <= BATCH_S for batch in batches)


def test_a_long_run_has_a_task_of_its_own() -> None:
    runs = planned(["10kB", "100GB"], 100)
    assert expected_cpu_s(runs[1:2]) > BATCH_S
    assert [len(batch) for batch in batches_of(runs, guests=2)] == [1] * 200


def test_batches_shrink_so_that_all_guests_have_work() -> None:
    guests = 4
    sizes = [len(batch) for batch in batches_of(planned(["10kB"], 200), guests)]
    assert sizes == sorted(sizes, reverse=True)
    left = 200
    for size in sizes:
        assert size <= max(1, left // (guests * BATCHES_FOR_EACH_GUEST))
        left -= size


def test_what_was_not_carried_out_is_next() -> None:
    runs = planned(["10kB"], 200)
    waiting = Waiting(runs, lambda: True)
    batch = waiting.take(1)
    waiting.put_back(batch[3:])
    assert waiting.take(1)[0] is runs[3]


def test_none_is_taken_once_no_more_may_begin() -> None:
    assert Waiting(planned(["10kB"], 2), lambda: False).take(1) == []


def test_a_study_that_names_a_kernel_is_not_sent_to_workers() -> None:
    """They are compared with this machine by its default kernel alone."""
    study = {
        "title": "kernels",
        "kernel": "6.12",
        "path": {"rtt": "20ms"},
        "transport": {"kind": "tcp"},
        "workload": {"kind": "bulk", "size": "10kB"},
    }
    nobody: Any = None
    virtual = object.__new__(VirtualBackend)
    with pytest.raises(BackendError, match=r"names kernel 6\.12: leave --executor away"):
        DaskExecutor(nobody, "dask://x:1").run_all(
            plan_study(study_from_mapping(study)), virtual, nobody
        )
