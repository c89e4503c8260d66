"""A link in the middle that takes smaller packets than those of the hosts: senders are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from guest.lab import run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping

WITHIN_S = {"tcp": 1, "quic": 1, "sctp": 5}
"""SCTP sends again what was too big only when its first time-out, of 3 s, is over."""


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("kind", WITHIN_S)
def test_a_sender_that_is_told_of_a_smaller_link_goes_on(
    tmp_path: Path, ip: int, kind: str
) -> None:
    study = study_from_mapping(
        {
            "title": "path MTU",
            "replicates": 1,
            "host": [{"name": "client"}, {"name": "server"}],
            "router": [{"name": "near"}, {"name": "far"}],
            "link": [
                {"between": ["client", "near"], "ip": ip},
                {"between": ["near", "far"], "rtt": "40ms", "rate": "10mbit", "mtu": 1400},
                {"between": ["far", "server"]},
            ],
            "transport": {"kind": kind},
            "workload": [
                {
                    "name": "get",
                    "kind": "bulk",
                    "size": "100kB",
                    "from": "client",
                    "to": "server",
                }
            ],
        }
    )
    (found,) = run_study(plan_study(study), tmp_path, jobs=1)
    assert found.status.outcome == "ok", found.status.reason
    assert found.metrics["get.completion_time_s"] < WITHIN_S[kind]
