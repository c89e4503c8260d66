"""Several workloads in one guest: fair shares, the same records again, failures by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuzz.judge import order_faults
from guest.lab import ALL, Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import Goodput, OfWorkload, Transfer, read_records

GOLDEN = Path(__file__).parents[1] / "golden"
PATH: dict[str, Any] = {"rtt": "20ms", "rate": "20mbit", "queue": "1bdp"}


def bulk(name: str, transport: Any = "tcp", **keys: Any) -> dict[str, Any]:
    return {"name": name, "kind": "bulk", "transport": transport, "stop": "3s", **keys}


def run(place: Path, *workloads: dict[str, Any], **tables: Any) -> list[Measured]:
    study = study_from_mapping(
        {"title": "guest test", "replicates": 1, "path": PATH, "workload": [*workloads]} | tables
    )
    return run_study(plan_study(study), place, jobs=1)


def ok(place: Path, *workloads: dict[str, Any], **tables: Any) -> Measured:
    (found,) = run(place, *workloads, **tables)
    assert found.status.outcome == "ok", found.status.reason
    return found


@pytest.mark.parametrize("transport", [*ALL, {"kind": "tcp", "congestion": "bbr"}])
def test_two_of_a_kind_share_evenly_over_a_minute(transport: Any, tmp_path: Path) -> None:
    """Equal round-trip times, and `fq_codel` at the bottleneck: it serves each in its turn and
    drops of whom it has most, so what is not even would be the endpoints' doing: `fq` drops
    who comes when the queue that all share is full.

    Starts are random, as two that begin in the same nanosecond move in step (the phase effects
    of Floyd and Jacobson 1992).
    """
    both = [bulk(name, transport, stop="60s", start_jitter="10ms") for name in ("one", "two")]
    metrics = ok(tmp_path, *both, path=PATH | {"discipline": "fq_codel"}).metrics
    assert metrics["one.share_ratio"] == pytest.approx(0.5, abs=0.01), "50:50 within 2 %"
    assert metrics["jain_index"] > 0.999
    sum_bit_s = metrics["one.goodput_bit_s"] + metrics["two.goodput_bit_s"]
    assert sum_bit_s == pytest.approx(20e6 * 1448 / 1514, rel=0.05), "the link was full"


def test_the_same_seed_gives_the_same_records(tmp_path: Path) -> None:
    workloads = (
        bulk("tcp", start_jitter="100ms"),
        bulk("quic", "quic", start="500ms", direction="up"),
        {"name": "ping", "kind": "rr", "transport": "udp", "interval": "20ms", "stop": "2s"},
        {"name": "call", "kind": "flow", "transport": "udp", "rate": "1mbit", "stop": "2s"},
    )
    lossy = PATH | {"loss": "1%"}
    first, second = (ok(tmp_path / str(n), *workloads, path=lossy) for n in range(2))
    assert (first.path / "records.jsonl").read_bytes() == (
        second.path / "records.jsonl"
    ).read_bytes()
    assert {each.workload for each in first.records if isinstance(each, OfWorkload)} == {
        "tcp", "quic", "ping", "call",
    }  # fmt: skip
    assert sorted(each.name for each in first.path.iterdir() if each.is_dir()) == []


def test_no_content_ends_before_it_begins(tmp_path: Path) -> None:
    """Arrivals are watched here, and times are stamps of the kernel or of the clock by turns."""
    each: dict[str, Any] = {"kind": "bulk", "transfers": 4}
    workloads = [
        {"name": f"{transport}{size}", "transport": transport, "size": f"{size}B", **each}
        for transport in ("tcp", "tls")
        for size in (2, 1449, 7000, 18000)
    ]
    found = ok(tmp_path, *workloads, path={"rtt": "2ms", "rate": "10mbit", "loss": "2%"})
    contents = [each.line for each in found.records if isinstance(each, OfWorkload)]
    assert sum(isinstance(content, Transfer) for content in contents) >= 4 * len(workloads)
    assert list(order_faults(found.records)) == []


def test_a_content_that_ends_before_it_begins_is_seen() -> None:
    records = read_records(GOLDEN / "records-bulk-quic.jsonl")
    right = next(each for each in records if isinstance(each, Transfer))
    wrong = right.model_copy(update={"last_byte_ns": right.first_byte_ns - 1})
    assert list(order_faults([right])) == []
    assert len(list(order_faults([wrong]))) == 1


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("transport", ALL)
def test_what_has_a_time_begins_and_ends_in_it(
    transport: str, direction: str, tmp_path: Path
) -> None:
    late = bulk("late", transport, start="1s", stop="2s", direction=direction)
    found = ok(tmp_path, bulk("whole"), late)
    (goodput,) = (
        each.line
        for each in found.records
        if isinstance(each, OfWorkload) and each.workload == "late"
        if isinstance(each.line, Goodput)
    )
    came_s = [at * goodput.step_ns / 1e9 for at, bytes_ in enumerate(goodput.bytes) if bytes_]
    assert 1.02 <= came_s[0] < 1.5, "a round trip after it began at the earliest"
    assert came_s[-1] <= 2.1, "what was on its way is all that came later"
    metrics = found.metrics
    assert metrics["late.goodput_bit_s"] > 1e6
    assert metrics["whole.retransmitted_packets"] > 0, "the queue overflowed"
    assert "late.completion_time_s" not in metrics


def test_a_ping_beside_a_transfer_has_the_queue_that_the_router_had(tmp_path: Path) -> None:
    ping = {"name": "ping", "kind": "rr", "transport": "udp", "interval": "10ms", "stop": "3s"}
    path = PATH | {"queue": "4bdp"}
    metrics = ok(tmp_path, bulk("load"), ping, path=path, sampling="10ms").metrics
    assert metrics["ping.rr_latency_s_p95"] == pytest.approx(
        metrics["rtt_under_load_s_p95"], rel=0.05
    )
    assert metrics["ping.rr_latency_s_p95"] > 0.06, "of an idle path it is 20 ms"


def test_harm_is_told_where_each_ran_alone_too(tmp_path: Path) -> None:
    runs = run(tmp_path, bulk("one"), bulk("two"), factors={"workloads": ["all", "one"]})
    together, alone = (each.metrics for each in runs)
    assert "two.goodput_bit_s" not in alone
    assert alone["one.goodput_bit_s"] > 1.5 * together["one.goodput_bit_s"]


def test_a_failure_names_the_workload(tmp_path: Path) -> None:
    whole = {"name": "whole", "kind": "bulk", "transport": "tcp", "size": "100MB"}
    (found,) = run(tmp_path, bulk("short", stop="1s"), whole, limits={"virtual_s": 4})
    assert found.status.outcome == "failed"
    assert found.status.reason is not None
    assert "whole: the transfer was not over after 4 virtual seconds" in found.status.reason
    assert not (found.path / "whole").exists()


def test_who_has_no_time_to_connect_gets_nothing(tmp_path: Path) -> None:
    late = ok(tmp_path, bulk("short"), bulk("late", start="2s", stop="2010ms"))
    assert late.metrics["late.goodput_bit_s"] == 0
    assert "late.connect_time_s" not in late.metrics
    assert late.metrics["short.goodput_bit_s"] > 0


def test_what_others_did_stands_where_one_gives_up(tmp_path: Path) -> None:
    gone = PATH | {"timeline": [{"at": "2s", "change": "outage"}]}
    early = {"name": "early", "kind": "bulk", "transport": "quic", "size": "100kB"}
    late = {"name": "late", "kind": "bulk", "transport": "tcp", "size": "100MB"}
    metrics = ok(tmp_path, early, late, path=gone).metrics
    assert 0.1 < metrics["early.completion_time_s"] < 2
    assert metrics["late.gave_up_s"] > 900
    assert {name for name in metrics if name.startswith("late.")} == {"late.gave_up_s"}
    assert metrics["wire_packets_down"] > 100, "what the path did is known"
    assert "jain_index" not in metrics
