"""Stacks: programs of others in the roles' place, held to the role protocol in real runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from bench.counting import count
from bench.lines import FAST, Transfer
from guest.lab import run_study, run_study_cells
from netwarp.metrics.envelope import envelope_points
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.stacks import SOURCES, find_stack, missing_program, read_manifest, shipped
from netwarp.study import study_from_mapping
from netwarp.wire import Goodput, OfWorkload

NETWARP = Path(sys.executable).with_name("netwarp")
WRONG = Path(__file__).with_name("wrong_stack")


def checked(program: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [NETWARP, "stack", "check", program, "--json"], capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    failures = {each["demand"]: each["failure"] for each in json.loads(done.stdout)["checks"]}
    return done.returncode, failures


def require(name: str) -> None:
    built, source = find_stack(name), read_manifest(SOURCES / name)
    missing = missing_program(name, built.program)
    if missing is not None:
        pytest.skip(missing)
    if (built.version, built.behaviour) != (source.version, source.behaviour):
        pytest.skip(f"the {name} that is built here is an older one: netwarp stack build {name}")


def test_netwarps_own_roles_speak_the_protocol() -> None:
    status, failures = checked("netwarp")
    assert (status, set(failures.values())) == (0, {None}), failures
    assert "a later connection resumes (0rtt)" in failures


def test_a_role_that_is_wrong_is_found_out() -> None:
    status, failures = checked(str(WRONG))
    assert status == 1
    assert "SHA-256" in failures["a content goes down, byte for byte"]
    assert "takes zeros for any content" in failures["a content goes down, byte for byte"]
    refused = failures["what it does not have it refuses, with the reason"]
    assert refused is not None


def test_what_a_role_printed_last_is_told() -> None:
    # Guests find the usual place of temporary directories empty.
    with tempfile.TemporaryDirectory(prefix="mute-", dir=WRONG.parent) as directory:
        role = Path(directory) / "role"
        role.write_text("#!/bin/sh\necho 'no certificate here' >&2\nexit 3\n")
        role.chmod(0o755)
        shutil.copy(WRONG / "stack.toml", directory)
        status, failures = checked(directory)
    assert status == 1
    failure = failures["a content goes down, byte for byte"]
    assert "exited with status 3; the last that was printed: no certificate here" in failure


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_stack_speaks_the_protocol(name: str) -> None:
    require(name)
    status, failures = checked(name)
    assert (status, set(failures.values())) == (0, {None}), failures


@pytest.mark.parametrize("name", shipped())
def test_a_study_races_a_stack_and_repeats(tmp_path: Path, name: str) -> None:
    require(name)
    congestion = find_stack(name).congestion[0]
    study = tmp_path / "stacks.toml"
    study.write_text(
        f"""
        title = "Two implementations"
        replicates = 1
        path = {{ rtt = "20ms", rate = "20mbit", loss = "1%" }}
        transport = {{ congestion = "{congestion}" }}
        workload = {{ kind = "bulk", size = "500kB", chunks = 2 }}
        [factors]
        transport = ["quic", {{ kind = "quic", stack = "{name}", label = "{name}" }}]
        """
    )
    records = []
    for place in ("a", "b"):
        command = [str(NETWARP), "run", str(study), "--out", str(tmp_path / place), "--jobs", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        records.append((tmp_path / place / "runs" / "c001-r00" / RECORDS_FILE).read_bytes())
    assert records[0] == records[1]
    assert f'"congestion":"{congestion}"'.encode() in records[0]


@pytest.mark.parametrize("name", shipped())
def test_a_stack_has_a_share_of_a_path_and_an_envelope(tmp_path: Path, name: str) -> None:
    require(name)
    congestion = find_stack(name).congestion[0]
    tested = {"kind": "quic", "stack": name, "label": name}
    study = study_from_mapping(
        {
            "title": "beside TCP",
            "replicates": 1,
            "sampling": "20ms",
            "path": {"rtt": "20ms", "rate": "10mbit"},
            "workload": [
                {
                    "name": "tested",
                    "kind": "bulk",
                    "size": "2MB",
                    "transport": tested | {"congestion": congestion},
                },
                {"name": "beside", "kind": "bulk", "size": "2MB", "transport": "tcp"},
            ],
        }
    )
    (run,) = run_study(plan_study(study), tmp_path)
    assert run.status.outcome == "ok", run.status.reason
    (goodput,) = (
        each.line
        for each in run.records
        if isinstance(each, OfWorkload)
        and each.workload == "tested"
        and isinstance(each.line, Goodput)
    )
    assert sum(goodput.bytes) == 2_000_000
    assert 0 < run.metrics["tested.share_ratio"] < 1
    assert envelope_points(run.planned.job, run.records, "tested")


def test_quiches_role_fills_the_window_with_whole_packets(tmp_path: Path) -> None:
    require("quiche")
    transports = [
        {"kind": "quic", "congestion": "reno", "label": "quinn"},
        {"kind": "quic", "stack": "quiche", "congestion": "reno", "label": "quiche"},
    ]
    path = {"rtt": "100ms", "rate": "50mbit", "queue": "1bdp"}
    (lossless,) = run_study_cells(tmp_path / "lossless", path, transports=transports[1:])
    quinn, quiche = run_study_cells(
        tmp_path / "lossy", {**path, "loss": "2%"}, transports=transports
    )
    assert lossless.calibration("down").offered_packets < 1.1 * 1_000_000 / 1430
    # quiche takes a role that waits for room in the window for idle, and hardly grows the window.
    assert quiche.metrics["completion_time_s"] < 1.4 * quinn.metrics["completion_time_s"]
    assert not quiche.connection("server").settings.paced


def test_quiches_role_makes_one_call_a_wake_up() -> None:
    require("quiche")
    stack = {"kind": "quic", "stack": "quiche", "congestion": "reno", "label": "quiche"}
    calls = count(Transfer("quiche", stack, "2MB", FAST))
    packets = 2_000_000 // 1430
    assert calls < 2.5 * packets, "two a packet, one at each end; eight with ppoll"


def test_s2n_quics_role_asks_for_the_time_once_a_wake_up() -> None:
    require("s2n-quic")
    stack = {"kind": "quic", "stack": "s2n-quic", "congestion": "cubic", "label": "s2n-quic"}
    calls = count(Transfer("s2n-quic", stack, "2MB", FAST))
    packets = 2_000_000 // 1430
    assert calls < 8 * packets, "six a packet with the clock held, 17 without"


def test_a_role_in_go_asks_for_the_time_once_a_wake_up() -> None:
    require("quic-go")
    stack = {"kind": "quic", "stack": "quic-go", "congestion": "reno", "label": "quic-go"}
    calls = count(Transfer("quic-go", stack, "2MB", FAST))
    packets = 2_000_000 // 1280
    assert calls < 11 * packets, "nine a packet with the clock held, 35 without"
