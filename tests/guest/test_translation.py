"""A NAT between two hosts: what comes back after its mapping is gone, and what a new port ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import GaveUp, OfWorkload

HOSTS = {
    "host": [{"name": "client"}, {"name": "server"}],
    "link": [
        {"name": "wan", "between": ["home", "isp"], "rtt": "40ms"},
        {"between": ["client", "home"]},
        {"between": ["isp", "server"]},
    ],
}
PING = {"name": "ping", "kind": "rr", "from": "client", "to": "server", "interval": "100s",
        "count": 3}  # fmt: skip


def ask_after_silence(place: Path, transport: str, ports: str, timeout: str) -> Measured:
    """Send three requests 100 s apart through a NAT that remembers a mapping for so long."""
    home = {"name": "home", "nat": True, "nat_ports": ports, "nat_timeout": timeout}
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "router": [home, {"name": "isp"}],
            "workload": [PING | {"transport": transport}],
        }
        | HOSTS
    )
    (found,) = run_study(plan_study(study), place, jobs=1)
    assert found.status.outcome == "ok", found.status.reason
    return found


@pytest.mark.parametrize("transport", ["udp", "tcp", "quic"])
def test_a_port_that_is_kept_outlives_its_mapping(tmp_path: Path, transport: str) -> None:
    found = ask_after_silence(tmp_path, transport, "kept", "60s")
    assert found.metrics["ping.rr_latency_s_p99"] == pytest.approx(0.040, abs=0.002)
    assert found.metrics["ping.path_min_rtt_s"] == pytest.approx(0.040, abs=0.001)


def test_quic_moves_to_a_new_port_and_tcp_is_reset(tmp_path: Path) -> None:
    quic = ask_after_silence(tmp_path / "quic", "quic", "random", "60s")
    assert quic.metrics["ping.rr_latency_s_p99"] == pytest.approx(0.080, abs=0.004), (
        "the server validates the new path first"
    )
    first, second = (
        ask_after_silence(tmp_path / str(again), "tcp", "random", "60s") for again in range(2)
    )
    assert first.records == second.records
    of_ping = [each.line for each in first.records if isinstance(each, OfWorkload)]
    assert sum(isinstance(each, GaveUp) for each in of_ping) == 1


def test_a_mapping_that_is_remembered_keeps_its_port(tmp_path: Path) -> None:
    found = ask_after_silence(tmp_path, "tcp", "random", "200s")
    assert found.metrics["ping.rr_latency_s_p99"] == pytest.approx(0.040, abs=0.002)
