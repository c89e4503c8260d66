"""A link in the middle that takes smaller packets than those of the hosts: told, and not told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping

SIZE_BYTES = 100_000


def run(place: Path, *, ip: int, icmp: str, **transport: Any) -> Measured:
    """Send a file over three links, of which the one in the middle has an MTU of 1 400 bytes."""
    study = study_from_mapping(
        {
            "title": "path MTU",
            "replicates": 1,
            "limits": {"virtual_s": 7200},
            "host": [{"name": "client"}, {"name": "server"}],
            "router": [{"name": "near"}, {"name": "far", "icmp": icmp}],
            "link": [
                {"between": ["client", "near"], "ip": ip},
                {"between": ["near", "far"], "rtt": "40ms", "rate": "10mbit", "mtu": 1400},
                {"between": ["far", "server"]},
            ],
            "transport": transport,
            "workload": [
                {
                    "name": "get",
                    "kind": "bulk",
                    "size": f"{SIZE_BYTES}B",
                    "from": "client",
                    "to": "server",
                }
            ],
        }
    )
    (found,) = run_study(plan_study(study), place, jobs=1)
    return found


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize(
    ("kind", "most_s"),
    [
        ("tcp", 1),
        # What SCTP had sent in packets that are too large waits for its retransmission time-out.
        ("sctp", 5),
        ("quic", 1),
    ],
)
def test_a_sender_that_is_told_of_a_smaller_link_goes_on(
    tmp_path: Path, ip: int, kind: str, most_s: float
) -> None:
    found = run(tmp_path, ip=ip, icmp="sent", kind=kind)
    assert found.status.outcome == "ok", found.status.reason
    assert found.metrics["get.completion_time_s"] < most_s


@pytest.mark.parametrize("ip", [4, 6])
def test_tcp_that_nobody_tells_gives_up_in_the_black_hole(tmp_path: Path, ip: int) -> None:
    found = run(tmp_path, ip=ip, icmp="dropped", kind="tcp")
    assert found.status.outcome == "ok", found.status.reason
    assert "get.completion_time_s" not in found.metrics
    assert found.metrics["get.gave_up_s"] > 60


def test_sctp_that_nobody_tells_never_gives_up_as_its_heartbeats_arrive(tmp_path: Path) -> None:
    found = run(tmp_path, ip=4, icmp="dropped", kind="sctp")
    assert found.status.reason == (
        "limit: get: the transfer was not over after 7200 virtual seconds"
    )


@pytest.mark.parametrize("ip", [4, 6])
def test_tcp_that_probes_gets_out_of_the_black_hole(tmp_path: Path, ip: int) -> None:
    found = run(tmp_path, ip=ip, icmp="dropped", kind="tcp", mtu_probing=True)
    assert found.status.outcome == "ok", found.status.reason
    assert 1 < found.metrics["get.completion_time_s"] < 60


def test_quic_knows_the_smallest_mtu_of_the_way(tmp_path: Path) -> None:
    found = run(tmp_path, ip=4, icmp="dropped", kind="quic")
    assert found.status.outcome == "ok", found.status.reason
    assert found.metrics["get.completion_time_s"] < 1
