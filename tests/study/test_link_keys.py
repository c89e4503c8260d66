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
        ({"aggregate": "11s"}, "no link collects packets for so long"),
    ],
)
def test_what_cannot_be_is_refused(path: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        job_of("tcp", path=RATED | path)


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
