"""Samples of connections in real guests: what stacks say of themselves, what limits them, qlog."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study_cells
from netwarp.figures.over_time.run_timeline import run_timeline
from netwarp.wire import ConnectionSamples

PATH: dict[str, Any] = {"rtt": "50ms", "rate": "20mbit", "queue": "1bdp"}
ALL = ["tcp", "tls", "sctp", "quic"]


def connections(run: Measured) -> list[ConnectionSamples]:
    return [each for each in run.records if isinstance(each, ConnectionSamples)]


@pytest.mark.parametrize("direction", ["down", "up"])
def test_the_senders_connection_is_sampled_whatever_the_transport(
    tmp_path: Path, direction: str
) -> None:
    runs = run_study_cells(tmp_path, PATH, transports=ALL, size="10MB", direction=direction)
    for run in runs:
        (found,) = connections(run)
        assert found.side == ("server" if direction == "down" else "client"), run.transport
        # Nothing to compare the window with but the path: 125 kB under way and as much queued.
        assert 100_000 < max(found.cwnd_bytes) < 1_000_000, run.transport
        assert 50e6 <= max(found.rtt_ns) <= 140e6, run.transport
        assert sum(run.metrics[f"limited_by_{limit}_ratio"] for limit in ("link", "cwnd")) > 0.8
        if found.acked_bytes:
            assert 10e6 * 0.5 < found.acked_bytes[-1] < 10e6 * 1.1, run.transport
        assert bool(found.delivery_rate_bit_s) == (run.transport in ("tcp", "tls")), run.transport
        if found.delivery_rate_bit_s:
            rate_bit_s = run.metrics["delivery_rate_bit_s_second_half"]
            assert 0.85 < rate_bit_s / (20e6 * 1448 / 1500) < 1.01, "below what the link has"
        titles = {each.title.partition(" (")[0] for each in _timeline(run).sampled}
        assert {"Congestion window", "Smoothed RTT at the sender"} <= titles, run.transport


def test_what_limits_a_sender_is_found(tmp_path: Path) -> None:
    small = [{"kind": kind, "buffer": "32kB", "label": f"{kind}-small"} for kind in ("tcp", "quic")]
    sctp = {"kind": "sctp", "buffer": "64kB", "label": "sctp-small"}
    for run in run_study_cells(tmp_path, PATH, transports=[*small, sctp], size="4MB"):
        windows = run.metrics["limited_by_rwnd_ratio"] + run.metrics["limited_by_sndbuf_ratio"]
        assert windows > (0.3 if run.transport == "sctp-small" else 0.8), run.transport


def test_who_has_little_to_say_is_limited_by_its_application(tmp_path: Path) -> None:
    flow: dict[str, Any] = {"kind": "flow", "interval": "5ms", "count": 2000}
    datagrams = {"kind": "quic", "datagrams": True, "label": "datagrams"}
    for run in run_study_cells(tmp_path, PATH, transports=[*ALL, datagrams], **flow):
        assert run.metrics["limited_by_application_ratio"] > 0.9, run.transport


def test_connections_of_one_socket_are_told_apart(tmp_path: Path) -> None:
    (run,) = run_study_cells(tmp_path, PATH, transports=["quic"], size="1MB", transfers=2)
    first, second = connections(run)
    assert first.server_port == second.server_port
    assert first.at_ns[-1] <= second.at_ns[0]


def test_a_connection_of_quic_writes_what_it_did(tmp_path: Path) -> None:
    lossy = PATH | {"loss_down": "2%"}
    logged = {"kind": "quic", "qlog": True, "label": "logged"}
    run, plain = run_study_cells(tmp_path, lossy, transports=[logged, "quic"], size="1MB")
    # Its start is one reading of the clock more, which moves the clock.
    for metric in ("completion_time_s", "connect_time_s"):
        assert run.metrics[metric] == pytest.approx(plain.metrics[metric], abs=5e-6)
    assert run.metrics["retransmitted_packets"] == plain.metrics["retransmitted_packets"]
    for side in ("server", "client"):
        text = (run.path / "qlog" / f"{side}-0.sqlog").read_text()
        head, *events = [json.loads(line) for line in text.split("\x1e") if line.strip()]
        assert head["qlog_format"] == "JSON-SEQ"
        names = {event["name"] for event in events}
        assert {"transport:packet_sent", "transport:packet_received"} <= names
        assert "recovery:metrics_updated" in names
        if side == "server":
            lost = [event for event in events if event["name"] == "recovery:packet_lost"]
            assert len(lost) == run.metrics["retransmitted_packets"] > 0
    assert not (plain.path / "qlog").exists()


def _timeline(run: Measured) -> Any:
    return run_timeline(run.planned.job, run.records)
