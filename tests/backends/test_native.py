"""The native backend's pure parts: what is refused where, and how speeds are kept."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import support
from backends.able import ABLE
from netwarp.backends.native import HostCapabilities, NativeBackend, host_refusal
from netwarp.errors import BackendError
from netwarp.estimate.stats import estimate
from netwarp.evaluation import load
from netwarp.execution import LocalExecutor
from netwarp.machine.speed import Speed, speed_file, stored_speed
from netwarp.plan import plan_study
from netwarp.report import write_report
from netwarp.report.trust import speed_limits
from netwarp.study import study_from_mapping
from netwarp.wire import Job
from netwarp.wording import median_text, quantity

SPEED = Speed(
    measured="2026-01-02", cpu="a CPU", kernel="6.12.0",
    goodput_bit_s={"tcp": 4e9, "quic": 1e9}, not_measured={"sctp": "no SCTP"},
)  # fmt: skip


def job(transport: Any = "tcp", **path: Any) -> Job:
    study = {
        "title": "t",
        "replicates": 1,
        "path": {"mtu": 1500} | path,
        "workload": {"kind": "bulk", "size": "1MB"},
        "factors": {"transport": [transport]},
    }
    return plan_study(study_from_mapping(study))[0].job


@pytest.mark.parametrize("transport", ["tcp", "tls", "sctp", "quic"])
def test_a_host_that_can_do_everything_refuses_nothing(transport: str) -> None:
    assert host_refusal(ABLE, job(transport, rtt="10ms", loss="1%")) is None


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ({"rtt": "10ms"}, "a delay (server to client)"),
        ({"delay_up": "10ms"}, "a delay (client to server)"),
        ({"loss": "1%"}, "loss (server to client)"),
        ({"rate": "50mbit", "queue": "100p"}, "a rate"),
        ({"duplicate": "1%"}, "duplicates"),
        ({"corrupt": "1%"}, "corruption"),
    ],
)
def test_impairment_without_netem_is_refused_by_name(path: dict[str, Any], named: str) -> None:
    host = replace(ABLE, missing_netem="the host's kernel has no netem: `modprobe sch_netem`")
    assert host_refusal(host, job()) is None
    reason = host_refusal(host, job(**path))
    assert reason is not None
    assert named in reason
    assert "modprobe sch_netem" in reason


@pytest.mark.parametrize(
    ("path", "is_shaped"),
    [
        ({"rate": "5mbit", "queue": "100p"}, False),
        ({"rate": "5mbit", "queue": "100p", "discipline": "fq_codel"}, True),
        ({"rate": "5mbit", "queue": "100p", "rtt": "20ms", "reorder": "1%"}, True),
    ],
)
def test_a_missing_shaper_is_refused_where_netem_does_not_keep_the_rate(
    path: dict[str, Any], is_shaped: bool
) -> None:
    host = replace(ABLE, missing_shaper="no htb: `modprobe sch_htb`")
    assert host_refusal(host, job(**path)) == ("no htb: `modprobe sch_htb`" if is_shaped else None)


def test_a_missing_sctp_is_refused_for_sctp_alone() -> None:
    host = replace(ABLE, missing_sctp="no SCTP: `modprobe sctp`")
    assert host_refusal(host, job("sctp")) == "no SCTP: `modprobe sctp`"
    assert host_refusal(host, job("tcp")) is None


def test_what_changes_a_path_needs_netem_too() -> None:
    host = replace(ABLE, missing_netem="there is no netem: `modprobe sch_netem`")
    still = {"path": {"mtu": 1400}}
    assert host_refusal(host, support.job_of("tcp", **still)) is None
    moves = {"path": {"handovers": {"every": "5s", "count": 1}}}
    reason = host_refusal(host, support.job_of("tcp", **moves))
    assert reason == (
        "it asks for a client that moves between paths, and there is no netem: `modprobe sch_netem`"
    )
    outage = {"path": {"outages": {"every": "5s", "length": "1s", "count": 1}}}
    assert "a timeline of the path" in (host_refusal(host, support.job_of("tcp", **outage)) or "")


def test_a_congestion_control_that_is_not_loaded_is_refused_for_kernel_tcp_alone() -> None:
    host = replace(ABLE, congestion=("reno",))
    reason = host_refusal(host, job({"kind": "tls", "congestion": "cubic", "label": "t"}))
    assert reason is not None
    assert "modprobe tcp_cubic" in reason
    assert host_refusal(host, job({"kind": "quic", "congestion": "cubic", "label": "q"})) is None


def test_smaller_socket_buffers_than_tcps_are_refused_where_sockets_have_them() -> None:
    host = replace(ABLE, socket_buffer_bytes=212_992)
    reason = host_refusal(host, job("quic"))
    assert reason is not None
    assert "net.core.rmem_max" in reason
    assert "--set transport.buffer=212992B" in reason
    assert host_refusal(host, job("tcp")) is None
    assert host_refusal(host, job({"kind": "quic", "buffer": "200KiB", "label": "q"})) is None


def test_no_namespaces_no_runs(tmp_path: Path) -> None:
    host = replace(ABLE, missing_path="user.max_user_namespaces is 0: `sysctl -w …`")
    with pytest.raises(BackendError, match=r"user\.max_user_namespaces is 0"):
        backend(tmp_path, host).check(jobs=1)


def test_runs_go_one_at_a_time_and_asking_for_more_is_refused(tmp_path: Path) -> None:
    native = backend(tmp_path, ABLE)
    assert LocalExecutor().at_a_time(native) == 1
    assert LocalExecutor(1).at_a_time(native) == 1
    with pytest.raises(BackendError, match="slow each other down"):
        LocalExecutor(2).at_a_time(native)


def test_the_endpoints_answer_becomes_abilities() -> None:
    answer = {
        "kernel": "6.12.0",
        "rootless": True,
        "missing": {"path": None, "netem": "n", "sctp": "s", "mptcp": None},
        "congestion": ["cubic"],
        "socket_buffer_bytes": 5,
    }
    expected = HostCapabilities("6.12.0", True, None, "n", "s", None, ("cubic",), 5)
    assert HostCapabilities.from_json(answer) == expected


def test_a_speed_belongs_to_one_endpoint_on_one_cpu(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    path = speed_file("ab" * 32, "a CPU", environ)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(SPEED))
    assert stored_speed("ab" * 32, "a CPU", environ) == SPEED
    assert stored_speed("cd" * 32, "a CPU", environ) is None
    assert stored_speed("ab" * 32, "another CPU", environ) is None
    path.write_text("half of")
    assert stored_speed("ab" * 32, "a CPU", environ) is None


def test_real_time_is_quoted_as_median_and_range() -> None:
    shown = quantity("completion_time_s", 2.0)
    assert median_text(estimate([1.0, 1.5, 9.0]), shown) == "1.50 [1.00 – 9.00]"
    assert median_text(estimate([1.5]), shown) == "1.50"
    assert quantity("cpu_per_byte_client_ns", 0.4).unit == "ns"


def test_a_report_says_up_to_where_the_network_was_the_limit(tmp_path: Path) -> None:
    directory = support.write_run_directory(tmp_path / "out")
    assert "netwarp doctor --speed" in report_text(directory)
    provenance = json.loads((directory / "provenance.json").read_text())
    slow = SPEED | {"goodput_bit_s": {"tcp": 4e9, "quic": 1e6}}
    (directory / "provenance.json").write_text(json.dumps(provenance | {"speed": slow}))
    text = report_text(directory)
    said = "TCP: network-limited up to 4 000 Mbit/s on this machine"
    assert f"{said} (native, measured 2026-01-02)" in text
    limits = speed_limits(load(directory))
    assert limits is not None
    assert {row["cell"].split(" ")[0] for row in limits["beyond"]} == {"QUIC"}
    assert "SCTP: not measured (no SCTP)" in text


def test_a_report_of_real_time_claims_nothing_virtual(tmp_path: Path) -> None:
    directory = support.write_run_directory(tmp_path / "out")
    provenance = json.loads((directory / "provenance.json").read_text())
    changed = provenance | {"clock": "real", "backend": "native"}
    (directory / "provenance.json").write_text(json.dumps(changed))
    text = report_text(directory)
    for claim in ("virtual", "byte for byte", "±", "netwarp doctor --speed"):
        assert claim not in text.replace(support.FAILURE, ""), claim
    assert "Medians over replicates" in text


def report_text(directory: Path) -> str:
    html = write_report(load(directory)).read_text()
    body = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", html)
    body = (
        body.partition('<section id="provenance">')[0] + body.partition('<section id="again">')[2]
    )
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def backend(tmp_path: Path, capabilities: HostCapabilities) -> NativeBackend:
    endpoint = tmp_path / "netwarp-endpoint"
    endpoint.touch(mode=0o755)
    return NativeBackend(environ={"NETWARP_ENDPOINT": str(endpoint)}, capabilities=capabilities)


def test_a_parameter_of_the_hosts_whole_kernel_is_left_alone() -> None:
    reason = host_refusal(ABLE, job({"kind": "tcp", "hystart": False, "label": "t"}))
    assert reason is not None
    assert "tcp_cubic.hystart" in reason
