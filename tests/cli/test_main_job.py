"""The main job from outside: a study runs, resumes, says what failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Netwarp
from cli.processes import finished_runs

pytestmark = pytest.mark.guest

SMALL = ("compare", "--size", "200kB", "--rtt", "20ms", "--loss", "0%,2%", "--rate", "20mbit")
RACE = (*SMALL, "--transport", "tcp,quic", "--replicates", "3", "--out", "out")


def stamps(out: Path) -> dict[str, int]:
    return {run: (out / "runs" / run).stat().st_ctime_ns for run in finished_runs(out)}


@pytest.fixture
def race(netwarp: Netwarp) -> dict[str, Any]:
    answer = netwarp(*RACE, "--json")
    assert answer.returncode == 0, answer.stderr
    summary: dict[str, Any] = json.loads(answer.stdout)
    return summary


def test_a_comparison_answers_in_json(race: dict[str, Any]) -> None:
    assert race["out"] == "out"
    assert race["virtual_s"] > 0
    assert len(race["cells"]) == 4
    for cell in race["cells"]:
        assert (cell["runs"], cell["failed"]) == (3, 0)
        estimate = cell["estimates"]["completion_time_s"]
        low, high = estimate["ci95"]
        assert low <= estimate["mean"] <= high
        assert len(estimate["samples"]) == 3


def test_everything_is_kept(race: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("plan.jsonl", "study.json", "provenance.json", "results.parquet", "summary.json"):
        assert (out / name).stat().st_size > 0, name
    assert len(finished_runs(out)) == 12
    for run in finished_runs(out):
        for name in ("job.json", "records.jsonl", "console.log", "status.json"):
            assert (out / "runs" / run / name).exists(), f"{run}/{name}"
    provenance = json.loads((out / "provenance.json").read_text())
    for key in ("kernel", "endpoint", "host", "seed", "command_line", "equal_treatment"):
        assert provenance[key], key


def test_the_report_needs_nothing_else(race: dict[str, Any], tmp_path: Path) -> None:
    html = (tmp_path / "out" / "report.html").read_text()
    assert "vega" in html
    for outside in ('src="http', "src='http", 'href="http', "@import", "url(http"):
        assert outside not in html


def test_the_table_shows_every_transport_and_a_verdict(netwarp: Netwarp) -> None:
    netwarp(*RACE, "--replicates", "10")
    answer = netwarp("show", "out")
    assert answer.returncode == 0
    for word in ("TCP", "QUIC", "completion", "goodput", "connect", "±"):
        assert word in answer.stdout
    assert any(word in answer.stdout for word in ("slower", "faster", "no significant"))


def test_a_second_time_does_nothing_again(netwarp: Netwarp, tmp_path: Path) -> None:
    netwarp(*RACE)
    before = stamps(tmp_path / "out")
    answer = netwarp(*RACE)
    assert answer.returncode == 0
    assert "12 from before" in answer.stderr
    assert stamps(tmp_path / "out") == before


def test_what_was_run_can_be_replayed_without_a_guest(netwarp: Netwarp, tmp_path: Path) -> None:
    first = json.loads(netwarp(*RACE, "--json").stdout)
    again = [word if word != "out" else "again" for word in RACE]
    answer = netwarp(*again, "--backend", "replay:out", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["cells"] == first["cells"]


def test_a_failed_run_is_said_and_the_exit_status_is_one(netwarp: Netwarp, tmp_path: Path) -> None:
    answer = netwarp(
        *("compare", "--transport", "tcp", "--size", "10kB,10MB", "--rtt", "20ms"),
        *("--rate", "10mbit", "--set", "limits.virtual_s=2", "--replicates", "1", "--out", "out"),
    )
    assert answer.returncode == 1
    assert "c001-r00 failed: limit:" in answer.stderr
    assert "failed" in answer.stdout
    assert finished_runs(tmp_path / "out") == ["c000-r00", "c001-r00"]


def test_the_doctor_finds_a_working_guest(netwarp: Netwarp) -> None:
    answer = netwarp("doctor", "--json")
    assert answer.returncode == 0, answer.stdout
    findings = {finding["name"]: finding for finding in json.loads(answer.stdout)["findings"]}
    assert findings["guest"]["ok"]


def test_the_kernel_says_what_it_is(netwarp: Netwarp) -> None:
    answer = netwarp("kernel", "info", "--json")
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["config_sha256"]


def test_the_doctor_names_the_remedy(netwarp: Netwarp, tmp_path: Path) -> None:
    answer = netwarp("doctor", NETWARP_KERNEL=str(tmp_path))
    assert answer.returncode == 1
    assert "netwarp kernel build" in answer.stdout


def test_a_sample_is_carried_out_again(
    netwarp: Netwarp, race: dict[str, Any], tmp_path: Path
) -> None:
    answer = netwarp("verify", "out", "--runs", "2")
    assert (answer.returncode, answer.stdout.count("identical")) == (0, 3), answer.stderr
    records = tmp_path / "out" / "runs" / "c000-r00" / "records.jsonl"
    records.write_text(records.read_text().replace('"last_byte_ns":', '"last_byte_ns":9'))
    changed = netwarp("verify", "out", "--runs", "1", "--json")
    assert changed.returncode == 1
    (run,) = json.loads(changed.stdout)["runs"]
    assert run["difference"]["field"] == "transfer.last_byte_ns"
