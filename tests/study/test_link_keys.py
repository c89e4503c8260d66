"""Aggregation, the low-latency queue and accurate ECN: what the job says, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from support import job_of

RATED = {"rtt": "20ms", "rate": "10mbit"}


def test_what_waits_for_others_is_in_the_idle_round_trip() -> None:
    (path,) = job_of("tcp", path=RATED | {"aggregate_down": "4ms"}).paths
    assert path.idle_rtt_ns == 24_000_000
    (path,) = job_of("tcp", path=RATED).paths
    assert "aggregate_ns" not in path.down.to_json()


@pytest.mark.parametrize("queue", ["ect", "ect1", None])
def test_dualpi2_has_the_queue_that_was_asked_for(queue: str | None) -> None:
    asked = {"discipline": "dualpi2"} | ({} if queue is None else {"l4s_queue": queue})
    (path,) = job_of("tcp", path=RATED | asked).paths
    assert path.down.discipline is not None
    assert path.down.discipline.any_ect == (queue == "ect")
    assert ("any_ect" in path.down.discipline.to_json()) == (queue == "ect")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ({"l4s_queue": "ect"}, "no effect without discipline"),
        ({"discipline": "codel", "l4s_queue": "ect"}, "only dualpi2 has a low-latency queue"),
        ({"discipline": "dualpi2", "l4s_queue": "ect0"}, "no packets of a low-latency queue"),
        ({"aggregate": "1ms", "duplicate": "1%"}, "no second netem beside one that duplicates"),
        ({"discipline": "codel", "ack_filter": "dropped"}, "only cake filters acknowledgements"),
        ({"link_loss": "10%", "jitter": "1ms", "rtt": "9ms"}, "netem draws one time for each"),
        ({"link_repair": "8ms"}, "no effect without link_loss"),
        ({"policer": "30kB", "queue": "9p"}, "and queue has no place"),
        ({"policer": "30kB", "discipline": "codel"}, "and discipline has no place"),
        ({"policer": "30kB", "reorder": "1%", "rtt": "9ms"}, "and reorder has no place"),
        ({"aggregate": "11s"}, "no link collects packets for so long"),
    ],
)
def test_what_cannot_be_is_refused(path: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        job_of("tcp", path=RATED | path)


def test_a_repair_takes_8_ms_unless_the_study_says_otherwise() -> None:
    (path,) = job_of("tcp", path={"link_loss_up": "10%"}).paths
    assert (path.up.link_loss_ratio, path.up.link_repair_ns) == (0.1, 8_000_000)
    assert path.up.in_order
    assert not {"link_loss_ratio", "link_repair_ns", "in_order"} & set(path.down.to_json())
    (rated,) = job_of("tcp", path=RATED | {"link_loss": "10%", "link_repair": "1ms"}).paths
    assert rated.down.in_order
    (plain,) = job_of("tcp", path=RATED).paths
    assert rated.down.queue_packets == plain.down.queue_packets


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ({"rate": "201bit", "policer": "30kB"}, True),
        ({"rate": "202bit", "policer": "30kB"}, False),
        ({"rate": "201bit", "discipline": "codel"}, True),
        ({"rate": "201bit"}, False),
        ({"rate": "1201bit", "mtu": 9000, "policer": "30kB"}, True),
        ({"rate": "1mbit", "timeline": [{"at": "1s", "change": "rate", "rate": "201bit"}]}, True),
    ],
)
def test_no_shaper_is_slower_than_a_packet_a_minute(path: dict[str, Any], refused: bool) -> None:
    """Htb forgets what a packet owes after 60 s, and would let the next one pass too early."""
    if not refused:
        job_of("tcp", path=path | {"rtt": "20ms"})
        return
    with pytest.raises(StudyError, match="keeps no rate below"):
        job_of("tcp", path=path | {"rtt": "20ms"})


def test_a_policer_is_a_bucket_without_a_queue() -> None:
    (path,) = job_of("tcp", path=RATED | {"policer": "30kB"}).paths
    assert (path.down.policer_bytes, path.down.shaper_queue_bytes) == (30_000, 1514)
    with pytest.raises(StudyError, match="no effect without rate"):
        job_of("tcp", path={"rtt": "9ms", "policer": "30kB"})
    with pytest.raises(StudyError, match="give rate_up"):
        job_of("tcp", path={"rate_down": "9mbit", "policer": "30kB"})


def test_a_burst_has_packets_and_is_of_tcp() -> None:
    transport = job_of("tls", path=RATED, transport={"tso_packets": 1}).only.transport
    assert transport.tcp.tso_packets == 1
    assert "tso_packets" not in job_of("tcp", path=RATED).only.transport.tcp.to_json()
    for packets in (0, 65536):
        with pytest.raises(StudyError, match="from 1 to 65535 packets"):
            job_of("tcp", path=RATED, transport={"tso_packets": packets})
    with pytest.raises(StudyError, match="quic has no such option"):
        job_of("quic", path=RATED, transport={"tso_packets": 1})


def test_hystart_is_of_the_kernels_cubic() -> None:
    def asked(kind: str, **transport: object) -> bool | None:
        level = {"hystart": False} | transport
        return job_of(kind, path=RATED, transport=level).only.transport.tcp.hystart

    assert asked("tcp") is False
    assert asked("tls", hystart=True) is True
    assert "hystart" not in job_of("tcp", path=RATED).only.transport.tcp.to_json()
    with pytest.raises(StudyError, match="the congestion control is bbr"):
        asked("tcp", congestion="bbr")
    with pytest.raises(StudyError, match="the congestion control is own:cubic"):
        asked("tcp", congestion="own:cubic")
    for kind in ("quic", "sctp"):
        with pytest.raises(StudyError, match=f"{kind} has no such option"):
            asked(kind)


def test_accurate_ecn_needs_ecn() -> None:
    with pytest.raises(StudyError, match="no packet may be marked"):
        job_of("tcp", path=RATED, transport={"accurate_ecn": True})
    transport = {"ecn": True, "accurate_ecn": True}
    assert job_of("tcp", path=RATED, transport=transport).only.transport.tcp.accurate_ecn
    with pytest.raises(StudyError, match="quic has no such option"):
        job_of("quic", path=RATED, transport=transport)
