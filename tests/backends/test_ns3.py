"""The ns-3 backend: what it asks and refuses, and what it makes of answers; ns-3 is played."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from netwarp import wire
from netwarp.backends.guest_files import REPOSITORY
from netwarp.backends.needs import Machine
from netwarp.backends.ns3 import Ns3Backend, WithNs3
from netwarp.backends.ns3.installation import (
    PACKAGE,
    PYTHON_VARIABLE,
    find_python,
    install,
    is_missing,
)
from netwarp.backends.ns3.request import records, refusal, request
from netwarp.backends.ns3.simulation import configure
from netwarp.cli.program import app
from netwarp.errors import BackendError
from netwarp.metrics import metrics_from_records
from netwarp.wire import Job, read_records
from support import job_of

PATH = {"rate": "1gbit", "delay": "2us", "queue": "100p"}
ASYMMETRIC = {"rate_down": "1gbit", "rate_up": "10mbit", "delay": "2us"}
FLOW = {"kind": "flow", "direction": "up", "payload": "1472B", "interval": "2us", "count": 10}
BULK = {"size": "1MB", "direction": "up", "verify": False}
ANSWER = {
    "sent": 10,
    "sent_bytes": 15_000,
    "first_sent_ns": 0,
    "last_sent_ns": 18_000,
    "received": 3,
    "received_bytes": 4_500,
    "first_received_ns": 20_000,
    "last_received_ns": 44_000,
    "delay_sum_ns": 66_000,
    "jitter_sum_ns": 30_000,
    "connected_ns": 0,
}


def job(kind: str = "udp", model: str = "ns3", **sections: Any) -> Job:
    """Plan a job for ns-3; what is given replaces a section."""
    level = {"kind": kind, "model": model, "label": kind}
    return job_of(level, **{"path": PATH, "workload": FLOW} | sections)


def test_a_job_is_worded_with_linux_or_with_nothing() -> None:
    like_linux = request(job("tcp"))
    assert like_linux["tcp"]["numbers"] == {
        "ns3::TcpSocket::SegmentSize": 1448,
        "ns3::TcpSocket::InitialCwnd": 10,
    }
    assert like_linux["tcp"]["congestion"] == "ns3::TcpCubic"
    to_server = like_linux["links"][1]
    assert to_server["ends"] == ["server", "router"]
    assert to_server["queues_packets"][1] == 100, "the packet in transmission is in the device"
    assert like_linux["flows"][0]["size_bytes"] == 14_720
    as_it_comes = request(job("tcp", "ns3default"))
    assert as_it_comes["tcp"]["numbers"] == {}
    assert as_it_comes["buffer_bytes"] is None
    limited = request(job("tcp", "ns3default", transport={"mss": 1460}))
    assert limited["tcp"]["numbers"] == {"ns3::TcpSocket::SegmentSize": 1448}


def test_tcp_is_set_up_like_linux_where_there_is_tcp_alone() -> None:
    for kind, types in (("udp", []), ("tcp", ["ns3::TcpCubic", "ns3::TcpPrrRecovery"])):
        ns = Mock()
        configure(ns, request(job(kind)))
        assert [call.args[0] for call in ns.TypeId.LookupByName.call_args_list] == types


@pytest.mark.parametrize(
    ("transport", "name"), [({}, "ns3::TcpCubic"), ({"congestion": "reno"}, "ns3::TcpNewReno")]
)
def test_ns3_as_it_comes_has_the_congestion_control_that_is_asked_for(
    transport: dict[str, str], name: str
) -> None:
    """It is CUBIC by default, as in ns-3 3.44 itself; nothing else of TCP is set."""
    ns = Mock()
    configure(ns, request(job("tcp", "ns3default", transport=transport)))
    assert [call.args[0] for call in ns.TypeId.LookupByName.call_args_list] == [name]
    set_keys = [call.args[0] for call in ns.Config.SetDefault.call_args_list]
    assert set_keys == ["ns3::TcpL4Protocol::SocketType"]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (job("tls"), "ns-3 has no TLS"),
        (job("tcp", workload=FLOW | {"interval": "1ms"}), "slower than the path"),
        (job(workload=FLOW | {"direction": "down"}), "clients send"),
        (job(workload=FLOW | {"arrivals": "poisson"}), "at equal intervals"),
        (job("tcp", workload={"kind": "stream"}), "no application of ns-3 does a stream"),
        (job("tcp", workload={"size": "1MB"}), "BulkSendApplication dials and sends"),
        (job("tcp", workload=BULK | {"verify": True}), "has no content"),
        (job("tcp", workload=BULK | {"chunks": 2}), "one content once"),
        (job(path={"delay": "2us"}), "links have a rate"),
        (job(path=PATH | {"jitter": "1us"}), "asks for jitter (server to client), and its model"),
        (job(path=PATH | {"loss": "1%"}), "of the flow's direction alone"),
        (job(path=PATH | {"neighbours": "cold"}), "have no ARP"),
        (job("udp", "ns3default", path=PATH | {"loss_up": "1%"}), "loses nothing"),
        (
            job("udp", "ns3default", path=ASYMMETRIC),
            "same both ways",
        ),
        (job("tcp", transport={"congestion": "vegas"}), "no congestion control 'vegas'"),
        (job("tcp", transport={"tcp_rto_min": "50ms"}), "tcp_rto_min is of the kernel's TCP"),
        (job("tcp", transport={"mtu_probing": True}), "mtu_probing is of the kernel's TCP"),
        (
            job("tcp", "ns3default", transport={"congestion": "vegas"}),
            "no congestion control 'vegas'",
        ),
    ],
)
def test_what_ns3_cannot_do_is_refused(asked: Job, reason: str) -> None:
    assert reason in str(refusal(asked))


def test_what_ns3_can_do_is_not_refused() -> None:
    cold = PATH | {"neighbours": "cold"}
    lossy = PATH | {"loss_up": "1%"}
    assert refusal(job()) is None
    assert refusal(job("tcp", path=lossy, workload=BULK)) is None
    assert refusal(job("udp", "ns3default", path=cold)) is None


def test_flow_monitors_sums_become_metrics() -> None:
    found = metrics_from_records(job(), records(job(), [ANSWER], "3.44"))
    assert found["throughput_bit_s"] == pytest.approx(8 * 4500 / 24e-6)
    assert found["delay_mean_s"] == pytest.approx(22e-6)
    assert found["jitter_mean_s"] == pytest.approx(10e-6)
    assert found["lost_packets"] == 7
    assert found["loss_ratio"] == pytest.approx(0.7)
    assert "delay_s_p50" not in found


def test_a_file_becomes_times() -> None:
    asked = job("tcp", workload=BULK)
    answer = ANSWER | {"connected_ns": 5_000, "first_s": 0.001, "done_s": 0.5}
    found = metrics_from_records(asked, records(asked, [answer], "3.44"))
    assert found["completion_time_s"] == pytest.approx(0.5)
    assert found["connect_time_s"] == pytest.approx(5e-6)
    unfinished = records(asked, [answer | {"done_s": None}], "3.44")[-1]
    assert isinstance(unfinished, wire.End)
    assert unfinished.failure is not None


def played(place: Path, *lines: str) -> Ns3Backend:
    """Open the backend over a program that says these lines in the simulation's place."""
    program = place / "python"
    said = "".join(f"read -r asked; echo '{line}'\n" for line in lines)
    ready = json.dumps({"ready": "3.99"})
    program.write_text(f"#!/bin/sh\necho '{ready}'\n{said}echo 'out of luck' >&2\nexit 3\n")
    program.chmod(0o755)
    return Ns3Backend(environ=os.environ | {PYTHON_VARIABLE: str(program)})


def test_one_process_answers_run_after_run_and_its_end_fails_a_run(tmp_path: Path) -> None:
    backend = played(tmp_path, json.dumps([ANSWER]), json.dumps([ANSWER]))
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        status = backend.run(job(), tmp_path / run, slot=0, on_progress=lambda _: None)
        assert status.outcome == "ok"
        assert status.virtual_s == pytest.approx(44e-6)
        start = read_records(tmp_path / run / "records.jsonl")[0]
        assert isinstance(start, wire.Start)
        assert start.kernel == "ns-3 3.99"
    assert backend.provenance() == {"ns3": "3.99"}
    (tmp_path / "three").mkdir()
    status = backend.run(job(), tmp_path / "three", slot=0, on_progress=lambda _: None)
    assert status.outcome == "failed"
    assert "status 3: out of luck" in str(status.reason)
    backend.stop()


def test_a_process_outlives_the_thread_that_asked_it_first(tmp_path: Path) -> None:
    """Each batch of replicates has threads of its own; the processes serve them all."""
    backend = played(tmp_path, json.dumps([ANSWER]), json.dumps([ANSWER]))
    outcomes: list[str] = []
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        asking = threading.Thread(
            target=lambda run=run: outcomes.append(
                backend.run(job(), tmp_path / run, slot=0, on_progress=lambda _: None).outcome
            )
        )
        asking.start()
        task = Path(f"/proc/self/task/{asking.native_id}")
        asking.join()
        while task.exists():  # what ends with a thread ends after it has gone
            os.sched_yield()
    backend.stop()
    assert outcomes == ["ok", "ok"]


def test_runs_go_where_their_model_is(tmp_path: Path) -> None:
    both = WithNs3(Refusing(), played(tmp_path))
    assert both.refuse(job_of("udp", path=PATH, workload=FLOW), "") == "the kernel's"
    assert both.refuse(job("tls"), "") == refusal(job("tls"))
    assert both.provenance() == {"kernel": "a kernel", "ns3": "not started yet"}


class Refusing(Ns3Backend):
    """Stands for a backend of the kernel's transports."""

    def __init__(self) -> None:
        super().__init__(environ={PYTHON_VARIABLE: sys.executable})

    def refuse(self, job: Job, sha256: str) -> str | None:
        del job, sha256
        return "the kernel's"

    def provenance(self) -> dict[str, Any]:
        return {"kernel": "a kernel"}


def cached(place: Path, **environ: str) -> dict[str, str]:
    """Give an environment whose cache is in this place."""
    return os.environ | {"XDG_CACHE_HOME": str(place)} | environ


@pytest.fixture
def without_ns3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no ns-3 in netwarp's own Python, whichever it is."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.delenv(PYTHON_VARIABLE, raising=False)


@pytest.mark.usefixtures("without_ns3")
def test_ns3_is_installed_once_and_then_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def done(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append([str(word) for word in command])
        if "venv" in command:
            Path(str(command[-1])).mkdir()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("subprocess.run", done)
    machine = Machine(cached(tmp_path))
    assert is_missing(machine)
    with pytest.raises(BackendError, match="ns-3 is not installed here: `netwarp ns3 install`"):
        find_python(machine)
    place = install(machine.environ)
    assert install(machine.environ) == place
    assert [command[-1] for command in commands] == [str(place), PACKAGE]
    assert find_python(machine) == str(place / "bin" / "python")
    assert not is_missing(machine)


@pytest.mark.usefixtures("without_ns3")
def test_the_command_installs_it_once_and_names_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "venv" in command:
            Path(str(command[-1])).mkdir()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("subprocess.run", done)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for says_it_installs in (True, False):
        answer = CliRunner().invoke(app, ["ns3", "install"])
        assert answer.exit_code == 0
        assert (f"installing {PACKAGE}" in answer.output) is says_it_installs
        assert f"ns-3: {find_python(Machine())}" in answer.output


@pytest.mark.usefixtures("without_ns3")
def test_what_pip_says_is_the_reason_and_nothing_half_done_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "venv" in command:
            Path(str(command[-1])).mkdir()
            return subprocess.CompletedProcess(command, 0, "", "")
        return subprocess.CompletedProcess(command, 1, "", "retrying\nno network here\n")

    monkeypatch.setattr("subprocess.run", failed)
    machine = Machine(cached(tmp_path))
    with pytest.raises(BackendError, match=r"ns3==\S+ failed with .*no network here"):
        install(machine.environ)
    assert is_missing(machine)


def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    machine = Machine(cached(tmp_path, **{PYTHON_VARIABLE: "/nowhere/python"}))
    assert not is_missing(machine), "installing would not mend it"
    with pytest.raises(BackendError, match=r"NETWARP_NS3_PYTHON=/nowhere/python: no such program"):
        Ns3Backend(machine.environ).check(1)


def test_the_extra_is_the_version_that_is_installed() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert extras["optional-dependencies"]["ns3"] == [PACKAGE]


DUMBBELL: dict[str, Any] = {
    "topology": {"shape": "dumbbell", "rtts": ["20ms", "80ms"]},
    "path": {"rate": "20mbit", "queue": "50p"},
}


RENO = {"kind": "tcp", "model": "ns3", "congestion": "reno"}


def network(*workloads: dict[str, Any], **sections: Any) -> Job:
    """Plan a job of ns-3 between the hosts of a network."""
    level = {"kind": "tcp", "model": "ns3", "label": "ns3"}
    return job_of(level, **{**DUMBBELL, "workload": list(workloads), **sections})


def between(number: int, **keys: Any) -> dict[str, Any]:
    """Return a file that a pair of hosts sends."""
    hosts = {"from": f"client{number}", "to": f"server{number}", "kind": "bulk"}
    return {"name": f"pair{number}", **hosts, **BULK, **keys}


def test_a_dumbbell_is_worded_link_by_link() -> None:
    asked = request(network(between(1), between(2, size="2MB")))
    assert asked["nodes"] == ["client1", "client2", "server1", "server2", "left", "right"]
    found = {tuple(link["ends"]): link for link in asked["links"]}
    bottleneck = found["left", "right"]
    assert bottleneck["rates_bit_s"] == [20_000_000, 20_000_000]
    assert bottleneck["queues_packets"] == [50, 50]
    # A pair's whole delay is on its server's link, half of the round trip each way.
    delays = {"-".join(ends): link["delay_ns"] for ends, link in found.items()}
    assert delays == {
        "left-right": 0, "client1-left": 0, "client2-left": 0,
        "right-server1": 10_000_000, "right-server2": 40_000_000,
    }  # fmt: skip
    near, far = asked["flows"]
    assert (near["client"], near["server"], near["size_bytes"]) == ("client1", "server1", 10**6)
    assert (far["client"], far["server"], far["size_bytes"]) == ("client2", "server2", 2 * 10**6)
    assert near["port"] != far["port"]


def test_each_workload_has_its_own_records() -> None:
    asked = network(between(1), between(2))
    answers = [
        ANSWER | {"connected_ns": 20, "first_s": 0.1, "done_s": done_s} for done_s in (0.5, 0.75)
    ]
    found = metrics_from_records(asked, records(asked, answers, "3.44"))
    assert found["pair1.completion_time_s"] == pytest.approx(0.5)
    assert found["pair2.completion_time_s"] == pytest.approx(0.75)
    end = records(asked, [answers[0], answers[1] | {"done_s": None}], "3.44")[-1]
    assert isinstance(end, wire.End)
    assert end.failure is not None


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (network({k: v for k, v in between(1, stop="5s").items() if k != "size"}), "a known size"),
        (network(between(1, direction="down")), "dials and sends"),
        (network(between(1), between(2, transport=RENO)), "one TCP for all"),
        (
            network(between(1), path=DUMBBELL["path"] | {"loss_down": "1%"}),
            "of the flow's direction alone",
        ),
        (
            job_of({"kind": "tcp", "model": "ns3default", "label": "a"},
                   **{**DUMBBELL, "workload": [between(1)]}),
            "two hosts and one workload",
        ),
    ],
)  # fmt: skip
def test_what_ns3_cannot_do_in_a_network_is_refused(asked: Job, reason: str) -> None:
    assert reason in str(refusal(asked))


def test_a_run_does_not_depend_on_the_runs_before_it(tmp_path: Path) -> None:
    """ns-3's random streams are numbered from the start of the process, unless they are reset."""
    backend = Ns3Backend()
    try:
        backend.check(jobs=1)
    except BackendError as error:
        pytest.skip(str(error))
    csma = job("tcp", "ns3default", path={"rate": "10mbit", "delay": "20us"}, workload=BULK)
    kept = []
    for run in ("first", "second"):
        (tmp_path / run).mkdir()
        status = backend.run(csma, tmp_path / run, slot=0, on_progress=lambda _: None)
        assert status.outcome == "ok", status.reason
        kept.append((tmp_path / run / "records.jsonl").read_bytes())
    backend.stop()
    assert kept[0] == kept[1]
