"""A content in chunks that travel at once arrives whole; connections cost what they must."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from guest.lab import ALL, Measured, run_study_cells
from netwarp.wire import Connection, Merged, Side, Transfer

RTT_S = 0.1
LINE: dict[str, Any] = {"rtt": "100ms", "rate": "50mbit"}
CHUNKS = 5

#: Round trips until application data may be sent.
HANDSHAKES = {"tcp": 1, "tls": 2, "sctp": 2, "quic": 1}


def transfers(run: Measured, side: Side) -> list[Transfer]:
    found = [each for each in run.records if isinstance(each, Transfer) and each.side == side]
    return sorted(found, key=lambda each: (each.transfer, each.chunk))


def connections(run: Measured, side: Side) -> list[Connection]:
    found = [each for each in run.records if isinstance(each, Connection) and each.side == side]
    return sorted(found, key=lambda each: each.connection)


def connect_times_s(run: Measured) -> list[float]:
    """From the first dial until each of the client's connections may send."""
    clients = connections(run, "client")
    return [(each.connected_ns - clients[0].start_ns) / 1e9 for each in clients]


def test_the_client_puts_the_chunks_together_to_a_file_that_is_the_original(tmp_path: Path) -> None:
    original = bytes((7 * at ^ at >> 8) & 0xFF for at in range(400_003))
    (tmp_path / "original").write_bytes(original)
    keys: dict[str, Any] = {"size": None, "file": str(tmp_path / "original")}
    keys |= {"chunks": CHUNKS, "transfers": 2}
    plain, merged = (
        run_study_cells(tmp_path / str(merge), {**LINE, "loss": "2%"}, merge=merge, **keys)
        for merge in (False, True)
    )
    for one, other in zip(plain, merged, strict=True):
        files = [each for each in other.records if isinstance(each, Merged)]
        assert [(each.transfer, each.chunks, each.bytes) for each in files] == [
            (0, CHUNKS, len(original)), (1, CHUNKS, len(original)),
        ]  # fmt: skip
        assert {each.sha256 for each in files} == {hashlib.sha256(original).hexdigest()}
        # In virtual time it takes none; the files are gone.
        assert other.metrics["completion_time_s"] == pytest.approx(
            one.metrics["completion_time_s"], abs=1e-4
        ), other.transport
        assert not list(other.path.glob("transfer-*"))


@pytest.mark.parametrize("chunks", [1, CHUNKS])
def test_the_sender_learns_half_a_round_trip_after_the_last_end_that_all_has_arrived(
    chunks: int, tmp_path: Path
) -> None:
    """With `done = transfer`, at the ends of the streams and by one more or by closing."""
    kinds = ("tcp", "tls", "quic")
    keys: dict[str, Any] = {"size": "400kB", "chunks": chunks, "transfers": 2}
    runs = run_study_cells(tmp_path, LINE, transports=kinds, done="transfer", **keys)
    for run in runs:
        told, arrived = transfers(run, "server"), transfers(run, "client")
        assert [each.sha256 for each in told] == [each.sha256 for each in arrived]
        assert len(told) == 2 * chunks
        for of in range(2):
            last_ns = max(each.last_byte_ns for each in arrived if each.transfer == of)
            told_ns = {each.last_byte_ns for each in told if each.transfer == of}
            assert (max(told_ns) - last_ns) / 1e9 == pytest.approx(RTT_S / 2, rel=0.03), (
                run.transport
            )
            assert run.transport != "quic" or len(told_ns) == 1
        for side in ("client", "server"):
            assert not any(each.abandoned for each in connections(run, side))


def test_ends_of_streams_are_repeated_until_they_arrive(tmp_path: Path) -> None:
    path = {**LINE, "loss_up": "20%", "loss_down": "20%"}
    keys: dict[str, Any] = {"size": "30kB", "chunks": CHUNKS, "done": "transfer"}
    kinds = ("tcp", "tls", "quic")
    runs = run_study_cells(tmp_path, path, transports=kinds, replicates=8, **keys)
    assert len(runs) == 24
    for run in runs:
        for side in ("client", "server"):
            assert sum(each.bytes for each in transfers(run, side)) == 30_000


@pytest.mark.parametrize("direction", ["down", "up"])
def test_chunks_merge_into_the_original_for_all_transports(direction: str, tmp_path: Path) -> None:
    original = bytes((7 * at ^ at >> 8) & 0xFF for at in range(400_003))
    (tmp_path / "original").write_bytes(original)
    size = len(original) // CHUNKS
    cuts = [*(chunk * size for chunk in range(CHUNKS)), len(original)]
    hashes = [hashlib.sha256(original[start:end]).hexdigest() for start, end in pairwise(cuts)]
    runs = run_study_cells(
        tmp_path / "runs",
        {**LINE, "loss_up": "2%", "loss_down": "2%"},
        size=None,
        file=str(tmp_path / "original"),
        direction=direction,
        chunks=CHUNKS,
        dial="parallel",
    )
    for run in runs:
        for side in ("client", "server"):
            found = transfers(run, side)
            assert [each.sha256 for each in found] == hashes, (run.transport, side)
            assert [each.bytes for each in found] == [80_000] * 4 + [80_003]
            places = [(each.connection, each.stream) for each in found]
            if run.transport == "quic":
                assert places == [(0, stream) for stream in range(CHUNKS)]
            else:
                assert places == [(connection, 0) for connection in range(CHUNKS)]


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("chunks", [1, CHUNKS])
def test_no_byte_is_lost_at_close_under_loss_both_ways(
    chunks: int, direction: str, tmp_path: Path
) -> None:
    runs = run_study_cells(
        tmp_path,
        {**LINE, "loss_up": "5%", "loss_down": "5%"},
        replicates=8,
        size="30kB",
        chunks=chunks,
        direction=direction,
    )
    assert len(runs) == 8 * len(ALL)
    for way in ("down", "up"):
        dropped = [run.calibration(way).dropped_packets for run in runs]
        assert sum(count > 0 for count in dropped) > len(runs) / 2, "loss hits most runs"
    for run in runs:
        for side in ("client", "server"):
            found = transfers(run, side)
            assert [each.chunk for each in found] == list(range(chunks))
            assert sum(each.bytes for each in found) == 30_000


def test_sequential_dialling_adds_up_and_parallel_dialling_does_not(tmp_path: Path) -> None:
    for dial in ("sequential", "parallel"):
        for run in run_study_cells(tmp_path / dial, LINE, size="50kB", chunks=CHUNKS, dial=dial):
            times_s = connect_times_s(run)
            round_trips = HANDSHAKES[run.transport]
            if run.transport == "quic":
                expected = [round_trips]
            elif dial == "parallel":
                expected = [round_trips] * CHUNKS
            else:
                expected = [round_trips * (place + 1) for place in range(CHUNKS)]
            assert times_s == pytest.approx([RTT_S * each for each in expected], rel=0.03)
            assert run.metrics["connect_time_s"] == pytest.approx(times_s[-1])
            # No content before the last connection stands.
            first_byte_ns = min(each.first_byte_ns for each in transfers(run, "client"))
            last_connected_ns = max(each.connected_ns for each in connections(run, "client"))
            wait_s = (first_byte_ns - last_connected_ns) / 1e9
            # SCTP hands whole messages over, and one of 10 kB fills two flights (RFC 9260, 7.2.1).
            flights = 2 if run.transport == "sctp" else 1
            assert wait_s == pytest.approx(flights * RTT_S, rel=0.03), (run.transport, dial)


def test_transfers_repeat_over_new_connections(tmp_path: Path) -> None:
    for run in run_study_cells(tmp_path, LINE, size="50kB", chunks=2, transfers=3):
        found = transfers(run, "client")
        places = [(each.transfer, each.chunk) for each in found]
        assert places == [(transfer, chunk) for transfer in range(3) for chunk in range(2)]
        per_transfer = 1 if run.transport == "quic" else 2
        clients = connections(run, "client")
        assert [each.transfer for each in clients] == [
            number // per_transfer for number in range(3 * per_transfer)
        ]
        assert all(each.resumed == "none" for each in clients)
        # Nothing was left to profit from: each transfer takes as long as the first.
        times_s = [
            max(each.last_byte_ns for each in found if each.transfer == transfer)
            - min(each.start_ns for each in clients if each.transfer == transfer)
            for transfer in range(3)
        ]
        assert times_s == pytest.approx([times_s[0]] * 3, rel=0.02)


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("unordered", [False, True])
def test_chunks_share_an_association_over_its_streams(
    unordered: bool, direction: str, tmp_path: Path
) -> None:
    """Chunk i is on stream i modulo the streams, whatever is lost and comes out of order."""
    sctp = {"kind": "sctp", "unordered": unordered}
    runs = run_study_cells(
        tmp_path,
        {**LINE, "loss": "3%", "loss_up": "3%"},
        transports=[{**sctp, "streams": number, "label": f"{number}"} for number in (2, 5, 9)],
        size="400003B",
        chunks=CHUNKS,
        direction=direction,
    )
    for run, streams in zip(runs, (2, 5, 9), strict=True):
        for side in ("client", "server"):
            places = [(each.connection, each.stream) for each in transfers(run, side)]
            assert places == [(0, chunk % streams) for chunk in range(CHUNKS)]
        assert len(connections(run, "client")) == 1


def test_streams_of_an_association_are_not_held_up_by_each_other(tmp_path: Path) -> None:
    """All chunks arrive together, where one stream has them one after another."""
    sctp = {"kind": "sctp", "streams": CHUNKS, "label": "sctp"}
    (run,) = run_study_cells(tmp_path, LINE, transports=[sctp], size="5MB")
    found = transfers(run, "client")
    assert len(found) == CHUNKS
    assert max(each.first_byte_ns for each in found) < min(each.last_byte_ns for each in found)
