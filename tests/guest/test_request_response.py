"""Requests and responses in real guests: latencies exact, those of late ones counted whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study_cells

TRANSPORTS = ("udp", "tcp", "tls", "sctp", "quic", "mptcp")
RTT_S = 0.02
AT_ENDS_S = 1e-5
"""What both ends take: no time, but for questions to the clock, of 256 ns each."""


def carried_out(place: Path, path: dict[str, Any], **keys: Any) -> list[Measured]:
    """Carry out requests and responses."""
    asked: dict[str, Any] = {"kind": "rr", "interval": "10ms", "count": 200}
    return run_study_cells(place, path, **asked | keys)


def test_a_response_takes_a_round_trip_over_every_transport(tmp_path: Path) -> None:
    second = {"rtt": "20ms"}
    for place, transports, path in (
        (tmp_path / "one", TRANSPORTS[:-1], {"rtt": "20ms"}),
        (tmp_path / "two", TRANSPORTS[-1:], {"rtt": "20ms", "second": second}),
    ):
        for run in carried_out(place, path, transports=transports):
            metrics = run.metrics
            assert metrics["lost_responses"] == 0, run.transport
            assert metrics["rr_latency_s_p50"] == pytest.approx(RTT_S, abs=AT_ENDS_S), run.transport
            assert metrics["rr_latency_s_p99"] == pytest.approx(RTT_S, abs=AT_ENDS_S), run.transport


def test_sizes_take_their_time_on_the_path(tmp_path: Path) -> None:
    """A request of 1000 bytes and a response of 1400, each frame with 42 bytes of headers."""
    path = {"rtt": "20ms", "rate": "10mbit", "mtu": 1500}
    keys = {"request": "1000B", "response": "1400B", "interval": "50ms"}
    (run,) = carried_out(tmp_path, path, transports=["udp"], **keys)
    expected_s = RTT_S + 8 * (1000 + 42 + 1400 + 42) / 10e6
    assert run.metrics["rr_latency_s_p50"] == pytest.approx(expected_s, abs=AT_ENDS_S)
    assert run.metrics["rr_latency_s_max"] == pytest.approx(expected_s, abs=AT_ENDS_S)


def test_requests_that_an_outage_holds_up_count_their_waiting(tmp_path: Path) -> None:
    """A hundred requests are due in a second without a link: not one of them is left out."""
    entries = [{"at": "500ms", "change": "outage"}, {"at": "1500ms", "change": "restore"}]
    path = {"rtt": "20ms", "timeline": entries}
    (run,) = carried_out(tmp_path, path, transports=["tcp"])
    metrics = run.metrics
    assert metrics["lost_responses"] == 0
    assert metrics["rr_latency_s_max"] > 1.0
    # Half of 200 requests are due while nothing travels, 10 ms apart: a quarter wait half of it.
    assert metrics["rr_latency_s_p95"] > 0.8
    assert metrics["rr_latency_s_mean"] > RTT_S + 0.5 * 0.5


def test_datagrams_that_are_lost_are_counted(tmp_path: Path) -> None:
    path = {"rtt": "20ms", "loss_down": "10%", "loss_up": "10%"}
    (run,) = carried_out(tmp_path, path, transports=["udp"], count=1000, interval="1ms")
    lost = run.calibration("up").dropped_packets + run.calibration("down").dropped_packets
    assert run.metrics["lost_responses"] == lost > 100
    assert run.metrics["rr_latency_s_max"] == pytest.approx(RTT_S, abs=AT_ENDS_S)


def test_requests_are_the_same_every_time(tmp_path: Path) -> None:
    path = {"rtt": "20ms", "loss": "3%"}
    keys: dict[str, Any] = {"arrivals": "poisson", "transports": ["udp", "tcp", "quic"]}
    once, again = (carried_out(tmp_path / name, path, **keys) for name in ("one", "two"))
    for one, two in zip(once, again, strict=True):
        assert [*one.records] == [*two.records], one.transport
