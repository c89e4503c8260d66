"""Flows in real guests: paced to the microsecond, delays exact, losses those of the path."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study_cells
from guest.tshark import fields
from netwarp.wire import End, FlowSent, FlowStats

TRANSPORTS = ("udp", "tcp", "tls", "sctp", "quic")
PACING_ERROR_NS = 1_000
"""Of the worst datagram, while its receiver is at work on the same clock: each of its readings
moves the clock by 256 ns."""
RATE_BIT_S = 100e6
SERIALISATION_S = (14 + 28 + 200) * 8 / RATE_BIT_S


def carried_out(place: Path, path: dict[str, Any], **keys: Any) -> list[Measured]:
    """Carry out a flow."""
    flow: dict[str, Any] = {"kind": "flow", "payload": "200B", "interval": "1ms", "count": 500}
    return run_study_cells(place, path, **flow | keys)


def stats(run: Measured, unit: str) -> FlowStats:
    (found,) = (each for each in run.records if isinstance(each, FlowStats) and each.unit == unit)
    return found


@pytest.mark.parametrize("direction", ["down", "up"])
def test_one_way_delay_is_exact_on_an_idle_path(tmp_path: Path, direction: str) -> None:
    path = {"delay_down": "7ms", "delay_up": "3ms", "rate": "100mbit"}
    expected_s = {"down": 0.007, "up": 0.003}[direction] + SERIALISATION_S
    for run in carried_out(tmp_path, path, transports=TRANSPORTS, direction=direction):
        metrics = run.metrics
        assert metrics["lost_messages"] == 0, run.transport
        # Others have larger headers than UDP, and connections of their own to tell of.
        # Small messages pass a shaper, which takes a microsecond more than netem's rate.
        tolerance_s = 2e-6 if run.transport == "udp" else 5e-6
        assert metrics["message_delay_s_p50"] == pytest.approx(expected_s, abs=tolerance_s)
        if run.transport == "udp":
            assert metrics["delay_s_max"] == pytest.approx(expected_s, abs=tolerance_s)
            assert metrics["delay_mean_s"] == pytest.approx(expected_s, abs=tolerance_s)
        # A sample of a connection may be due at the same moment, and be taken first.
        assert metrics["lateness_s_max"] <= (1e-6 if run.transport == "udp" else 2e-6), (
            run.transport
        )


ALONE: dict[str, dict[str, Any]] = {
    "datagrams": {"kind": "quic", "datagrams": True},
    "unordered": {"kind": "sctp", "unordered": True},
    "unrepeated": {"kind": "sctp", "unordered": True, "max_retransmissions": 0},
    "in-order": {"kind": "sctp", "max_retransmissions": 0},
    "in-time": {"kind": "sctp", "unordered": True, "message_lifetime": "300ms"},
}
"""Messages that travel each by itself."""


def alone(*labels: str) -> list[dict[str, Any]]:
    return [ALONE[label] | {"label": label} for label in labels]


@pytest.mark.parametrize("direction", ["down", "up"])
def test_messages_that_travel_alone_arrive_at_once_on_an_idle_path(
    tmp_path: Path, direction: str
) -> None:
    path = {"delay_down": "7ms", "delay_up": "3ms", "rate": "100mbit"}
    expected_s = {"down": 0.007, "up": 0.003}[direction] + SERIALISATION_S
    for run in carried_out(tmp_path, path, transports=alone(*ALONE), direction=direction):
        metrics = run.metrics
        assert metrics["lost_messages"] == 0, run.transport
        assert metrics["message_delay_s_p50"] == pytest.approx(expected_s, abs=5e-6), run.transport
        assert metrics["lateness_s_max"] <= 2e-6, run.transport


def test_the_largest_datagram_of_quic_is_carried(tmp_path: Path) -> None:
    (run,) = carried_out(
        tmp_path, {"rtt": "20ms"}, transports=alone("datagrams"), payload="1434B", count=50
    )
    assert stats(run, "message").received == 50
    assert stats(run, "message").received_bytes == 50 * 1434


def test_messages_that_are_lost_are_given_up_as_asked(tmp_path: Path) -> None:
    """Down the path packets are lost, up none: who waits for a repetition waits a round trip. So
    few messages are under way that no window holds them back, and each has a packet of its own.
    """
    path = {"rtt": "40ms", "loss_down": "5%"}
    runs = carried_out(
        tmp_path, path, transports=["quic", "sctp", *alone(*ALONE)], count=2000, interval="20ms"
    )
    by_label = {run.transport: run for run in runs}
    for label, run in by_label.items():
        metrics, lost_packets = run.metrics, run.calibration("down").dropped_packets
        if label in ("quic", "sctp", "unordered"):
            assert metrics["lost_messages"] == 0, label
        else:
            assert 0 < metrics["lost_messages"] <= lost_packets, label
        if label in ("quic", "sctp", "in-order"):
            assert metrics["reordered_messages"] == 0, label
    repeated = [by_label[label].metrics for label in ("quic", "unordered", "in-time")]
    assert all(metrics["message_delay_s_max"] > 0.06 for metrics in repeated)
    never = [by_label[label].metrics for label in ("datagrams", "unrepeated")]
    assert all(metrics["message_delay_s_max"] < 0.021 for metrics in never)
    # A repetition that is sent in the last moment arrives 20 ms later; a tick has 10 ms.
    assert by_label["in-time"].metrics["message_delay_s_max"] <= 0.3 + 0.01 + 0.021
    # Nearly all that is repeated once or twice comes in time.
    given_up = {label: run.metrics["lost_messages"] for label, run in by_label.items()}
    assert given_up["in-time"] < given_up["unrepeated"] / 2
    assert given_up["datagrams"] == pytest.approx(2000 * 0.05, rel=0.35)


def test_datagrams_are_held_back_by_the_congestion_window(tmp_path: Path) -> None:
    """Twice what the path carries: the sender waits for its buffer, and little is lost."""
    path = {"rtt": "20ms", "rate": "5mbit", "queue": "1bdp"}
    (datagrams,) = alone("datagrams")
    (run,) = carried_out(
        tmp_path,
        path,
        transports=[datagrams | {"buffer": "64kB"}],
        payload="1250B",
        interval="1ms",
        count=4000,
    )
    metrics = run.metrics
    assert metrics["lateness_s_max"] > 1
    assert metrics["message_loss_ratio"] < 0.05
    assert metrics["message_throughput_bit_s"] == pytest.approx(4.7e6, rel=0.05)


def test_datagrams_leave_when_they_are_due(tmp_path: Path) -> None:
    """Held against the capture, whose times are the router's and not the sender's word."""
    path = {"delay": "2us", "rate": "1gbit"}
    keys = {"payload": "1472B", "interval": "2us", "count": 2000, "direction": "up"}
    (run,) = carried_out(tmp_path, path, transports=["udp"], capture=True, **keys)
    only = 'frame.interface_name == "client-side-in"'
    times_ns = [
        round(float(whole) * 1e9) + int((part + "0" * 9)[:9])
        for (time,) in fields(run.path, "frame.time_epoch", only=only)
        for whole, _, part in [time.partition(".")]
    ]
    assert len(times_ns) == 2000
    errors_ns = [at - times_ns[0] - 2_000 * number for number, at in enumerate(times_ns)]
    assert max(map(abs, errors_ns)) <= PACING_ERROR_NS


def test_losses_are_the_paths_and_the_table_has_every_arrival(tmp_path: Path) -> None:
    path = {"rtt": "20ms", "loss_down": "5%", "duplicate_down": "2%", "jitter_down": "2ms"}
    path["jitter_order"] = "free"
    (run,) = carried_out(tmp_path, path, transports=["udp"], packet_table=True, count=2000)
    found, metrics = stats(run, "packet"), run.metrics
    with (run.path / "packets.csv").open() as file:
        rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
    numbers = [row["number"] for row in rows]
    assert len(rows) == found.received + (found.duplicates or 0)
    assert len(set(numbers)) == found.received == 2000 - metrics["lost_packets"]
    first = [row for index, row in enumerate(rows) if row["number"] not in numbers[:index]]
    delays_ns = [row["received_ns"] - row["sent_ns"] for row in first]
    assert sum(delays_ns) == found.delay_sum_ns
    differences = (abs(after - before) for before, after in pairwise(delays_ns))
    assert sum(differences) == found.jitter_sum_ns
    largest, reordered = -1, 0
    for row in first:
        reordered += row["number"] < largest
        largest = max(largest, row["number"])
    assert reordered == found.reordered
    assert reordered > 0
    assert found.duplicates


def test_packets_of_a_stream_are_watched_on_the_path(tmp_path: Path) -> None:
    path = {"rtt": "20ms", "rate": "20mbit", "loss": "3%"}
    for run in carried_out(tmp_path, path, transports=["tcp", "quic", "sctp"], count=1000):
        found, counted = stats(run, "packet"), run.calibration("down")
        assert found.sent == counted.offered_packets, run.transport
        assert found.received == counted.delivered_packets, run.transport
        assert found.received_bytes == counted.delivered_bytes - 14 * found.received
        assert found.duplicates == 0, f"{run.transport}: a packet was taken for another"
        assert run.metrics["lost_messages"] == 0
        assert run.metrics["lost_packets"] == counted.dropped_packets > 0


def test_a_flow_is_the_same_every_time(tmp_path: Path) -> None:
    path = {"rtt": "20ms", "loss": "3%"}
    keys: dict[str, Any] = {"arrivals": "poisson", "transports": ["udp", "quic"]}
    once, again = (carried_out(tmp_path / name, path, **keys) for name in ("one", "two"))
    for one, two in zip(once, again, strict=True):
        assert [*one.records] == [*two.records], one.transport


def test_first_packets_wait_for_cold_neighbours_and_three_have_room(tmp_path: Path) -> None:
    """ARP takes a round trip of the router's own link: 10 ms, in which ten packets come."""
    path = {"delay": "10ms", "neighbours": "cold"}
    keys: dict[str, Any] = {"direction": "up", "count": 100}
    (run,) = carried_out(tmp_path, path, transports=["udp"], **keys)
    (sent,) = (each for each in run.records if isinstance(each, FlowSent))
    lost = sent.messages - stats(run, "packet").received
    # The client waits for the router's answer, and the router then asks for the server's.
    assert 7 <= lost <= 20
    (warm,) = carried_out(tmp_path / "warm", {"delay": "10ms"}, transports=["udp"], **keys)
    assert warm.metrics["lost_packets"] == 0


def test_a_flow_of_slow_messages_is_over_with_the_last_of_them(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"interval": "1s", "count": 10, "transports": ["udp"]}
    (run,) = carried_out(tmp_path, {"delay": "10ms"}, **keys)
    assert stats(run, "message").received == 10
    (end,) = (each for each in run.records if isinstance(each, End))
    assert 9e9 < end.virtual_ns < 10e9
