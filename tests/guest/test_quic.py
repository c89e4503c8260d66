"""QUIC where quinn alone would end or hang: large windows, early data, words lost at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import run_study_cells
from netwarp.wire import Transfer


@pytest.mark.parametrize(
    ("size", "path"),
    [
        ("14MB", {"rtt": "130ms", "rate": "100mbit"}),
        ("14MB", {"rtt": "15ms", "rate": "1gbit"}),
        ("100MB", {"rtt": "100ms", "rate": "100mbit", "queue": "20000p"}),
    ],
)
def test_a_path_may_hold_more_than_a_thousand_packets(
    size: str, path: dict[str, str], tmp_path: Path
) -> None:
    """Slow start that overshoots such a path leaves a receiver with more than 1024 gaps."""
    (run,) = run_study_cells(tmp_path, path, transports=["quic"], size=size)
    assert run.metrics["path_dropped_down"] > 1024


@pytest.mark.parametrize("buffer_bytes", [32_000, 64_000, 100_000])
def test_a_small_buffer_is_filled_once_a_round_trip(buffer_bytes: int, tmp_path: Path) -> None:
    """The receiver opens its window by eighths, and no packet waits beyond the round trip."""
    level = {"kind": "quic", "buffer": f"{buffer_bytes}B", "label": "quic"}
    (run,) = run_study_cells(tmp_path, {"rtt": "50ms"}, transports=[level], size="5MB")
    share = run.metrics["transfer_goodput_bit_s"] / (8 * buffer_bytes / 0.050)
    assert 7 / 9 < share < 1


@pytest.mark.parametrize("seed", [1, 2])
def test_early_data_that_fills_the_window_does_not_hold_the_handshake_back(
    seed: int, tmp_path: Path
) -> None:
    """What goes up is larger than the first window, and the server's first answers may be lost.

    Then the client's last flight of the handshake finds the window full of early data that the
    server does not acknowledge before it has that flight.
    """
    level = {"kind": "quic", "resume": "0rtt", "label": "quic"}
    path = {"rtt": "100ms", "rate": "50mbit", "loss_up": "5%", "loss_down": "20%"}
    workload: dict[str, Any] = {"size": "30kB", "transfers": 10, "direction": "up"}
    runs = run_study_cells(tmp_path, path, transports=[level], replicates=12, seed=seed, **workload)
    received = [record for run in runs for record in run.records if isinstance(record, Transfer)]
    assert sum(record.side == "server" for record in received) == 12 * 10


@pytest.mark.parametrize(
    ("seed", "workload"),
    [
        *((seed, {"size": "5kB", "transfers": 10}) for seed in (44, 46, 47)),
        (3, {"size": "100kB", "transfers": 2}),
    ],
)
def test_a_close_that_is_lost_fails_no_run(
    seed: int, workload: dict[str, Any], tmp_path: Path
) -> None:
    """A client that has closed and forgotten a connection answers it with a stateless reset."""
    path = {"rtt": "50ms", "rate": "20mbit", "loss_up": "10%", "loss_down": "10%"}
    run_study_cells(tmp_path, path, transports=["quic"], replicates=8, seed=seed, **workload)


def test_a_timer_is_not_late(tmp_path: Path) -> None:
    """The client's first packet is lost, and sent again when the PTO without a sample is over.

    That is 333 ms and four times half of that (RFC 9002, section 6.2.2): 999 ms. A wait of
    `epoll_wait` would end up to a millisecond late (`select_estimate_accuracy`).
    """
    outage = [{"at": "0s", "change": "outage"}, {"at": "0.5s", "change": "restore"}]
    (run,) = run_study_cells(
        tmp_path, {"rtt": "20ms", "timeline": outage}, transports=["quic"], size="1kB"
    )
    assert run.metrics["connect_time_s"] == pytest.approx(0.999 + 0.020, abs=5e-6)
