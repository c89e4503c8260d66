"""Many flows of drawn sizes: each at its time, as fast as the path, and the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import FlowTable, OfWorkload


def run(place: Path, *workloads: dict[str, Any], **tables: Any) -> Measured:
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": {"rate": "100mbit", "queue": "1bdp"},
            "topology": {"shape": "dumbbell", "rtts": ["2ms", "2ms"]},
            "transport": {"kind": "tcp"},
            "workload": [*workloads],
        }
        | tables
    )
    (found,) = run_study(plan_study(study), place, jobs=1)
    assert found.status.outcome == "ok", found.status.reason
    return found


def flows(name: str, **keys: Any) -> dict[str, Any]:
    usual = {"kind": "traffic", "load": "20mbit", "scale": "2%", "count": 300}
    return {"name": name} | usual | keys


def table_of(found: Measured, name: str) -> FlowTable:
    (table,) = (
        each.line
        for each in found.records
        if isinstance(each, OfWorkload)
        and each.workload == name
        and isinstance(each.line, FlowTable)
    )
    return table


@pytest.mark.parametrize("kind", ["tcp", "tls", "sctp", "quic"])
def test_flows_between_two_pairs_are_all_completed_and_repeat(tmp_path: Path, kind: str) -> None:
    both = (flows("web"), flows("mining", sizes="data-mining", scale="0.5%"))
    first, second = (
        run(tmp_path / str(again), *both, transport={"kind": kind}) for again in range(2)
    )
    assert first.records == second.records
    table = table_of(first, "web")
    assert len(table.due_ns) == 300
    for due, size, done in zip(table.due_ns, table.size_bytes, table.completed_ns, strict=True):
        # A handshake or more, the request's round trip, and the bits at the rate.
        assert done - due >= 2 * 2_000_000 + size * 80, (size, done - due)
    assert first.metrics["web.flow_slowdown_index_p50"] > 1
    assert first.metrics["web.flow_completion_time_s_p99"] > 0.004


def test_a_flow_that_is_alone_takes_two_round_trips_and_its_bits(tmp_path: Path) -> None:
    """At equal intervals and a load of a thousandth no flow meets another: connecting, asking, and
    the packets of 1 514 bytes for each 1 448 at the rate, in slow start from ten of them.
    """
    found = run(tmp_path, flows("web", load="100kbit", count=40, arrivals="constant"))
    table = table_of(found, "web")
    for due, size, done in zip(table.due_ns, table.size_bytes, table.completed_ns, strict=True):
        if size <= 14_000:
            on_the_wire = size + 66 * -(-size // 1448)
            best_ns = 4_000_000 + on_the_wire * 80
            assert done - due == pytest.approx(best_ns, abs=60_000), size


@pytest.mark.parametrize("queue", ["50kB", "400p"])
def test_small_messages_fill_no_queue_that_a_path_of_their_rate_does_not_have(
    tmp_path: Path, queue: str
) -> None:
    """6 Mbit/s of 100 bytes are 8.5 Mbit/s on the wire: 375 packets in the delay line, where 42 of
    full size would be.
    """
    tables = {
        "title": "guest test", "replicates": 1, "transport": {"kind": "udp"},
        "path": {"rate": "10mbit", "rtt": "100ms", "queue": queue},
        "workload": {"kind": "flow", "payload": "100B", "rate": "6mbit", "duration": "2s"},
    }  # fmt: skip
    (found,) = run_study(plan_study(study_from_mapping(tables)), tmp_path, jobs=1)
    assert found.metrics["loss_ratio"] == 0
    assert (found.metrics["message_delay_s_max"] or 0) < 0.0503
