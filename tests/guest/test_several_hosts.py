"""Several hosts in one guest: each pair at its distance, every link counted, the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import Calibration


def run(place: Path, *workloads: dict[str, Any], **tables: Any) -> Measured:
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": {"rate": "20mbit", "queue": "1bdp", "loss": "0.1%"},
            "topology": {"shape": "dumbbell", "rtts": ["20ms", "160ms"]},
            "workload": [*workloads],
        }
        | tables
    )
    (found,) = run_study(plan_study(study), place, jobs=1)
    assert found.status.outcome == "ok", found.status.reason
    return found


def bulk(name: str, transport: str = "tcp", **keys: Any) -> dict[str, Any]:
    return {"name": name, "kind": "bulk", "transport": transport, "size": "1MB", **keys}


def test_pairs_have_their_distance_links_add_up_and_records_repeat(tmp_path: Path) -> None:
    ping = {"name": "ping", "kind": "rr", "transport": "udp", "interval": "20ms", "stop": "2s"}
    across = ping | {"from": "client1", "to": "server2"}
    workloads = (bulk("near"), bulk("far", "quic", direction="up"), across)
    first, second = (run(tmp_path / str(again), *workloads) for again in range(2))
    metrics = first.metrics
    for name, rtt_s in (("near", 0.020), ("far", 0.160), ("ping", 0.090)):
        assert metrics[f"{name}.path_min_rtt_s"] == pytest.approx(rtt_s, abs=0.0005), name
    assert metrics["near.connect_time_s"] == pytest.approx(0.020, abs=0.002)
    links = [each for each in first.records if isinstance(each, Calibration)]
    assert len(links) == 10
    offered = {(each.path, each.direction): each.offered_packets for each in links}
    assert offered[0, "down"] == offered[3, "down"] + offered[4, "down"], "what servers sent"
    assert offered[0, "up"] == offered[1, "up"] + offered[2, "up"], "what clients sent"
    assert first.records == second.records


def test_a_queue_for_each_flow_evens_out_what_distance_takes(tmp_path: Path) -> None:
    """Over `fifo` the farther of two flows has the smaller share. `fq` serves them in turn, but has
    one room for both: what arrives when that is full is lost, whose ever it is.
    """
    both = [
        {"name": name, "kind": "bulk", "stop": "60s", "start_jitter": "100ms"}
        for name in ("near", "far")
    ]
    shares = {}
    for discipline in ("fifo", "fq"):
        found = run(
            tmp_path / discipline,
            *both,
            path={"rate": "20mbit", "queue": "4bdp", "discipline": discipline},
            transport={"kind": "tcp", "congestion": "reno"},
            topology={"shape": "dumbbell", "rtts": ["20ms", "80ms"]},
        )
        shares[discipline] = found.metrics["far.share_ratio"]
    assert 2 * shares["fifo"] < shares["fq"] < 0.52


def test_flows_that_both_have_packets_at_a_fair_queue_have_the_same_share(tmp_path: Path) -> None:
    """Each at its distance, with room that neither needs; the far one's slow start is before the
    second half.
    """
    found = run(
        tmp_path,
        *({"name": name, "kind": "bulk", "stop": "30s"} for name in ("near", "far")),
        path={"rate": "20mbit", "queue": "4bdp", "discipline": "fq"},
        transport={"kind": "tcp", "congestion": "cubic"},
        topology={"shape": "dumbbell", "rtts": ["20ms", "160ms"]},
    )
    assert found.metrics["far.share_ratio"] < found.metrics["far.share_ratio_second_half"]
    assert found.metrics["far.share_ratio_second_half"] == pytest.approx(0.5, abs=0.02)


def test_a_router_does_not_miss_packets_that_it_cannot_read(tmp_path: Path) -> None:
    """One bit of each packet up is flipped on its way to the second router: of some in the Ethernet
    header, so that they are no packets to it.
    """
    ping = {"name": "ping", "kind": "rr", "transport": "udp", "interval": "1ms", "count": 500}
    path = {"rate": "10mbit", "corrupt_up": "100%"}
    found = run(tmp_path, ping | {"request": "24B", "response": "24B"}, path=path)
    up = {
        each.path: each
        for each in found.records
        if isinstance(each, Calibration) and each.direction == "up"
    }
    bottleneck, to_server = up[0], up[3]
    assert bottleneck.delivered_packets == 500
    # The headers of Ethernet and IP are 34 of 66 bytes, the source's hardware address 6 of them.
    assert 150 < to_server.offered_packets < 400


def test_packets_lost_by_number_are_among_those_of_the_routers(tmp_path: Path) -> None:
    ping = {"name": "ping", "kind": "rr", "transport": "udp", "interval": "10ms", "count": 100}
    found = run(tmp_path, ping, path={"rate": "10mbit", "loss": "every 50", "loss_up": "every 40"})
    lost = {
        each.direction: each.lost_packets
        for each in found.records
        if isinstance(each, Calibration) and each.path == 0
    }
    assert lost == {"up": 2, "down": 1}


@pytest.mark.parametrize("transport", ["udp", "tcp", "sctp", "quic"])
def test_paced_messages_have_the_delay_of_the_links_between_their_hosts(
    tmp_path: Path, transport: str
) -> None:
    """10 ms of the near pair, 80 ms of the far one, and less than a tenth at the rate."""
    paced = {"payload": "100B", "interval": "100ms", "duration": "2s"}
    flow = {"kind": "flow", "transport": transport} | paced
    near = flow | {"name": "near"}
    far = flow | {"name": "far", "direction": "up"}
    found = run(tmp_path, near, far, path={"rate": "20mbit", "queue": "1bdp"})
    assert found.metrics["near.message_delay_s_p50"] == pytest.approx(0.010, abs=0.0005)
    assert found.metrics["far.message_delay_s_p50"] == pytest.approx(0.080, abs=0.0005)
    assert found.metrics["near.message_loss_ratio"] == 0


def test_pages_and_films_go_between_hosts_of_a_network(tmp_path: Path) -> None:
    """The farther pair loads the page later, and its film begins later."""
    page = {"kind": "page", "page": "web-30", "http": "2", "transport": "tls"}
    film = {"kind": "stream", "transport": "tcp", "watch": "8s"}
    found = {
        kind: run(
            tmp_path / kind,
            each | {"name": "near"},
            each | {"name": "far"},
            path={"rate": "50mbit", "queue": "1bdp"},
        ).metrics
        for kind, each in (("page", page), ("film", film))
    }
    for kind, metric in (("page", "page_load_time_s"), ("film", "startup_delay_s")):
        near, far = (found[kind][f"{name}.{metric}"] for name in ("near", "far"))
        assert 0.04 < near < far, kind
