"""Results as tables: round trip, bytes, what cells say."""

from pathlib import Path

import polars as pl
import pytest

import support
from netwarp.evaluation import load
from netwarp.results import Results, from_plan
from netwarp.results.parquet import to_frame, write_results
from netwarp.run_directory import JOB_FILE, RunDirectory
from netwarp.wording import condition_text, factor_title


def test_equal_results_give_equal_bytes_and_leave_nothing_behind(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        write_results(support.results(), tmp_path / name)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]


def test_columns_stand_in_the_documented_order() -> None:
    frame = to_frame(support.results())
    columns = frame.columns
    assert frame.schema["wire_packets_down"] == pl.Int64  # what is counted in wholes
    assert frame.schema["completion_time_s"] == pl.Float64
    assert columns[:7] == [
        "run", "cell", "replicate", "seed", "transport", "path.loss", "path.rtt"
    ]  # fmt: skip
    assert columns[7:9] == ["outcome", "reason"]
    assert "completion_time_s" in columns[9:]


def test_a_failed_run_has_no_value_but_is_counted() -> None:
    results = support.results()
    cell = next(cell for cell in results.cells if cell.failed)
    assert [run.run for run in cell.failed] == [support.FAILED_RUN]
    assert len(cell.values("completion_time_s")) == support.REPLICATES - 1
    assert cell.samples("completion_time_s")[3].value is None
    estimate = cell.estimate("completion_time_s")
    assert estimate is not None
    assert estimate.n == support.REPLICATES - 1


def test_a_metric_nobody_has_gives_no_estimate() -> None:
    cell = next(c for c in support.results().cells if c.factors["transport"] == "quic")
    assert cell.estimate("busy_s") is None
    assert cell.total("busy_s") is None


def test_cells_are_grouped_by_what_they_share() -> None:
    results = support.results()
    assert results.contender_factor == "transport"
    conditions = results.conditions()
    assert len(conditions) == len(support.LOSSES) * len(support.RTTS)
    for shared, cells in conditions:
        assert "transport" not in shared
        assert [cell.factors["transport"] for cell in cells] == list(support.TRANSPORTS)


def test_without_a_varied_transport_the_first_varied_factor_races() -> None:
    runs = [run for run in support.results().runs if run.factors["transport"] == "tcp"]
    assert Results(tuple(runs)).contender_factor == "path.loss"
    assert Results(()).contender_factor is None


def test_runs_that_are_not_done_yet_are_left_out() -> None:
    lines = [
        {"run": f"c000-r0{i}", "cell": 0, "replicate": i, "seed": i, "factors": {"mtu": 1500}}
        for i in range(3)
    ]
    outcomes = {"c000-r00": ("ok", None), "c000-r02": ("failed", "why")}
    results = from_plan(lines, outcomes, {"c000-r00": {"connect_time_s": 0.1}})  # type: ignore[arg-type]
    assert [run.run for run in results.runs] == ["c000-r00", "c000-r02"]
    assert results.runs[0].factors == {"mtu": "1500"}
    assert results.failed[0].reason == "why"


def test_the_records_of_a_run_directory_give_these_results(tmp_path: Path) -> None:
    support.write_run_directory(tmp_path / "out")
    collected = load(tmp_path / "out").results
    made = {run.run: run for run in support.results().runs}
    assert len(collected.runs) == len(made)
    for run in collected.runs:
        for metric in ("completion_time_s", "connect_time_s", "path_loss_down", "busy_s"):
            expected = made[run.run].value(metric)
            assert run.value(metric) == (
                None if expected is None else pytest.approx(expected, abs=1e-8)
            )


def test_a_factor_of_one_of_several_workloads_is_worded_as_its_own() -> None:
    assert factor_title("workload.second.transport") == "second: transport"
    assert factor_title("workload.udp.rate") == "udp: rate"
    assert condition_text({"workload.second.transport": "quic", "path.loss": "1%"}) == (
        "second's transport QUIC, loss 1 %"
    )
    assert factor_title("workload.size") == "File size"


def test_the_goodput_of_a_cell_is_its_size_over_its_mean_time() -> None:
    for cell in support.results().cells:
        time, goodput = cell.estimate("completion_time_s"), cell.estimate("goodput_bit_s")
        assert time is not None
        assert goodput is not None
        assert goodput.mean * time.mean == pytest.approx(8 * support.SIZE_BYTES)


def test_a_run_without_a_metric_is_told_from_a_failed_one() -> None:
    cell = next(cell for cell in support.results().cells if cell.failed)
    assert [sample.failed for sample in cell.samples("jain_index").values()] == [
        run.outcome == "failed" for run in cell.runs
    ]


@pytest.mark.parametrize("has_jobs", [True, False])
def test_what_is_random_in_an_older_directory_is_read_from_its_jobs(
    tmp_path: Path, has_jobs: bool
) -> None:
    """Its plan does not say it. Of a cell whose jobs were not kept nobody knows."""
    place = support.write_run_directory(tmp_path / "out")
    directory = RunDirectory(place)
    before = load(place).results
    lines = [{k: v for k, v in each.items() if k != "random"} for each in directory.plan_lines()]
    directory.write_plan(lines)
    if not has_jobs:
        for job in place.glob(f"runs/*/{JOB_FILE}"):
            job.unlink()
    found = load(place).results
    assert [run.run for run in found.runs] == [run.run for run in before.runs]
    wanted = [run.random if has_jobs else None for run in before.runs]
    assert [run.random for run in found.runs] == wanted
    steady = next(cell for cell in found.cells if cell.factors["path.loss"] == "0%")
    assert steady.is_random is not has_jobs
