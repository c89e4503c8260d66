"""What is asked for and cannot come is a result: the run says so, and has no other value."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import Outcome, run_job
from netwarp.metrics import metrics_from_records
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study.study import study_from_mapping
from netwarp.wire import GaveUp, read_records

NETWARP = Path(sys.executable).with_name("netwarp")


def run(
    directory: Path,
    workload: dict[str, object],
    transport: dict[str, object],
    path: dict[str, object],
) -> tuple[Outcome, dict[str, float], list[GaveUp]]:
    tables = {
        "title": "What cannot come",
        "replicates": 1,
        "path": {"rtt": "20ms", "rate": "10mbit", **path},
        "transport": transport,
        "workload": workload,
    }
    (planned,) = plan_study(study_from_mapping(tables))
    outcome = run_job(VirtualBackend(), planned.job, directory)
    records = read_records(directory / RECORDS_FILE)
    metrics = {} if outcome.failed else metrics_from_records(planned.job, records)
    return outcome, metrics, [each for each in records if isinstance(each, GaveUp)]


@pytest.mark.parametrize("kind", ["tcp", "tls", "sctp", "quic", "mptcp"])
def test_a_peer_that_never_answers_is_a_result(kind: str, tmp_path: Path) -> None:
    path: dict[str, object] = {"loss": "100%"} | (
        {"second": {"rtt": "60ms"}} if kind == "mptcp" else {}
    )
    outcome, metrics, gave_up = run(
        tmp_path / "run", {"kind": "bulk", "size": "1MB"}, {"kind": kind}, path
    )
    assert not outcome.failed, outcome.status.reason
    assert [each.side for each in gave_up] == ["client"]
    assert metrics == {"gave_up_s": gave_up[0].at_ns / 1e9}
    assert gave_up[0].cause.startswith("connecting to 10.0.2.1:4433")


GONE: dict[str, object] = {"timeline": [{"at": "500ms", "change": "outage"}]}
"""The path is gone for good half a second after it was built, in mid-transfer."""


@pytest.mark.parametrize("kind", ["tcp", "sctp", "quic"])
def test_a_peer_that_stops_answering_is_a_result(kind: str, tmp_path: Path) -> None:
    outcome, metrics, gave_up = run(
        tmp_path / "run", {"kind": "bulk", "size": "10MB"}, {"kind": kind}, GONE
    )
    assert not outcome.failed, outcome.status.reason
    assert len(gave_up) == 1
    assert 0.5 < metrics["gave_up_s"] < 3600


@pytest.mark.parametrize("kind", ["tcp", "tls"])
def test_a_set_up_that_the_server_gives_up_is_a_result(kind: str, tmp_path: Path) -> None:
    """What the client sends is lost after its SYN, for longer than the server's kernel waits for
    the end of the handshake. What comes through then is answered with a reset.
    """
    lost = "packets " + " ".join(map(str, range(2, 21)))
    outcome, metrics, gave_up = run(
        tmp_path / "run", {"kind": "bulk", "size": "1kB"}, {"kind": kind}, {"loss_up": lost}
    )
    assert not outcome.failed, outcome.status.reason
    (given_up,) = gave_up
    assert given_up.side == "client"
    assert "had given the connection up before it was set up" in given_up.cause
    assert metrics == {"gave_up_s": given_up.at_ns / 1e9}
    assert metrics["gave_up_s"] > 63, "the server's kernel waits 63 s (tcp_synack_retries = 5)"


def test_quic_that_hears_next_to_nothing_gives_up(tmp_path: Path) -> None:
    """At 99 % loss in each direction one of 10 000 packets is answered."""
    outcome, metrics, gave_up = run(
        tmp_path / "run", {"kind": "bulk", "size": "1MB"}, {"kind": "quic"}, {"loss": "99%"}
    )
    assert not outcome.failed, outcome.status.reason
    assert len(gave_up) == 1
    assert metrics["gave_up_s"] > 900


def test_quic_that_has_nothing_to_say_for_an_hour_does_not_give_up(tmp_path: Path) -> None:
    flow: dict[str, object] = {"kind": "flow", "arrivals": "trace", "times": ["1s", "3600s"]}
    outcome, metrics, _ = run(tmp_path / "run", flow | {"direction": "down"}, {"kind": "quic"}, {})
    assert not outcome.failed, outcome.status.reason
    assert metrics["message_loss_ratio"] == 0


@pytest.mark.parametrize(("http", "kind"), [("1.1", "tls"), ("2", "tcp"), ("3", "quic")])
def test_a_page_whose_path_goes_away_is_a_result(http: str, kind: str, tmp_path: Path) -> None:
    page: dict[str, object] = {"kind": "page", "page": "web-80", "http": http}
    outcome, metrics, gave_up = run(tmp_path / "run", page, {"kind": kind}, GONE)
    assert not outcome.failed, outcome.status.reason
    assert len(gave_up) == 1
    assert 0.5 < metrics["gave_up_s"] < 3600


@pytest.mark.parametrize("lost", ["loss", "loss_down"])
def test_a_flow_of_which_nothing_arrives_is_a_result(lost: str, tmp_path: Path) -> None:
    flow: dict[str, object] = {"kind": "flow", "rate": "1mbit", "duration": "2s"}
    outcome, metrics, _ = run(tmp_path / "run", flow, {"kind": "udp"}, {lost: "100%"})
    assert not outcome.failed, outcome.status.reason
    if lost == "loss_down":
        assert metrics["message_loss_ratio"] == 1


def test_runs_that_gave_up_are_told_and_counted(tmp_path: Path) -> None:
    study = ["compare", "--transport", "tcp,quic", "--size", "10kB", "--rtt", "20ms"]
    command: list[str | Path] = [
        NETWARP,
        *study,
        "--loss",
        "100%",
        "--replicates",
        "2",
        "--out",
        tmp_path / "out",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert told.count("2 of 2 gave up") == 2
    assert "gave up: in 4 of 4 runs a transport had no answer any more" in told
    shown: list[str | Path] = [NETWARP, "show", "--json", tmp_path / "out"]
    cells = json.loads(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)
    assert "gave_up_s" in json.dumps(cells)
    assert (tmp_path / "out" / "report.html").exists()


def test_a_flow_that_begins_late_is_waited_for(tmp_path: Path) -> None:
    flow: dict[str, object] = {"kind": "flow", "arrivals": "trace", "times": ["200s", "201s"]}
    flow["direction"] = "down"
    outcome, metrics, _ = run(tmp_path / "run", flow, {"kind": "udp"}, {})
    assert not outcome.failed, outcome.status.reason
    assert metrics["message_loss_ratio"] == 0
