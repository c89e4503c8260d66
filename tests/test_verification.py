"""Runs carried out again: the sample, and the first difference of two record files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import support
from netwarp.backends.replay import ReplayBackend
from netwarp.errors import InputError, RecordError, RunDirectoryError
from netwarp.evaluation import load
from netwarp.run_directory import JOB_FILE, RECORDS_FILE
from netwarp.verification import NOTHING, first_difference, spread, verify
from older import rewrite_in_format_1

RUNS = [f"r{number}" for number in range(10)]


@pytest.mark.parametrize(
    ("count", "chosen"),
    [(1, ["r0"]), (2, ["r0", "r9"]), (4, ["r0", "r3", "r6", "r9"]), (99, RUNS)],
)
def test_a_sample_is_spread_over_all_runs(count: int, chosen: list[str]) -> None:
    assert spread(RUNS, count) == chosen


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


START = {"record": "start", "run": "c000-r00"}
END = {"record": "end", "virtual_ns": 5, "usage": [{"cpu_ns": 1}, {"cpu_ns": 2}]}


@pytest.mark.parametrize(
    ("again", "line", "field", "values"),
    [
        (lines(START, END | {"virtual_ns": 6}), 2, "end.virtual_ns", ("5", "6")),
        (
            lines(START, END | {"usage": [{"cpu_ns": 1}, {"cpu_ns": 3}]}),
            2, "end.usage[1].cpu_ns", ("2", "3"),
        ),
        (lines(START, END | {"more": None}), 2, "end.more", (NOTHING, "null")),
        (lines(START), 2, "end", (lines(END).strip(), NOTHING)),
        (lines(START, END, END), 3, "end", (NOTHING, lines(END).strip())),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(
    again: str, line: int, field: str, values: tuple[str, str]
) -> None:
    found = first_difference(lines(START, END), again)
    assert found is not None
    assert (found.line, found.field, (found.kept, found.again)) == (line, field, values)


def test_equal_records_have_no_difference_and_other_blanks_are_one() -> None:
    assert first_difference(lines(START, END), lines(START, END)) is None
    assert first_difference(lines(START), json.dumps(START, separators=(",", ":"))) is not None


@pytest.mark.parametrize("line", ["[" * 100_000, "[]", "nothing", "{}"])
def test_a_line_that_is_no_record_is_a_difference(line: str) -> None:
    found = first_difference(f"{line}\n", lines(START))
    assert found is not None
    assert found.line == 1


def test_records_that_are_no_text_are_named(directories: tuple[Path, Path]) -> None:
    kept, recorded = directories
    for file in kept.glob("runs/*/records.jsonl"):
        file.write_bytes(b"\xff\xfe{}\n")
    with pytest.raises(RecordError, match=r"cannot read the records in .*records\.jsonl: 'utf-8'"):
        verify(load(kept), ReplayBackend(recorded), runs=1)


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal run directories."""
    one, two = (support.write_run_directory(tmp_path / name) for name in ("one", "two"))
    return one, two


def test_the_same_records_are_identical(directories: tuple[Path, Path]) -> None:
    kept, recorded = directories
    found = verify(load(kept), ReplayBackend(recorded), runs=5)
    assert [str(run) for run in found.runs] == ["identical"] * 5
    assert found.is_identical
    assert found.other_programs == {}
    assert found.of > 5


@pytest.mark.parametrize("runs", [0, -1])
def test_fewer_runs_than_one_are_refused(directories: tuple[Path, Path], runs: int) -> None:
    kept, recorded = directories
    with pytest.raises(InputError, match=f"verify {runs} runs: at least 1"):
        verify(load(kept), ReplayBackend(recorded), runs=runs)


def test_a_changed_record_is_found(directories: tuple[Path, Path]) -> None:
    kept, recorded = directories
    path = kept / "runs" / "c000-r00" / RECORDS_FILE
    path.write_text(path.read_text().replace('"left_packets":0', '"left_packets":1', 1))
    support.forget_hash(kept, "c000-r00")
    found = verify(load(kept), ReplayBackend(recorded), runs=1)
    assert not found.is_identical
    assert "calibration.left_packets: 1 before, 0 again" in str(found.runs[0])
    assert found.to_json()["runs"][0]["difference"]["kept"] == "1"


def test_a_patched_kernel_of_the_same_configuration_is_another(
    directories: tuple[Path, Path],
) -> None:
    kept, recorded = directories
    for directory, key in ((kept, "7.2.9-aa"), (recorded, "7.2.9-bb")):
        file = directory / "provenance.json"
        told = json.loads(file.read_text())
        file.write_text(json.dumps(told | {"kernel": told["kernel"] | {"key": key}}))
    found = verify(load(kept), ReplayBackend(recorded), runs=1)
    assert found.other_programs == {"kernel": ("7.2.9-aa", "7.2.9-bb")}


def test_the_hash_of_all_records_changes_with_any_of_them(directories: tuple[Path, Path]) -> None:
    one, two = directories
    assert load(one).records_sha256 == load(two).records_sha256 is not None
    path = two / "runs" / "c003-r01" / RECORDS_FILE
    path.write_text(path.read_text().replace('"left_packets":0', '"left_packets":1', 1))
    support.forget_hash(two, "c003-r01")
    assert load(one).records_sha256 != load(two).records_sha256


def test_a_directory_of_an_older_version_is_verified(directories: tuple[Path, Path]) -> None:
    kept, recorded = directories
    rewrite_in_format_1(kept)
    assert verify(load(kept), ReplayBackend(recorded), runs=2).is_identical


def test_real_time_cannot_be_verified(directories: tuple[Path, Path]) -> None:
    kept, recorded = directories
    file = kept / "provenance.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"clock": "real"}))
    data = load(kept)
    assert data.records_sha256 is None
    with pytest.raises(InputError, match="never repeats"):
        verify(data, ReplayBackend(recorded))


def test_a_study_that_is_another_today_is_refused(directories: tuple[Path, Path]) -> None:
    kept, recorded = directories
    file = kept / "plan.jsonl"
    file.write_text(file.read_text().replace('"job_sha256": "', '"job_sha256": "0', 1))
    file = kept / "runs" / "c000-r00" / JOB_FILE
    file.write_text(file.read_text().replace('"seed":', '"seed":1', 1))
    with pytest.raises(RunDirectoryError, match=r"c000-r00 .* another job today"):
        verify(load(kept), ReplayBackend(recorded), runs=1)
