"""Queueing disciplines in real guests: in force, with the room asked for, dropping and marking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study, run_study_cells
from netwarp.measure.queueing import rtts_under_load
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import ConnectionSamples, DisciplineInForce, QueueSamples

DEEP: dict[str, Any] = {"rtt": "40ms", "rate": "10mbit", "queue": "400p"}
AQMS = ("codel", "fq_codel", "cake", "pie", "red", "dualpi2")


def run_one(place: Path, path: dict[str, Any], transport: Any = "tcp", **more: Any) -> Measured:
    (run,) = run_study_cells(place, path, transports=[transport], **{"size": "5MB", **more})
    return run


def in_force(run: Measured) -> DisciplineInForce:
    (found,) = (
        each
        for each in run.records
        if isinstance(each, DisciplineInForce) and each.direction == "down"
    )
    return found


@pytest.fixture(scope="module")
def fifo(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return run_one(tmp_path_factory.mktemp("fifo"), DEEP)


@pytest.mark.parametrize("kind", AQMS)
def test_a_discipline_is_in_force_and_keeps_the_queue_short(
    kind: str, fifo: Measured, tmp_path: Path
) -> None:
    run = run_one(tmp_path, DEEP | {"discipline": kind})
    found = in_force(run)
    assert found.kind == kind
    room = found.limit_packets or (found.limit_bytes or 0) // 1514
    assert room >= 400
    assert found.dropped_packets > 0, "it dropped nothing although the sender would fill it"
    assert found.marked_packets == 0, "no host offers ECN"
    assert run.metrics["queue_delay_s_p95"] < 0.5 * fifo.metrics["queue_delay_s_p95"]
    assert run.metrics["goodput_bit_s"] > 0.8 * fifo.metrics["goodput_bit_s"]
    down = run.calibration("down")
    assert down.offered_packets == down.delivered_packets + down.dropped_packets
    assert down.dropped_packets == found.dropped_packets


@pytest.mark.parametrize("transport", ["tcp", "quic"])
@pytest.mark.parametrize("kind", AQMS)
def test_what_understands_ecn_is_marked_rather_than_dropped(
    kind: str, transport: str, tmp_path: Path
) -> None:
    run = run_one(
        tmp_path, DEEP | {"discipline": kind}, {"kind": transport, "ecn": True, "label": "ecn"}
    )
    assert in_force(run).ecn
    assert in_force(run).marked_packets > 0
    assert run.metrics["marked_packets"] == in_force(run).marked_packets


def test_quic_without_ecn_is_not_marked_by_what_always_marks(tmp_path: Path) -> None:
    run = run_one(tmp_path, DEEP | {"discipline": "cake"}, "quic")
    assert in_force(run).marked_packets == 0


@pytest.mark.parametrize(
    ("transport", "path"),
    [
        ("quic", {"rtt": "10ms", "rate": "500kbit"}),
        ("tcp", {"rtt": "10ms", "rate": "500kbit", "queue": "1p"}),
        ("tcp", {"rtt": "20ms", "rate": "10mbit", "queue": "10000p"}),
        ("tcp", {"rtt": "40ms", "rate": "50mbit", "queue": "100bdp"}),
        ("tcp", {"rtt": "40ms", "rate": "50mbit", "queue_up": "16bdp"}),
        ("tcp", {"rtt": "10ms", "rate": "10gbit"}),
        ("tcp", {"rtt": "10s", "rate": "10mbit"}),
    ],
)
def test_red_takes_queues_of_any_size(transport: str, path: dict[str, Any], tmp_path: Path) -> None:
    run = run_one(tmp_path, path | {"discipline": "red"}, transport, size="50kB")
    assert in_force(run).kind == "red"


@pytest.mark.parametrize("kind", ["codel", "fq_codel", "fq", "pie", "red", "dualpi2"])
def test_a_discipline_serves_a_bottleneck_that_follows_a_trace(kind: str, tmp_path: Path) -> None:
    """The trace has 1504 bytes every 2 ms: 6.016 Mbit/s."""
    (tmp_path / "trace").write_text("".join(f"{at}\n" for at in range(2, 1001, 2)))
    path = {"rtt": "20ms", "trace": {"down": "trace", "up": "trace"}, "discipline": kind}
    study = {"title": "t", "replicates": 1, "path": path, "transport": "tcp"}
    study |= {"workload": {"size": "2MB"}}
    (run,) = run_study(plan_study(study_from_mapping(study, folder=tmp_path)), tmp_path)
    assert run.status.outcome == "ok", run.status.reason
    assert in_force(run).kind == kind
    assert 0.8 * 6.016e6 < run.metrics["goodput_bit_s"] < 6.016e6


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_the_smallest_buffer_is_one_that_the_kernel_takes(transport: str, tmp_path: Path) -> None:
    (run,) = run_study_cells(
        tmp_path,
        {"rtt": "1ms"},
        transports=[{"kind": transport, "buffer": "4608B", "label": "small"}],
        size="20kB",
    )
    assert run.planned.job.only.transport.buffer_bytes == 4608


def test_fq_drops_when_it_is_full(tmp_path: Path) -> None:
    run = run_one(tmp_path, DEEP | {"discipline": "fq", "queue": "20p"})
    found = in_force(run)
    assert (found.kind, found.limit_packets, found.ecn) == ("fq", 20, False)
    assert found.dropped_packets > 0


def test_loss_and_rate_are_those_asked_for_behind_a_discipline(tmp_path: Path) -> None:
    run = run_one(tmp_path, DEEP | {"discipline": "fq_codel", "loss": "2%"}, size="10MB")
    down = run.calibration("down")
    assert down.lost_packets is not None
    assert down.lost_packets / down.offered_packets == pytest.approx(0.02, rel=0.25)
    assert down.dropped_packets == down.lost_packets + in_force(run).dropped_packets
    probes_s = 2 * (14 + 20 + 8 + 4) * 8 / 10e6
    assert run.metrics["path_min_rtt_s"] == pytest.approx(0.04 + probes_s, abs=2e-6)


@pytest.mark.parametrize("kind", ["fifo", "pie"])
def test_a_queue_that_fills_is_seen_by_the_router_and_by_the_sender(
    kind: str, tmp_path: Path
) -> None:
    """First in, first out, 100 packets are 121 ms at 10 Mbit/s, beyond the idle path's 40."""
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "sampling": "10ms",
            "path": DEEP | {"queue": "100p", "discipline": kind},
            "transport": "tcp",
            "workload": {"size": "5MB"},
        }
    )
    (run,) = run_study(plan_study(study), tmp_path)
    assert run.status.outcome == "ok", run.status.reason
    records = run.records
    queue = next(each for each in records if isinstance(each, QueueSamples))
    assert len(queue.at_ns) > 400
    rtts = rtts_under_load(run.planned.job, records)
    sender = next(each for each in records if isinstance(each, ConnectionSamples))
    assert max(rtts.delay_ns) == pytest.approx(max(sender.rtt_ns), rel=0.03)
    if kind == "fifo":
        assert max(rtts.delay_ns) / 1e6 == pytest.approx(161.1, rel=0.01)
    assert run.metrics["limited_by_link_ratio"] > 0.9


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"rtt": "0ms"},
        {"discipline": "codel"},
        {"reorder": "1%"},
        {"duplicate": "10%"},
        {"aggregate": "1ms"},
        {"jitter": "100us"},
        {"timeline": [{"at": "60s", "change": "rate", "rate": "5mbit"}]},
    ],
    ids=["fifo", "near", "codel", "reorder", "duplicate", "aggregate", "jitter", "timeline"],
)
@pytest.mark.parametrize("payload", ["1472B", "100B"])
def test_a_burst_finds_the_room_of_the_queue_whatever_the_path_is(
    more: dict[str, Any], payload: str, tmp_path: Path
) -> None:
    """149 packets come within the time of one. One is being transmitted, and 20 wait."""
    rate = {"1472B": "10mbit", "100B": "500kbit"}[payload]
    path = {"rtt": "200ms", "rate": rate, "queue": "20p"} | more
    tables = {
        "title": "guest test", "replicates": 1, "transport": {"kind": "udp"}, "path": path,
        "workload": {"kind": "flow", "payload": payload, "interval": "1us", "count": 149},
    }  # fmt: skip
    (found,) = run_study(plan_study(study_from_mapping(tables)), tmp_path, jobs=1)
    assert found.calibration("down").delivered_packets == 21
