"""Clients that move while content travels: it goes on at the right byte, or says why not."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from guest.lab import ALL, Measured, run_study
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Connection, Goodput, Handover, Transfer

RTT_S = 0.1
SIZE_BYTES = 2_000_000

MIGRATES = {"kind": "quic", "reconnect": "migrate", "label": "quic, migrating"}
EARLY: tuple[Any, ...] = (
    {"kind": "tcp", "resume": "0rtt", "label": "tcp, 0-RTT"},
    {"kind": "tls", "resume": "0rtt", "label": "tls, 0-RTT"},
    {"kind": "quic", "resume": "0rtt", "label": "quic, 0-RTT"},
)
TRANSPORTS: tuple[Any, ...] = (*ALL, *EARLY, MIGRATES)


def carried(
    place: Path,
    moves: list[dict[str, Any]],
    transports: tuple[Any, ...] = TRANSPORTS,
    path: dict[str, Any] | None = None,
    **workload: Any,
) -> list[Measured]:
    """Runs of 2 MB at 10 Mbit/s, 1.6 s and more, with these changes of the paths."""
    timeline = [{"change": "handover", **move} for move in moves]
    study = {
        "title": "guest test",
        "replicates": 1,
        "seed": 1,
        "path": {"rtt": "100ms", "rate": "10mbit", "timeline": timeline, **(path or {})},
        "workload": {"kind": "bulk", "size": f"{SIZE_BYTES}B", **workload},
        "factors": {"transport": list(transports)},
    }
    return run_study(plan_study(study_from_mapping(study)), place)


def moved(place: Path, moves: list[dict[str, Any]], *arguments: Any, **more: Any) -> list[Measured]:
    """As `carried`; every run must succeed, and have the whole content."""
    measured = carried(place, moves, *arguments, **more)
    for run in measured:
        assert run.status.outcome == "ok", f"{run.transport}: {run.status.reason}"
        assert sum(each.bytes for each in transfers(run, "client")) == SIZE_BYTES, run.transport
        whole = {each.chunk: each.bytes for each in transfers(run, "client")}
        for sent in transfers(run, "server"):
            assert sent.bytes + sent.resumed_at_bytes == whole[sent.chunk], run.transport
        numbers = [each.connection for each in connections(run, "client")]
        assert len(set(numbers)) == len(numbers), run.transport
    return measured


def transfers(run: Measured, side: str) -> list[Transfer]:
    return [each for each in run.records if isinstance(each, Transfer) and each.side == side]


def connections(run: Measured, side: str) -> list[Connection]:
    return [each for each in run.records if isinstance(each, Connection) and each.side == side]


def handovers(run: Measured) -> list[Handover]:
    return [each for each in run.records if isinstance(each, Handover)]


def gap_s(run: Measured) -> float:
    (handover,) = handovers(run)
    assert handover.longest_gap_ns is not None
    return handover.longest_gap_ns / 1e9


def at(time_s: float, **how: str) -> dict[str, Any]:
    return {"at": f"{round(time_s * 1e9)}ns", **how}


@pytest.fixture(scope="module")
def one_move(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    """The client moves while the server is sending."""
    runs = moved(tmp_path_factory.mktemp("one-move"), [at(1.0)])
    return {run.transport: run for run in runs}


def test_content_goes_on_at_the_byte_reached(one_move: dict[str, Measured]) -> None:
    for name, run in one_move.items():
        (received,) = transfers(run, "client")
        (sent,) = transfers(run, "server")
        assert received.sha256 is not None, name
        if name == MIGRATES["label"]:
            assert sent.resumed_at_bytes == 0
            continue
        assert sent.sha256 is None, name
        # What had arrived, by the client's own count over time, and nothing of it again.
        (goodput,) = (each for each in run.records if isinstance(each, Goodput))
        (handover,) = handovers(run)
        before = goodput.bytes[: handover.at_ns // goodput.step_ns + 1]
        assert sent.resumed_at_bytes == sum(before), name
        assert 0 < sent.resumed_at_bytes < SIZE_BYTES, name
        assert sum(goodput.bytes) == SIZE_BYTES, name


def test_the_client_dials_anew_and_says_so(one_move: dict[str, Measured]) -> None:
    for name, run in one_move.items():
        clients = connections(run, "client")
        if name == MIGRATES["label"]:
            continue
        assert [each.abandoned for each in clients] == [True, False], name
        assert clients[1].start_ns >= handovers(run)[0].at_ns, name


def test_a_migration_keeps_the_connection(one_move: dict[str, Measured]) -> None:
    run = one_move[MIGRATES["label"]]
    for side in ("client", "server"):
        (connection,) = connections(run, side)
        assert not connection.abandoned
    (received,), (sent,) = transfers(run, "client"), transfers(run, "server")
    assert received.sha256 == sent.sha256


#: Round trips until the first content byte of a connection that is dialled anew. TCP's Fast Open
#: cookie is bound to the address that asked for it (RFC 7413, 4.1.1), so it is of no use at a new
#: one. A record of TLS (16 KiB) and a message of SCTP (16 KiB) are more than a first flight: one
#: more round trip, and two. A migrated path must be validated before more than thrice what came by
#: it may be sent (RFC 9000, 9.3).
ROUND_TRIPS = {
    "tcp": 2,
    "tls": 4,
    "sctp": 5,
    "quic": 2,
    "tcp, 0-RTT": 2,
    "tls, 0-RTT": 3,
    "quic, 0-RTT": 1,
    "quic, migrating": 2,
}


def test_the_gap_is_the_handshakes(one_move: dict[str, Measured]) -> None:
    for name, run in one_move.items():
        assert ROUND_TRIPS[name] <= gap_s(run) / RTT_S < ROUND_TRIPS[name] + 1, name


def test_tickets_are_used_after_a_move(one_move: dict[str, Measured]) -> None:
    for name in ("tls, 0-RTT", "quic, 0-RTT"):
        assert [each.resumed for each in connections(one_move[name], "client")] == ["none", "0rtt"]


def test_tickets_do_not_run_out(tmp_path: Path) -> None:
    """Every connection leaves one, also when the content is not over."""
    for run in moved(tmp_path, [at(0.8), at(1.3), at(1.8)], EARLY[1:]):
        resumed = [each.resumed for each in connections(run, "client")]
        assert resumed == ["none", "0rtt", "0rtt", "0rtt"], run.transport


@pytest.mark.parametrize("chunks", [3, 5])
def test_every_chunk_goes_on_where_it_was(tmp_path: Path, chunks: int) -> None:
    streams = {"kind": "sctp", "streams": 2, "label": "sctp, 2 streams"}
    for run in moved(
        tmp_path, [at(1.0), at(1.7)], (*TRANSPORTS, streams), chunks=chunks, dial="parallel"
    ):
        assert len(transfers(run, "client")) == len(transfers(run, "server")) == chunks
        pieces = [each.resumed_at_bytes for each in transfers(run, "server")]
        assert run.transport == MIGRATES["label"] or any(pieces), run.transport


@pytest.mark.parametrize("how", [{"overlap": "200ms"}, {"gap": "300ms"}], ids=["overlap", "gap"])
def test_paths_that_overlap_or_leave_a_gap(tmp_path: Path, how: dict[str, str]) -> None:
    for run in moved(tmp_path, [at(1.0, **how)]):
        missing_s = ROUND_TRIPS[run.transport] * RTT_S + (0.3 if "gap" in how else 0.0)
        if run.transport == MIGRATES["label"] and "overlap" in how:
            # What is under way by the path before still arrives: half the time of the validation.
            missing_s = RTT_S
        assert missing_s - 0.01 < gap_s(run) < missing_s + 0.2, run.transport


@pytest.mark.parametrize("time_s", [1e-9, 0.02, 0.05, 0.11, 0.15, 0.21, 0.26])
def test_a_move_during_the_handshake(tmp_path: Path, time_s: float) -> None:
    for run in moved(tmp_path, [at(time_s)]):
        clients = connections(run, "client")
        assert not clients[-1].abandoned, run.transport
        # Whoever waits has waited since the first try, whatever became of it.
        assert min(each.start_ns for each in clients) < 1e6, run.transport
        assert run.metrics["completion_time_s"] < 6, run.transport


@pytest.mark.parametrize("how", [{}, {"gap": "500ms"}], ids=["at-once", "gap"])
def test_a_move_right_at_the_epoch(tmp_path: Path, how: dict[str, str]) -> None:
    for run in moved(tmp_path, [{"at": "0s", **how}]):
        assert run.metrics["completion_time_s"] < 6, run.transport


@pytest.mark.parametrize("apart_s", [0.001, 0.03, 0.07])
def test_there_and_back_within_a_round_trip(tmp_path: Path, apart_s: float) -> None:
    for run in moved(tmp_path, [at(1.0), at(1.0 + apart_s)]):
        assert [each.path for each in handovers(run)] == [1, 0], run.transport


@pytest.mark.parametrize("late_s", [-0.001, 0.0, 0.001, 0.04, 0.06, 0.12])
def test_a_move_when_the_last_bytes_arrive(
    tmp_path: Path, late_s: float, undisturbed: dict[str, Measured]
) -> None:
    """Before them, with them, while they are being confirmed, and at the connection's end."""
    for transport in TRANSPORTS:
        name = transport if isinstance(transport, str) else transport["label"]
        (received,) = transfers(undisturbed[name], "client")
        (run,) = moved(
            tmp_path / name.replace(", ", "-"),
            [at(received.last_byte_ns / 1e9 + late_s)],
            (transport,),
        )
        assert len(transfers(run, "server")) == 1


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    """The same runs with a move that comes when they are over."""
    return {run.transport: run for run in moved(tmp_path_factory.mktemp("late"), [at(1000.0)])}


def test_a_client_with_fewer_chunks_left_gets_their_ends(tmp_path: Path) -> None:
    """Of a client that comes back with some chunks, the server awaits no others before it ends
    these; found by the fuzz lane (seed 64).
    """
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "seed": 1282652798,
            "path": {
                "rtt": "6.193ms",
                "rate": "239kbit",
                "loss": "1.49%",
                "second": {"rate": "436kbit", "loss": "2.69%"},
                "handovers": {"every": "320ms", "count": 5},
            },
            "transport": {"kind": "quic", "resume": "1rtt", "reconnect": "new"},
            "workload": {"size": "2386B", "verify": False, "chunks": 11, "transfers": 3},
        }
    )
    (run,) = run_study(plan_study(study), tmp_path)
    assert run.status.outcome == "ok", run.status.reason
    assert run.status.virtual_s < 10


def test_a_move_between_transfers(tmp_path: Path) -> None:
    (alone,) = carried(tmp_path / "alone", [at(1000.0)], ("tcp",), transfers=2)
    ends = sorted(each.last_byte_ns for each in transfers(alone, "client"))
    (run,) = carried(tmp_path / "moved", [at(ends[0] / 1e9 + 0.12)], ("tcp",), transfers=2)
    assert run.status.outcome == "ok", run.status.reason
    assert len(transfers(run, "client")) == len(transfers(run, "server")) == 2


def test_content_that_goes_up_migrates(tmp_path: Path) -> None:
    (run,) = moved(tmp_path, [at(1.0)], (MIGRATES,), direction="up")
    assert [each.abandoned for each in connections(run, "server")] == [False]
    assert transfers(run, "client")[0].sha256 == transfers(run, "server")[0].sha256
    assert (transfers(run, "server")[0].longest_gap_ns or 0) / 1e9 > RTT_S


LOST = {"at": "1200ms", "change": "outage", "path": 2}


@pytest.mark.parametrize("transport", [*ALL, "quic, migrating"])
def test_an_outage_longer_than_the_time_out_is_given_up(tmp_path: Path, transport: str) -> None:
    """After a move, too: nothing dials again for a connection that was not given up."""
    asked = MIGRATES if transport == MIGRATES["label"] else transport
    (run,) = carried(tmp_path, [at(0.8), LOST], (asked,))
    assert run.status.outcome == "ok", run.status.reason
    assert run.metrics["gave_up_s"] > 60
    assert "completion_time_s" not in run.metrics


def test_a_move_ends_an_outage(tmp_path: Path) -> None:
    """What a connection could not outlive does not matter to the one after it."""
    lost = {"at": "1s", "change": "outage", "path": 1}
    for run in moved(tmp_path, [lost, at(60.0)]):
        assert 60 < run.metrics["completion_time_s"] < 70, run.transport


def test_moves_repeat_byte_for_byte(tmp_path: Path) -> None:
    again = [moved(tmp_path / name, [at(0.7), at(1.2)]) for name in ("one", "other")]
    for one, other in zip(*again, strict=True):
        ours, theirs = ((run.path / RECORDS_FILE).read_bytes() for run in (one, other))
        assert ours == theirs, one.transport


def test_handovers_are_in_order(tmp_path: Path) -> None:
    (run,) = moved(tmp_path, [at(0.5 + 0.2 * number) for number in range(6)], ("quic",))
    assert all(one.at_ns < other.at_ns for one, other in pairwise(handovers(run)))
    assert len(handovers(run)) == 6
