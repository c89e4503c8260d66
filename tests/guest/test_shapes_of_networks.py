"""Networks of several routers in one guest: what each link does, and the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import Calibration, Connection, OfWorkload

BULK = {"kind": "bulk", "size": "256kB"}
MBIT_S = 1_000_000


def run(place: Path, **tables: Any) -> Measured:
    study = study_from_mapping(
        {"title": "guest test", "replicates": 1, "transport": {"kind": "tcp"}} | tables
    )
    (found,) = run_study(plan_study(study), place, jobs=1)
    assert found.status.outcome == "ok", found.status.reason
    return found


def dropped(found: Measured) -> dict[tuple[int, str], int]:
    """Return the packets dropped at each link's two ends, by its number."""
    counted = (each for each in found.records if isinstance(each, Calibration))
    return {(each.path, each.direction): each.dropped_packets for each in counted}


def test_a_written_network_does_in_each_direction_what_it_says_and_repeats(tmp_path: Path) -> None:
    """Its clients upload at their own rate, which a router beside each of them keeps; the loss of
    one link is of that link alone.
    """
    tables: dict[str, Any] = {
        "host": [{"name": "client", "count": 2}, {"name": "server"}],
        "router": [{"name": "left"}, {"name": "right"}],
        "link": [
            {"name": "wan", "between": ["left", "right"], "rtt": "40ms", "loss_up": "2%"},
            {"between": ["client", "left"], "rtt": "10ms", "rate_up": "5mbit", "queue_up": "1000p"},
            {"between": ["right", "server"]},
        ],
        "workload": [BULK | {"name": "up", "direction": "up", "from": "client", "to": "server"}],
    }
    first, second = (run(tmp_path / str(again), **tables) for again in range(2))
    assert first.metrics["up.path_min_rtt_s"] == pytest.approx(0.050, abs=0.0005)
    assert 3 * MBIT_S < (first.metrics["up.goodput_bit_s"] or 0) < 5 * MBIT_S
    assert {key for key, packets in dropped(first).items() if packets} == {(0, "up")}
    assert first.records == second.records


def test_one_receiver_of_many_has_what_its_link_carries(tmp_path: Path) -> None:
    """Senders answer at once: their content takes as long as the receiver's link does, and drops
    are at its queue.
    """
    found = run(
        tmp_path,
        path={"rtt": "1ms", "rate": "100mbit", "queue": "32p"},
        topology={"shape": "incast", "senders": 12},
        workload=[BULK | {"name": "flow"}],
    )
    carries_s = 12 * 256_000 * 8 / (100 * MBIT_S)
    metrics = found.metrics
    assert metrics["flow.completion_time_s_max"] > carries_s
    assert metrics["flow.completion_time_s_p50"] <= metrics["flow.completion_time_s_p99"]
    assert {key for key, packets in dropped(found).items() if packets} == {(0, "down")}


def test_255_senders_answer_one_receiver_and_do_so_again(tmp_path: Path) -> None:
    """All are done; what the receiver's link lost was sent again."""
    first, second = (
        run(
            tmp_path / str(again),
            path={"rtt": "200us", "rate": "1gbit", "queue": "256kB"},
            topology={"shape": "incast", "senders": 255},
            workload=[BULK | {"name": "flow"}],
        )
        for again in range(2)
    )
    assert first.records == second.records
    metrics = first.metrics
    assert (
        metrics["flow.retransmitted_packets"] >= metrics["link.receiver.dropped_packets_down"] > 0
    )
    assert metrics["flow.completion_time_s_max"] > 255 * 256_000 * 8 / 1e9


def test_who_crosses_two_bottlenecks_gets_less_than_who_crosses_one(tmp_path: Path) -> None:
    lasting = {"kind": "bulk", "stop": "10s"}
    found = run(
        tmp_path,
        path={"rtt": "20ms", "rate": "10mbit"},
        topology={"shape": "parking-lot", "bottlenecks": 2},
        workload=[
            lasting | {"name": "long", "from": "client", "to": "server"},
            lasting | {"name": "cross", "from": "left", "to": "right"},
        ],
    )
    metrics = found.metrics
    assert (metrics["long.goodput_bit_s"] or 0) < (metrics["cross.goodput_bit_s"] or 0)
    assert metrics["long.share_ratio"] + metrics["cross.share_ratio"] == pytest.approx(1)
    assert metrics["cross.jain_index"] == pytest.approx(1, abs=0.1)


def test_all_links_are_active_when_a_run_of_many_begins(tmp_path: Path) -> None:
    """The kernel activates a hundred devices at once and the others a second later: connections
    over those would be set up after a retransmission of 1 s.
    """
    found = run(
        tmp_path,
        path={"rtt": "1ms", "rate": "1gbit", "queue": "1000p"},
        topology={"shape": "incast", "senders": 63},
        workload=[{"name": "flow", "kind": "bulk", "size": "16kB"}],
    )
    assert found.metrics["flow.connect_time_s"] == pytest.approx(0.001, abs=0.0005)


@pytest.mark.parametrize("version", [4, 6])
def test_packets_pass_more_routers_than_the_kernels_own_hop_limit(
    tmp_path: Path, version: int
) -> None:
    """A hundred links between 101 routers: a hop limit of 64 would end on the way."""
    found = run(
        tmp_path,
        path={"rtt": "1ms", "rate": "100mbit", "ip": version},
        topology={"shape": "chain", "hops": 100},
        workload=[BULK | {"name": "flow", "size": "1kB"}],
    )
    assert found.metrics["flow.path_min_rtt_s"] == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("version", [4, 6])
def test_a_router_that_discards_what_the_next_link_does_not_take_adds_up(
    tmp_path: Path, version: int
) -> None:
    """SCTP fills its own link first, and learns from the router what the next one carries."""
    found = run(
        tmp_path,
        host=[{"name": "client"}, {"name": "server"}],
        router=[{"name": "middle"}],
        link=[
            {"between": ["client", "middle"], "mtu": 1280, "rtt": "2ms", "ip": version},
            {"between": ["middle", "server"], "mtu": 1500, "rtt": "2ms"},
        ],
        workload=[BULK | {"name": "flow", "size": "20kB", "from": "client", "to": "server"}],
        transport={"kind": "sctp"},
    )
    assert found.metrics["flow.retransmitted_packets"] > 0, "the first packets were too large"


def test_clients_begin_in_the_order_of_their_start_times(tmp_path: Path) -> None:
    """Getting a hundred servers ready takes longer than the start times are apart."""
    found = run(
        tmp_path,
        path={"rtt": "1ms", "rate": "1gbit", "queue": "1MB"},
        topology={"shape": "incast", "senders": 100},
        workload=[BULK | {"name": "flow", "size": "1kB", "start_jitter": "100us"}],
    )
    begun = [
        (record.line.start_ns, record.workload)
        for record in found.records
        if isinstance(record, OfWorkload)
        and isinstance(record.line, Connection)
        and record.line.side == "client"
    ]
    start_ns = {each.name: each.start_ns for each in found.planned.job.workloads}
    assert len(begun) == 100
    in_order = [start_ns[name] for _, name in sorted(begun)]
    assert in_order == sorted(in_order)
    assert in_order != [start_ns[f"flow-{number}"] for number in range(1, 101)]
