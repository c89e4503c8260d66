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


BOTH_GONE: dict[str, object] = {
    "second": {},
    "timeline": [{"at": "500ms", "change": "outage", "path": path} for path in (1, 2)],
}
"""The same of both paths."""


@pytest.mark.parametrize(
    "workload",
    [
        {"kind": "bulk", "size": "10MB"},
        {"kind": "bulk", "size": "10MB", "direction": "up"},
        {"kind": "bulk", "size": "200kB", "transfers": 40},
        {"kind": "rr", "interval": "50ms", "count": 100, "request": "100B", "response": "2kB"},
        {"kind": "flow", "rate": "1mbit", "payload": "500B", "count": 2000},
    ],
    ids=["a sender that waits for room", "the same upwards", "a receiver", "rr", "flow"],
)
def test_mptcp_whose_paths_are_all_gone_is_a_result(
    workload: dict[str, object], tmp_path: Path
) -> None:
    """The kernel closes such a connection without an error, and wakes no sender for it."""
    outcome, metrics, gave_up = run(tmp_path / "run", workload, {"kind": "mptcp"}, BOTH_GONE)
    assert not outcome.failed, outcome.status.reason
    (given_up,) = gave_up
    assert "all subflows of the MPTCP connection had ended" in given_up.cause
    assert 900 < metrics["gave_up_s"] < 3600


@pytest.mark.parametrize("duration", ["1ms", "45ms", "65ms"])
def test_an_mptcp_transfer_of_a_moment_has_a_result(duration: str, tmp_path: Path) -> None:
    """It ends before it is connected, before its second subflow is, or soon after."""
    bulk: dict[str, object] = {"kind": "bulk", "duration": duration}
    outcome, metrics, _ = run(tmp_path / "run", bulk, {"kind": "mptcp"}, {"second": {}})
    assert not outcome.failed, outcome.status.reason
    assert metrics["goodput_bit_s"] >= 0


def test_mptcp_over_paths_that_spoil_everything_is_a_result(tmp_path: Path) -> None:
    path: dict[str, object] = {"second": {}, "corrupt": "99%"}
    stream: dict[str, object] = {"kind": "stream", "watch": "4s", "segment": "1s"}
    stream |= {"qualities": {"low": "5kB", "high": "20kB"}, "rule": "throughput"}
    outcome, metrics, gave_up = run(tmp_path / "run", stream, {"kind": "mptcp"}, path)
    assert not outcome.failed, outcome.status.reason
    assert len(gave_up) == 1
    assert metrics["gave_up_s"] > 60


def test_mptcp_that_never_closes_has_delivered_all_the_same(tmp_path: Path) -> None:
    """Lost are the client's DATA_FIN, the acknowledgement of the byte before it and its repetition.
    TCP's acknowledgement then comes with a repeated ADD_ADDR, which has none of the data's. So
    MPTCP sends the byte again together with its end, which the server's kernel notes and forgets.
    """
    path: dict[str, object] = {"rtt": "8.684ms", "rate": "12439kbit", "second": {}}
    path |= {"loss_up": "packets 6 7", "loss_down": "packets 2 5"}
    bulk: dict[str, object] = {"kind": "bulk", "size": "118B"}
    outcome, metrics, gave_up = run(tmp_path / "run", bulk, {"kind": "mptcp"}, path)
    assert not outcome.failed, outcome.status.reason
    assert not gave_up
    assert metrics["completion_time_s"] < 0.1
    assert outcome.status.virtual_s is not None
    assert outcome.status.virtual_s > 900, "the kernel has closed, so this tests nothing"


def test_a_player_that_has_no_address_at_its_end_is_no_failure(tmp_path: Path) -> None:
    """Its connection was put off by Fast Open until its farewell, which found no route."""
    path: dict[str, object] = {"second": {}}
    path["handovers"] = {"every": "1567ms", "count": 5, "gap": "1202ms"}
    stream: dict[str, object] = {"kind": "stream", "watch": "5s", "segment": "500ms"}
    stream |= {"qualities": {"low": "8kB", "high": "37kB"}, "rule": "throughput"}
    transport: dict[str, object] = {"kind": "tcp", "resume": "0rtt", "reconnect": "new"}
    outcome, metrics, gave_up = run(tmp_path / "run", stream, transport, path)
    assert not outcome.failed, outcome.status.reason
    assert not gave_up
    assert metrics["startup_delay_s"] < 1


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


@pytest.mark.parametrize("neighbours", ["warm", "cold"])
def test_a_flow_of_datagrams_of_which_none_arrives_is_lost(neighbours: str, tmp_path: Path) -> None:
    """The server has never heard of it, and says that it has received nothing."""
    workload: dict[str, object] = {"kind": "flow", "direction": "up", "rate": "1mbit"}
    path: dict[str, object] = {"loss_up": "100%", "neighbours": neighbours}
    outcome, metrics, gave_up = run(
        tmp_path / "run", workload | {"duration": "1s"}, {"kind": "udp"}, path
    )
    assert not outcome.failed, outcome.status.reason
    assert gave_up == []
    assert (metrics["loss_ratio"], metrics["message_loss_ratio"]) == (1, 1)
