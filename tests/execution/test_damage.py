"""Run directories that are damaged or somebody else's: what is intact is used, the rest named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

import support
from netwarp import pipeline
from netwarp.backends.replay import ReplayBackend
from netwarp.errors import RecordError, ResultError, RunDirectoryError
from netwarp.evaluation import RunData, load
from netwarp.plan_lines import MOST_LINES
from netwarp.report import write_report
from netwarp.results.parquet import to_frame
from netwarp.run_directory import RunDirectory
from netwarp.run_files import file_sha256, write_text
from netwarp.study import study_from_mapping
from netwarp.study.study import StudyFile
from netwarp.study_shape import LISTS_OF_TABLES, TABLES

STUDY = support.STUDY | {"replicates": 1}
RUNS = 24
GARBAGE = b'\xff\x00{"cut'


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return support.write_run_directory(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, recorded: Path) -> Path:
    place = tmp_path_factory.mktemp("made") / "out"
    run(place, recorded)
    return place


@pytest.fixture
def out(tmp_path: Path, made: Path) -> Path:
    """Return a run directory of the test's own, to damage."""
    return shutil.copytree(made, tmp_path / "out", copy_function=shutil.copy2, symlinks=True)


def run(out: Path, recorded: Path) -> RunData:
    file = recorded / "study.toml"
    study = study_from_mapping(STUDY, file=str(file))
    return pipeline.run(study, ReplayBackend(recorded), out=out)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def fill(path: Path) -> None:
    path.write_bytes(GARBAGE)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_a_list(path: Path) -> None:
    path.write_text("[]\n")


def replace_by_a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES = [cut, fill, empty, replace_by_a_list, replace_by_a_fifo]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["status.json", "job.json", "records.jsonl"])
def test_a_damaged_run_is_left_out_and_done_again(
    out: Path, recorded: Path, name: str, damage: Callable[[Path], None]
) -> None:
    damage(out / "runs" / "c002-r00" / name)
    shown = load(out)
    intact = [each.run for each in shown.results.runs if each.outcome == "ok"]
    assert len(intact) == RUNS - 1
    assert "c002-r00" not in intact
    reasons = [*(str(each.reason) for each in shown.results.failed), *map(str, shown.damage)]
    assert any(name.partition(".")[0] in reason for reason in reasons)
    assert not run(out, recorded).results.failed
    assert load(out).damage == {}


def drop_a_line(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    dropped = next(n for n, line in enumerate(lines) if '"record":"calibration"' in line)
    path.write_text("".join(lines[:dropped] + lines[dropped + 1 :]))


def test_a_line_that_is_missing_from_records_is_noticed_and_the_run_done_again(
    out: Path, recorded: Path
) -> None:
    """What is left are valid records of which other numbers would follow."""
    pipeline.write_outputs(load(out))
    before = (out / "results.parquet").read_bytes()
    path = out / "runs" / "c002-r00" / "records.jsonl"
    drop_a_line(path)
    shown = load(out)
    assert [each.run for each in shown.results.failed] == ["c002-r00"]
    assert "not what the run wrote" in shown.damage[path]
    again = run(out, recorded)
    assert not again.results.failed
    pipeline.write_outputs(again)
    assert (out / "results.parquet").read_bytes() == before


def test_in_a_directory_without_hashes_of_runs_changed_records_are_named(out: Path) -> None:
    """An older netwarp wrote the hash of all records alone, into the summary."""
    for run_path in (out / "runs").iterdir():
        support.forget_hash(out, run_path.name)
    pipeline.write_outputs(load(out))
    assert not load(out).damage
    drop_a_line(out / "runs" / "c002-r00" / "records.jsonl")
    assert "records_sha256 in summary.json is another" in load(out).damage[out / "runs"]


@pytest.mark.parametrize("name", ["results.parquet", "summary.json", "report.html"])
def test_an_output_that_was_changed_is_written_anew(out: Path, recorded: Path, name: str) -> None:
    pipeline.write_outputs(run(out, recorded))
    file = out / name
    made = file.read_bytes()
    middle = len(made) // 2
    file.write_bytes(made[:middle] + bytes([made[middle] ^ 1]) + made[middle + 1 :])
    pipeline.write_outputs(run(out, recorded))
    assert file.read_bytes() == made


def test_numbers_that_no_clock_shows_are_no_status(out: Path) -> None:
    file = out / "runs" / "c002-r00" / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"peak_rss_bytes": 10**400}))
    assert load(out).damage[file] == "it is not a run's status"


def test_a_job_that_is_not_text_is_named(out: Path) -> None:
    (out / "runs" / "c002-r00" / "job.json").write_bytes(b"\xff\xfe")
    with pytest.raises(RecordError, match=r"cannot read the job in .*job\.json"):
        load(out).job("c002-r00")


def test_of_a_plan_that_was_cut_the_lines_that_are_whole_are_used(out: Path) -> None:
    cut(out / "plan.jsonl")
    shown = load(out)
    assert 0 < len(shown.results.runs) < RUNS
    assert out / "plan.jsonl" in shown.damage


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("factors", {}), ("cell", -1), ("replicate", 2**70), ("seed", -1), ("random", 5),
        ("random", [1]),
    ],
)  # fmt: skip
def test_a_line_of_a_plan_that_is_of_no_run_of_the_study_is_left_out(
    out: Path, key: str, value: object
) -> None:
    """Also one that lacks the level of a factor, which every run has."""
    first, *others = (out / "plan.jsonl").read_text().splitlines()
    damaged = json.dumps(json.loads(first) | {key: value})
    (out / "plan.jsonl").write_text("\n".join([damaged, *others]) + "\n")
    shown = load(out)
    assert len(shown.results.runs) == RUNS - 1
    told = "1 of its lines are no planned runs, line 1 for one"
    assert shown.damage[out / "plan.jsonl"] == told
    assert to_frame(shown.results).height == RUNS - 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_plan_is_named_and_written_anew(
    out: Path, recorded: Path, damage: Callable[[Path], None]
) -> None:
    damage(out / "plan.jsonl")
    if damage is not cut:
        with pytest.raises(RunDirectoryError, match=r"plan\.jsonl"):
            load(out)
    again = run(out, recorded)
    assert (len(again.results.runs), dict(again.damage)) == (RUNS, {})


@pytest.mark.parametrize("damage", [cut, fill, replace_by_a_list])
def test_without_its_study_the_results_are_still_there(
    out: Path, recorded: Path, damage: Callable[[Path], None]
) -> None:
    damage(out / "study.json")
    shown = load(out)
    assert len(shown.results.runs) == RUNS
    with pytest.raises(ResultError, match=r"study\.json is damaged .* writes it anew"):
        _ = shown.claims
    assert run(out, recorded).study.title == STUDY["title"]
    assert load(out).study.title == STUDY["title"]


def test_runs_whose_provenance_is_lost_are_shown_and_not_added_to(
    out: Path, recorded: Path
) -> None:
    cut(out / "provenance.json")
    assert len(load(out).results.runs) == RUNS
    pipeline.write_outputs(load(out), anew=True)
    (out / "runs" / "c001-r00" / "status.json").unlink()
    with pytest.raises(RunDirectoryError, match=r"provenance\.json cannot be read"):
        run(out, recorded)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("equal_treatment", [0]),
        ("equal_treatment", [{"setting": "ecn", "transport": 1, "value": "", "deviates": False}]),
        ("equal_treatment", [{"setting": "ecn", "transport": "tcp", "value": ""}]),
        ("looks", 0),
        ("looks", "many"),
        ("look_shares", [[1]]),
        ("speed", {"measured": "today", "goodput_bit_s": [1]}),
        ("time_limit_s", "long"),
        ("kernels", {"6.12": 6.12}),
        ("kernel", "6.12"),
        ("command_line", 7),
        ("virtual_s", "12"),
    ],
)
def test_a_field_of_the_provenance_that_is_of_another_type_is_left_out_and_named(
    out: Path, field: str, value: object
) -> None:
    provenance = json.loads((out / "provenance.json").read_text())
    (out / "provenance.json").write_text(json.dumps(provenance | {field: value}))
    shown = load(out)
    pipeline.write_outputs(shown, anew=True)
    assert field in shown.damage[out / "provenance.json"]
    assert field not in shown.provenance
    assert shown.provenance["host"] == provenance["host"]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_provenance_with_a_number_that_is_not_finite_is_damaged(out: Path, number: str) -> None:
    (out / "provenance.json").write_text(f'{{"anything": {number}}}')
    shown = load(out)
    pipeline.write_outputs(shown, anew=True)
    assert out / "provenance.json" in shown.damage


def test_a_reason_that_is_no_text_is_no_status(out: Path) -> None:
    file = out / "runs" / "c000-r00" / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"reason": [[["full"]]]}))
    assert load(out).damage[file] == "it is not a run's status"


@pytest.mark.parametrize("name", ["report.html", "results.parquet", "summary.json"])
def test_a_folder_in_the_place_of_an_output_is_named(out: Path, name: str) -> None:
    (out / name).mkdir()
    with pytest.raises(ResultError, match=name.replace(".", r"\.")):
        pipeline.write_outputs(load(out))


def test_where_no_run_has_finished_yet_a_report_says_so(out: Path) -> None:
    for status in (out / "runs").glob("*/status.json"):
        status.unlink()
    assert load(out).results.runs == ()
    with pytest.raises(RunDirectoryError, match="no run has finished yet"):
        pipeline.write_outputs(load(out), anew=True)


def test_a_record_that_does_not_add_up_fails_its_run_and_no_other(out: Path) -> None:
    """A connection that is ready before it began makes no connection time."""
    path = out / "runs" / "c000-r00" / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [line for line in lines if line["record"] != "connection"]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))
    support.forget_hash(out, "c000-r00")
    shown = load(out)
    assert [each.run for each in shown.results.failed] == ["c000-r00"]
    assert "no connection" in str(shown.results.failed[0].reason)


@pytest.mark.parametrize(
    "name",
    ["study.toml", "study.json", "plan.jsonl", "provenance.json", "summary.json",
     "results.parquet", "report.html", ".drawn"],
)  # fmt: skip
def test_no_symbolic_link_is_written_through(tmp_path: Path, recorded: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(victim)
    pipeline.write_outputs(run(tmp_path / "out", recorded))
    assert not (tmp_path / "out" / name).is_symlink()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", [".lock", "runs"])
def test_a_link_in_the_place_of_lock_or_runs_is_refused(
    tmp_path: Path, recorded: Path, name: str
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(victim)
    with pytest.raises(RunDirectoryError, match=f"out/{name} .it is a symbolic link, and none"):
        run(tmp_path / "out", recorded)
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("name", ["runs/.c000-r00.partial", "runs/c000-r00"])
def test_no_linked_folder_is_filled_or_emptied(tmp_path: Path, recorded: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "kept").write_text("mine")
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    run(tmp_path / "out", recorded)
    assert [path.name for path in victim.iterdir()] == ["kept"]


def test_a_temporary_name_that_was_taken_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".file.{os.getpid()}").symlink_to(victim)
    write_text(tmp_path / "file", "ours")
    assert victim.read_text() == "mine"
    assert (tmp_path / "file").read_text() == "ours"


def test_a_plan_cannot_name_a_run_outside_of_its_directory(out: Path) -> None:
    plan = out / "plan.jsonl"
    plan.write_text(plan.read_text().replace("c000-r00", "../../c000-r00"))
    directory = RunDirectory(out)
    assert len(directory.plan_lines()) == RUNS - 1
    assert plan in directory.damage


def test_a_file_of_terabytes_is_not_hashed(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 8 << 40)
    assert file_sha256(tmp_path / "sparse") is None
    (tmp_path / "small").write_bytes(b"")
    assert file_sha256(tmp_path / "small") == sha256(b"").hexdigest()


def test_records_are_hashed_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash of all is made of those that each run's records were held against."""
    hashed: list[Path] = []

    def noted(path: Path) -> str | None:
        hashed.append(path)
        return file_sha256(path)

    for module in ("netwarp.run_directory", "netwarp.execution.outcome"):
        monkeypatch.setattr(f"{module}.file_sha256", noted)
    data = load(out)
    assert data.records_sha256 is not None
    records = [path for path in hashed if path.name == "records.jsonl"]
    succeeded = [run for run in data.results.runs if run.outcome == "ok"]
    assert len(records) == len(set(records)) == len(succeeded)


@pytest.mark.parametrize(
    "tables",
    [{"workload": True}, {"path": []}, {"factors": {"transport": "tcp"}}, {"link": [1]},
     {"metrics": 3}, {"against": "tcp"}],
)  # fmt: skip
def test_a_study_whose_tables_are_none_is_named(out: Path, tables: dict[str, object]) -> None:
    file = out / "study.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | tables))
    directory = RunDirectory(out)
    assert directory.study() is None
    assert next(iter(tables)) in directory.damage[file].replace("a factor is", "factors: it is")


def test_all_tables_of_a_study_are_checked() -> None:
    kinds = {name: str(field.annotation) for name, field in StudyFile.model_fields.items()}
    tables = {name for name, kind in kinds.items() if kind.startswith("dict[")}
    assert tables <= set(TABLES)
    lists = {name for name, kind in kinds.items() if "list[" in kind and name not in tables}
    assert lists - {"metrics"} <= set(LISTS_OF_TABLES)


def test_a_plan_of_too_many_lines_is_not_read(out: Path) -> None:
    directory = RunDirectory(out)
    with directory.plan_file.open("a") as file:
        file.write("{}\n" * MOST_LINES)
    assert directory.plan_lines() == []
    assert "lines that are read" in directory.damage[directory.plan_file]


def test_a_plan_of_other_factors_than_the_study_is_named(out: Path) -> None:
    plan = out / "plan.jsonl"
    plan.write_text(plan.read_text().replace("path.loss", "path.other"))
    with pytest.raises(ResultError, match=r"drawn over path\.loss, of which a cell of plan\.jsonl"):
        write_report(load(out))
