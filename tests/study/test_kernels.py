"""The guest kernel as a key and as a factor of studies."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.study import Study, study_from_mapping
from netwarp.study.compare import study_from_compare
from netwarp.study.contenders import contender_factor
from netwarp.study.exec import study_from_exec
from netwarp.study.overrides import apply_overrides, overrides_of
from netwarp.wire import job_sha256

STUDY: dict[str, Any] = {
    "title": "One cell",
    "replicates": 1,
    "path": {"rtt": "20ms", "loss": "1%"},
    "workload": {"size": "1MB"},
    "factors": {"transport": ["tcp"]},
}


def with_kernel(**keys: Any) -> Study:
    return study_from_mapping({**STUDY, **keys})


def kernels_of(study: Study) -> list[str | None]:
    return [run.job.kernel for run in plan_study(study)]


def test_jobs_that_name_no_kernel_are_what_they_were() -> None:
    (run,) = plan_study(with_kernel())
    assert '"kernel":' not in run.job_json
    (named,) = plan_study(with_kernel(kernel="6.12"))
    assert '"kernel":"6.12"' in named.job_json
    assert named.job_sha256 == job_sha256(named.job) != run.job_sha256


def test_kernels_are_a_factor_whose_cells_meet_the_same_losses() -> None:
    study = with_kernel(factors={"kernel": ["6.12", "7.3"], "transport": ["tcp"]})
    assert [dict(cell.levels) for cell in study.cells] == [
        {"kernel": "6.12", "transport": "tcp"}, {"kernel": "7.3", "transport": "tcp"},
    ]  # fmt: skip
    assert kernels_of(study) == ["6.12", "7.3"]
    old, new = plan_study(study)
    assert old.seeds == new.seeds
    assert old.job.model_copy(update={"kernel": None, "run": ""}) == new.job.model_copy(
        update={"kernel": None, "run": ""}
    )


def test_a_kernel_that_all_cells_share_is_one_of_their_conditions() -> None:
    (run,) = plan_study(with_kernel(kernel="6.12"))
    assert fixed_conditions(with_kernel(kernel="6.12").raw, run.job)["kernel"] == "6.12"
    assert "kernel" not in fixed_conditions(with_kernel().raw, run.job)
    varied = with_kernel(kernel="6.1", factors={"kernel": ["6.12", "7.3"], "transport": ["tcp"]})
    assert "kernel" not in fixed_conditions(varied.raw, run.job)


def test_several_workloads_share_a_kernel() -> None:
    workloads = [{"name": name, "size": "1MB", "transport": "tcp"} for name in ("a", "b")]
    study = with_kernel(workload=workloads, factors={"kernel": ["6.12", "7.3"]})
    assert kernels_of(study) == ["6.12", "7.3"]


@pytest.mark.parametrize("level", [6.12, 7, "../7.3", "", "a b", {"version": "6.12"}])
def test_what_names_no_kernel_is_refused(level: Any) -> None:
    """A number above all: 6.10 and 6.1 are the same one."""
    with pytest.raises(StudyError, match="kernel") as of_factor:
        with_kernel(factors={"kernel": ["7.3", level], "transport": ["tcp"]})
    assert 'write it in quotes, such as "6.12"' in str(of_factor.value)
    with pytest.raises(StudyError, match="kernel"):
        with_kernel(kernel=level)


def test_the_command_line_sets_it_without_quotes() -> None:
    for given, kernels in [
        ("kernel=6.10", ["6.10"]),
        ("kernel=6.12, 7.3", ["6.12", "7.3"]),
        ("kernel=6.12.117-0a", ["6.12.117-0a"]),
    ]:
        assert kernels_of(study_from_mapping(apply_overrides(STUDY, [given]))) == kernels


@pytest.mark.parametrize(
    ("given", "kernels"), [("6.10", ["6.10"]), (["6.12", "7.3"], ["6.12", "7.3"])]
)
def test_run_compare_and_exec_have_an_option_for_it(given: Any, kernels: list[str]) -> None:
    changed = apply_overrides(STUDY, overrides_of({"kernel": given}))
    assert kernels_of(study_from_mapping(changed)) == kernels
    compared = study_from_compare(kernel=given, transport="tcp", replicates=1)
    assert kernels_of(compared) == kernels
    if isinstance(given, str):
        assert kernels_of(study_from_exec(["true"], server="true", kernel=given)) == kernels


def test_kernels_are_compared_where_nothing_else_races() -> None:
    assert contender_factor({"path.loss": ["0%", "1%"], "kernel": ["6.12", "7.3"]}) == "kernel"
    assert contender_factor({"kernel": ["6.12", "7.3"], "transport": ["tcp", "quic"]}) == (
        "transport"
    )
    study = study_from_compare(kernel=["6.12", "7.3"], transport="tcp", loss=["0%", "1%"])
    assert [(figure.x, figure.series) for figure in study.figures] == [("path.loss", "kernel")]
