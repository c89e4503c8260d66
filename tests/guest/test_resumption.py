"""What a second transfer saves by what the first one left: tickets, early data, Fast Open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study_cells
from netwarp.run_directory import RECORDS_FILE
from netwarp.wire import Connection, Transfer

RTT_S = 0.1
LINE: dict[str, Any] = {"rtt": "100ms", "rate": "50mbit"}


def resuming(
    place: Path, kind: str, resume: str, path: dict[str, Any] = LINE, **workload: Any
) -> Measured:
    level = {"kind": kind, "resume": resume, "label": kind}
    asked = {"size": "50kB", "transfers": 3, **workload}
    (run,) = run_study_cells(place, path, transports=[level], **asked)
    return run


def connections(run: Measured, transfer: int, side: str = "client") -> list[Connection]:
    return [
        record
        for record in run.records
        if isinstance(record, Connection) and (record.side, record.transfer) == (side, transfer)
    ]


def connect_time_s(run: Measured, transfer: int) -> float:
    """From the first dial until the last connection may send."""
    clients = connections(run, transfer)
    first_ns = min(each.start_ns for each in clients)
    return (max(each.connected_ns for each in clients) - first_ns) / 1e9


def first_byte_s(run: Measured, transfer: int) -> float:
    """From the first dial until the client has the first content byte."""
    first_ns = min(each.start_ns for each in connections(run, transfer))
    received = [
        record.first_byte_ns
        for record in run.records
        if isinstance(record, Transfer) and (record.side, record.transfer) == ("client", transfer)
    ]
    return (min(received) - first_ns) / 1e9


def round_trips(time_s: float) -> float:
    """In units of the path's RTT, serialisation of a few packets aside."""
    return round(time_s / RTT_S, 1)


#: (Round trips to connect, to the first content byte) of the first transfer and of later ones.
SAVED: dict[tuple[str, str], tuple[tuple[float, float], tuple[float, float]]] = {
    ("tcp", "0rtt"): ((1, 2), (0, 1)),
    ("tls", "1rtt"): ((2, 3), (2, 3)),
    ("tls", "0rtt"): ((2, 3), (1, 2)),
    ("quic", "1rtt"): ((1, 2), (1, 2)),
    ("quic", "0rtt"): ((1, 2), (0, 1)),
}


@pytest.mark.parametrize(("kind", "resume"), SAVED)
def test_later_transfers_save_a_round_trip_and_say_so(
    kind: str, resume: str, tmp_path: Path
) -> None:
    # Small enough that the record with the first byte, whole as TLS gives it out, is one flight.
    run = resuming(tmp_path, kind, resume, size="10kB")
    for transfer in range(3):
        expected = SAVED[kind, resume][min(transfer, 1)]
        found = (
            round_trips(connect_time_s(run, transfer)),
            round_trips(first_byte_s(run, transfer)),
        )
        assert found == expected, f"transfer {transfer}"
        for side in ("client", "server"):
            (connection,) = connections(run, transfer, side)
            assert connection.resumed == (resume if transfer else "none"), (side, transfer)


@pytest.mark.parametrize(("kind", "resume"), SAVED)
def test_all_connections_of_a_later_transfer_resume_and_none_of_the_first(
    kind: str, resume: str, tmp_path: Path
) -> None:
    run = resuming(tmp_path, kind, resume, chunks=4, transfers=2)
    (first_s, _), (later_s, _) = SAVED[kind, resume]
    per_transfer = 1 if kind == "quic" else 4
    for transfer, each_s in ((0, first_s), (1, later_s)):
        clients = connections(run, transfer)
        assert len(clients) == per_transfer
        assert {each.resumed for each in clients} == {resume if transfer else "none"}
        assert round_trips(connect_time_s(run, transfer)) == per_transfer * each_s


def test_without_resumption_nothing_is_saved(tmp_path: Path) -> None:
    for run in run_study_cells(tmp_path, LINE, size="50kB", transfers=2):
        first, later = (
            (connect_time_s(run, transfer), first_byte_s(run, transfer)) for transfer in (0, 1)
        )
        assert later == pytest.approx(first, rel=0.01), run.transport
        for transfer in (0, 1):
            assert {each.resumed for each in connections(run, transfer)} == {"none"}


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("kind", ["tcp", "tls", "quic"])
def test_early_data_survives_loss_both_ways(kind: str, direction: str, tmp_path: Path) -> None:
    """The run fails unless every byte of every transfer arrives and is confirmed."""
    path = {**LINE, "loss_up": "5%", "loss_down": "5%"}
    level = {"kind": kind, "resume": "0rtt", "label": kind}
    runs = run_study_cells(
        tmp_path,
        path,
        transports=[level],
        replicates=6,
        size="30kB",
        chunks=3,
        transfers=3,
        direction=direction,
    )
    resumed = {each.resumed for run in runs for each in connections(run, 2)}
    assert "0rtt" in resumed


def test_resumed_runs_repeat_byte_for_byte(tmp_path: Path) -> None:
    for kind, resume in SAVED:
        path = {**LINE, "loss": "2%"}
        first, second = (
            resuming(tmp_path / f"{kind}-{resume}-{name}", kind, resume, path=path, chunks=3)
            for name in ("first", "second")
        )
        assert (first.path / RECORDS_FILE).read_bytes() == (
            second.path / RECORDS_FILE
        ).read_bytes(), kind
