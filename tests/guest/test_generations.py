"""The TCP of 2008 and today's are different on the wire, and differ in time where they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from guest.lab import Measured, run_study_cells
from guest.tshark import fields

OLD = {"kind": "tcp", "preset": "tcp-2008", "label": "tcp-2008"}
SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE, SACK_BLOCKS = "4", "8", "3", "5"


def option_kinds(run: Measured, only: str) -> set[str]:
    """Kinds of the TCP options of all packets that pass the filter."""
    rows = fields(run.path, "tcp.option_kind", only=only)
    return {kind for (kinds,) in rows for kind in kinds.split(",") if kind}


@pytest.fixture(scope="module")
def generations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    place = tmp_path_factory.mktemp("generations")
    path = {"rtt": "40ms", "loss": "3%", "rate": "20mbit"}
    old, today = run_study_cells(place, path, transports=[OLD, "tcp"], capture=True)
    return {"old": old, "today": today}


def test_the_handshake_offers_what_the_generation_has(generations: dict[str, Measured]) -> None:
    both_syns = "tcp.flags.syn == 1"
    old = option_kinds(generations["old"], both_syns)
    today = option_kinds(generations["today"], both_syns)
    assert not old & {SACK_PERMITTED, TIMESTAMPS}
    assert WINDOW_SCALE in old
    assert today >= {SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE}


def test_only_todays_acknowledgements_are_selective(generations: dict[str, Measured]) -> None:
    acks = "tcp.flags.syn == 0"
    assert SACK_BLOCKS in option_kinds(generations["today"], acks)
    assert not option_kinds(generations["old"], acks) & {SACK_BLOCKS, TIMESTAMPS}


@pytest.mark.parametrize("packets", [2, 3])
def test_the_first_flight_is_the_initial_window(tmp_path: Path, packets: int) -> None:
    """Small windows of RFC 2581 and RFC 3390 hold as the route's attribute: data before any ACK."""
    old = {**OLD, "initial_window": packets}
    (run,) = run_study_cells(
        tmp_path, {"rtt": "200ms"}, transports=[old], size="100kB", capture=True
    )
    data = "tcp.len > 0 && frame.interface_name == server-side-in"
    times_s = [float(time) for (time,) in fields(run.path, "frame.time_relative", only=data)]
    first_flight = [time for time in times_s if time < times_s[0] + 0.1]
    assert len(first_flight) == packets


def test_the_tcp_of_2008_is_slower_under_loss(tmp_path: Path) -> None:
    """Same losses for both. On a short path what counts is how often only a time-out helps:
    SACK tells which of several packets of a window are missing, and a tail loss probe the last.
    """
    path = {"rtt": "1ms", "loss": "3%", "rate": "100mbit"}
    runs = run_study_cells(tmp_path, path, transports=[OLD, "tcp"], replicates=6, size="5MB")
    times_s: dict[int, dict[str, float]] = {}
    for run in runs:
        times_s.setdefault(run.planned.replicate, {})[run.transport] = run.metrics[
            "completion_time_s"
        ]
    ratios = [pair["tcp-2008"] / pair["tcp"] for pair in times_s.values()]
    assert len(ratios) == 6
    assert min(ratios) > 1, ratios
    assert sum(ratios) / len(ratios) > 1.5, ratios


def test_without_window_scaling_the_window_is_64_kilobytes(tmp_path: Path) -> None:
    """At most 65 535 bytes are under way in a round trip (RFC 9293, 3.1), and nearly that many."""
    unscaled = {"kind": "tcp", "window_scaling": False, "label": "unscaled"}
    path = {"rtt": "100ms", "rate": "100mbit", "queue": "10bdp"}
    (run,) = run_study_cells(tmp_path, path, transports=[unscaled], size="5MB")
    throughput_bit_s = 5e6 * 8 / run.metrics["completion_time_s"]
    bound_bit_s = 65_535 * 8 / 0.1
    assert 0.85 * bound_bit_s < throughput_bit_s <= bound_bit_s


def test_mss_counts_tcp_options(tmp_path: Path) -> None:
    """MSS 256 with timestamps is 244 bytes of payload (RFC 9293, 3.7.1); without, all 256."""
    plain = {"kind": "tcp", "mss": 256, "timestamps": False, "label": "plain"}
    stamped = {"kind": "tcp", "mss": 256, "label": "stamped"}
    runs = run_study_cells(
        tmp_path, {"rtt": "20ms"}, transports=[plain, stamped], size="100kB", capture=True
    )
    for run, payload_bytes in zip(runs, (256, 244), strict=True):
        assert run.connection("server").settings.mss_bytes == payload_bytes
        lengths = {int(length) for (length,) in fields(run.path, "tcp.len", only="tcp.len > 0")}
        assert max(lengths) == payload_bytes


@pytest.mark.parametrize("direction", ["down", "up"])
def test_content_is_whole_over_messages_that_overtake(tmp_path: Path, direction: str) -> None:
    """Unordered delivery under loss, and the hash still agrees."""
    unordered = {"kind": "sctp", "unordered": True, "max_message": "1kB", "label": "unordered"}
    path = {"rtt": "20ms", "loss": "5%"}
    (run,) = run_study_cells(
        tmp_path, path, transports=[unordered], size="300kB", direction=direction, capture=True
    )
    assert run.metrics["completion_time_s"] > 0
    flags = fields(run.path, "sctp.data_u_bit", only="sctp.chunk_type == 0")
    assert {bit for (bits,) in flags for bit in bits.split(",")} == {"1"}


def test_without_hystart_slow_start_fills_the_queue(tmp_path: Path) -> None:
    """HyStart ends slow start when the queue begins to grow. Without it the window doubles until
    more is under way than link and queue hold, and packets are lost.
    """
    path = {"rtt": "100ms", "rate": "50mbit", "queue": "1bdp"}
    levels = [
        {"kind": "tcp", "label": "usual"},
        {"kind": "tcp", "label": "on", "hystart": True},
        {"kind": "tcp", "label": "off", "hystart": False},
    ]
    runs = run_study_cells(tmp_path, path, transports=levels, size="10MB")
    usual, on, off = (run.metrics for run in runs)
    assert on == usual
    assert on["retransmitted_packets"] == 0
    assert off["retransmitted_packets"] > 0


def test_the_shortest_time_out_is_what_each_repetition_waits_beyond_the_round_trip(
    tmp_path: Path,
) -> None:
    """The last packets and five of their repetitions are lost: five time-outs, each twice the one
    before (RFC 6298), are 31 times what a time-out exceeds the round-trip time by.
    """
    path = {"rtt": "20ms", "loss_down": "packets 12 13 14 15 16 17"}
    levels = [{"kind": "tcp", "label": "default"}]
    levels += [
        {"kind": "tcp", "label": least, "tcp_rto_min": least} for least in ("200ms", "100ms")
    ]
    runs = run_study_cells(tmp_path, path, transports=levels, size="14kB")
    took_s = {run.transport: run.metrics["completion_time_s"] for run in runs}
    assert took_s["default"] == took_s["200ms"]
    # The probe of the tail before the first time-out, and ticks of 10 ms, which double as well.
    assert 31 * 0.1 <= took_s["200ms"] - took_s["100ms"] < 36 * 0.1, took_s
