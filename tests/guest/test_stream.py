"""A player over real transports: when it plays, how long it stalls, what it asks for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import (
    Connection,
    CutSegment,
    Delay,
    Goodput,
    Play,
    PlayEnd,
    Player,
    Seek,
    Segment,
    Stall,
    TimelineEvent,
)

ActionT = TypeVar("ActionT", Play, Stall, Seek, PlayEnd)

SCTP_STREAMS = {"kind": "sctp", "streams": 4, "label": "sctp, 4 streams"}
THOUSANDS = {"kind": "sctp", "streams": 2000, "label": "sctp, 2000 streams"}
TRANSPORTS: tuple[Any, ...] = ("tcp", "tls", "sctp", SCTP_STREAMS, "quic")

#: Round trips until application data may be sent.
HANDSHAKES = {"tcp": 1, "tls": 2, "sctp": 2, "sctp, 4 streams": 2, "quic": 1}

#: A medium whose qualities need 0.8, 1.6 and 2.4 Mbit/s.
QUALITIES = {"hd": "100kB", "fhd": "200kB", "qhd": "300kB"}


def plan(path: dict[str, Any], transports: tuple[Any, ...] = TRANSPORTS, **workload: Any) -> Any:
    return plan_study(
        study_from_mapping(
            {
                "title": "guest test",
                "replicates": 1,
                "seed": 1,
                "path": path,
                "workload": {"kind": "stream", "qualities": QUALITIES, **workload},
                "factors": {"transport": list(transports)},
            }
        )
    )


def watch(place: Path, *arguments: Any, **workload: Any) -> list[Measured]:
    """Carry out a study of a player; every run must succeed."""
    return succeeded(run_study(plan(*arguments, **workload), place))


def succeeded(measured: list[Measured]) -> list[Measured]:
    for run in measured:
        assert run.status.outcome == "ok", f"{run.planned.run}: {run.status.reason}"
    return measured


def segments(run: Measured) -> list[Segment]:
    return [each for each in run.records if isinstance(each, Segment)]


def cut_segments(run: Measured) -> list[CutSegment]:
    return [each for each in run.records if isinstance(each, CutSegment)]


def actions(run: Measured, kind: type[ActionT]) -> list[tuple[int, ActionT]]:
    """When it did this, and what."""
    found = (each for each in run.records if isinstance(each, Player))
    return [(each.at_ns, each.action) for each in found if isinstance(each.action, kind)]


def connections(run: Measured) -> list[Connection]:
    return [each for each in run.records if isinstance(each, Connection)]


def received_bytes(run: Measured) -> int:
    (goodput,) = (each for each in run.records if isinstance(each, Goodput))
    return sum(goodput.bytes)


def test_a_fast_path_plays_at_once_and_without_a_stall(tmp_path: Path) -> None:
    rtt_s, rate_bit_s, watched_s = 0.1, 50e6, 5
    # A segment that fits in everybody's first flight: it is there a round trip after the request.
    only = {"only": "4kB"}
    runs = watch(
        tmp_path,
        {"rtt": "100ms", "rate": "50mbit"},
        qualities=only,
        delay_bounds=[],
        watch=f"{watched_s}s",
    )
    for run in runs:
        startup_s = (HANDSHAKES[run.transport] + 1) * rtt_s + 4000 * 8 / rate_bit_s
        assert run.metrics["startup_delay_s"] == pytest.approx(startup_s, abs=0.002), run.transport
        assert run.metrics["stalls"] == 0
        ((play_ns, _),), ((end_ns, _),) = actions(run, Play), actions(run, PlayEnd)
        assert end_ns - play_ns == watched_s * 10**9, run.transport
        assert [each.segment for each in segments(run)] == list(range(watched_s))
        assert received_bytes(run) == watched_s * 4000


def test_a_slow_path_stalls_as_long_as_arithmetic_says(tmp_path: Path) -> None:
    rtt_s, rate_bit_s, watched = 0.05, 1e6, 10
    size_bytes = 250_000
    runs = watch(
        tmp_path,
        {"rtt": "50ms", "rate": "1mbit"},
        qualities={"only": f"{size_bytes}B"},
        delay_bounds=[],
        watch=f"{watched}s",
    )
    for run in runs:
        # Each segment is asked for when the one before is in, and fills the link from a round trip
        # later on: 1448 of 1514 bytes of a full TCP packet are content, about as many elsewhere.
        each_s = size_bytes * 8 / rate_bit_s * 1514 / 1448 + rtt_s
        assert run.metrics["stalls"] == watched - 1, run.transport
        expected_s = (watched - 1) * (each_s - 1)
        assert run.metrics["stall_s"] == pytest.approx(expected_s, rel=0.04), run.transport
        stalls, plays = actions(run, Stall), actions(run, Play)
        assert [play.segment for _, play in plays] == list(range(watched))
        for (play_ns, _), (stall_ns, _) in zip(plays, stalls, strict=False):
            assert stall_ns - play_ns == 10**9, run.transport


@pytest.mark.parametrize(("rtt", "expected"), [("50ms", 2), ("150ms", 1), ("250ms", 0)])
def test_the_delay_rule_goes_by_what_the_player_measures(
    rtt: str, expected: int, tmp_path: Path
) -> None:
    # Nothing pauses, so the windows grow. TLS and SCTP deliver a record and a message of 16 KiB at
    # once, which from the third segment on come in one flight.
    runs = watch(tmp_path, {"rtt": rtt, "rate": "50mbit"}, watch="8s", buffer="10s")
    for run in runs:
        qualities = [each.quality for each in segments(run)]
        assert qualities[0] == 0, run.transport
        assert set(qualities[3:]) == {expected}, (run.transport, qualities)
        if run.transport in ("tcp", "quic"):
            assert set(qualities[1:]) == {expected}, (run.transport, qualities)


def test_by_the_link_s_delay_all_transports_ask_for_the_same_qualities(tmp_path: Path) -> None:
    # A delay around the bounds, over a link that loses packets: what a player measures differs.
    redraw = {"period": "1s", "mean": "150ms", "deviation": "60ms"}
    path = {"rate": "50mbit", "loss": "5%", "redraw": redraw}
    runs = watch(tmp_path, path, rule="link_delay", watch="8s", qualities=QUALITIES)
    for run in runs:
        drawn = [
            (each.at_ns, each.event.change.down_ns + each.event.change.up_ns)
            for each in run.records
            if isinstance(each, TimelineEvent) and isinstance(each.event.change, Delay)
        ]
        asked = segments(run)
        assert asked[0].quality == 0
        for each in asked[1:]:
            # A segment is asked for when it is wanted: nothing is in the way of the request.
            (*_, delay_ns) = (delay_ns for at_ns, delay_ns in drawn if at_ns <= each.requested_ns)
            expected = 2 if delay_ns < 100_000_000 else 1 if delay_ns <= 200_000_000 else 0
            assert each.quality == expected, (run.transport, each.request, delay_ns)
        assert len({each.quality for each in asked[1:]}) > 1


def test_segments_that_a_seek_cuts_off_are_on_record(tmp_path: Path) -> None:
    path = {"rtt": "50ms", "rate": "2mbit"}
    for run in watch(tmp_path, path, watch="6s", seek="60%"):
        asked, cut = segments(run), cut_segments(run)
        sent = [each.request for each in asked]
        sent += [each.request for each in cut if each.request is not None]
        assert sorted(sent) == list(range(len(sent))), run.transport
        sought_ns = {at_ns for at_ns, _ in actions(run, Seek)}
        assert cut
        assert {each.cut_ns for each in cut} <= sought_ns
        assert {each.cause for each in cut} == {"seek"}
        assert run.metrics["cut_segments"] == len(cut)
        assert run.metrics["loading_delay_with_cut_s"] > 0


def test_by_the_wall_s_clock_sessions_are_equally_long_and_seeks_at_the_same_times(
    tmp_path: Path,
) -> None:
    path = {"rtt": "50ms", "rate": "2mbit", "loss": "3%"}
    runs = watch(tmp_path, path, watch="10s", seek="30%", viewer_clock="wall")
    sought = []
    for run in runs:
        ((end_ns, _),) = actions(run, PlayEnd)
        start_ns = min(each.start_ns for each in connections(run) if each.side == "client")
        # The session begins when the client starts, some microseconds before it dials.
        assert end_ns - start_ns == pytest.approx(10**10, abs=10**5)
        sought.append(
            [(round((at_ns - start_ns) / 1e9), each) for at_ns, each in actions(run, Seek)]
        )
    assert sought[0]
    assert all(each == sought[0] for each in sought)


def test_qualities_travel_on_streams_of_their_own(tmp_path: Path) -> None:
    runs = watch(tmp_path, {"rtt": "50ms", "rate": "50mbit"}, watch="8s", seek="50%")
    for run in runs:
        found = segments(run)
        assert len({each.quality for each in found}) > 1
        streams = [each.stream for each in found]
        match run.transport:
            case "quic":
                # In the order of requests, each switch opens the next.
                assert {after - before for before, after in pairwise(streams)} == {0, 1}
                for before, after in pairwise(found):
                    assert before.quality == after.quality or before.stream != after.stream
            case "sctp, 4 streams":
                assert [each.quality for each in found] == streams
            case _:
                assert set(streams) == {0}


@pytest.mark.parametrize("unordered", [False, True])
def test_thousands_of_streams_may_wait_for_a_quality_each(unordered: bool, tmp_path: Path) -> None:
    many = {**THOUSANDS, "unordered": unordered}
    (run,) = watch(tmp_path, {"rtt": "20ms", "rate": "50mbit"}, (many,), watch="8s", seek="50%")
    assert all(each.stream == each.quality for each in segments(run))


def test_connections_of_thousands_of_streams_are_left_behind(tmp_path: Path) -> None:
    (run,) = watch(tmp_path, with_handovers(every="2s", count=2), (THOUSANDS,), **ONE_QUALITY)
    assert len(segments(run)) == 15


def test_a_seek_leaves_what_is_under_way_behind(tmp_path: Path) -> None:
    # A segment takes eight tenths of its play time: each seek finds one under way.
    size_bytes = 100_000
    runs = watch(
        tmp_path,
        {"rtt": "50ms", "rate": "1.1mbit"},
        qualities={"only": f"{size_bytes}B"},
        delay_bounds=[],
        watch="20s",
        seek="30%",
    )
    sought = [[seek for _, seek in actions(run, Seek)] for run in runs]
    assert sought[0]
    assert all(each == sought[0] for each in sought), "the viewer does the same on every transport"
    for run in runs:
        found = segments(run)
        asked = found[-1].request + 1
        assert asked > len(found), "a seek made something useless"
        assert received_bytes(run) == asked * size_bytes, "which came nevertheless"
        for seek_ns, seek in actions(run, Seek):
            first = next(each for each in found if each.requested_ns >= seek_ns)
            assert first.segment == seek.segment
            assert first.requested_ns - seek_ns < 10_000
            assert first.buffer_ns == 0


def test_an_outage_is_a_stall(tmp_path: Path) -> None:
    path = {
        "rtt": "50ms",
        "rate": "20mbit",
        "timeline": [{"at": "4s", "change": "outage"}, {"at": "8s", "change": "restore"}],
    }
    for run in watch(tmp_path, path, watch="15s", buffer="3s"):
        ((stall_ns, _),), (_, (play_ns, _)) = actions(run, Stall), actions(run, Play)
        # All but what the player asked for last has come by then.
        assert 6 <= stall_ns / 1e9 < 7.5, run.transport
        assert play_ns / 1e9 >= 8, run.transport
        assert run.metrics["stalls"] == 1


@pytest.mark.parametrize("rule", ["throughput", "bola"])
def test_today_s_rules_reach_the_highest_quality_on_a_fast_path(rule: str, tmp_path: Path) -> None:
    runs = watch(tmp_path, {"rtt": "20ms", "rate": "50mbit"}, watch="30s", rule=rule)
    for run in runs:
        qualities = [each.quality for each in segments(run)]
        assert qualities[0] == 0, run.transport
        assert qualities[-1] == 2, (run.transport, qualities)


def test_the_same_seed_gives_the_same_records(tmp_path: Path) -> None:
    path = {"rtt": "50ms", "rate": "3mbit", "loss": "1%"}
    first, second = (
        watch(tmp_path / name, path, watch="20s", seek="30%") for name in ("first", "second")
    )
    for one, other in zip(first, second, strict=True):
        assert one.records == other.records, one.transport


def with_handovers(**handovers: Any) -> dict[str, Any]:
    """A path on which each segment takes nine tenths of its play time: every move meets one.

    Its queue loses nothing, so that no time-out hides what a move costs.
    """
    moves = {"every": "3s", "count": 3, **handovers}
    return {"rtt": "50ms", "rate": "1mbit", "queue": "200kB", "handovers": moves}


ONE_QUALITY: dict[str, Any] = {"qualities": {"only": "100kB"}, "delay_bounds": [], "watch": "15s"}


@pytest.mark.parametrize("handovers", [{}, {"overlap": "200ms"}, {"gap": "500ms"}])
def test_a_segment_goes_on_at_the_byte_reached(handovers: dict[str, str], tmp_path: Path) -> None:
    for run in watch(tmp_path, with_handovers(**handovers), **ONE_QUALITY):
        found = segments(run)
        assert [each.segment for each in found] == list(range(15)), run.transport
        assert [each.request for each in found] == list(range(15)), run.transport
        # No byte came twice; that each is the medium's was checked by hash.
        assert received_bytes(run) == 15 * 100_000, run.transport
        client = [each for each in connections(run) if each.side == "client"]
        assert [each.connection for each in client] == [0, 1, 2, 3], run.transport
        assert [each.abandoned for each in client] == [True] * 3 + [False], run.transport
        assert [each.connection for each in found] == sorted(each.connection for each in found)
        assert run.metrics["reconnections"] == 3, run.transport
        # The address comes after the gap; then handshake and request pass before content does. TLS
        # and SCTP deliver 16 KiB at once, 0.14 s here: half of one may be lost, the next is late.
        gap_s = 0.5 if "gap" in handovers else 0
        again_s = gap_s + (HANDSHAKES[run.transport] + 1) * 0.05
        assert again_s <= run.metrics["handover_gap_s"] < again_s + 0.35, run.transport


def test_a_move_during_the_first_handshake_begins_it_again(tmp_path: Path) -> None:
    """The viewer has waited since the first try, and the metrics say so."""
    rtt_s, move_s = 0.05, 0.02
    path = {"rtt": "50ms", "rate": "50mbit", "handovers": {"every": "20ms", "count": 1}}
    for run in watch(tmp_path, path, **{**ONE_QUALITY, "watch": "3s"}):
        (client,) = (each for each in connections(run) if each.side == "client")
        assert (client.connection, client.abandoned) == (0, False), run.transport
        assert client.start_ns < 1e6, run.transport
        ready_s = move_s + HANDSHAKES[run.transport] * rtt_s
        assert run.metrics["connect_time_s"] == pytest.approx(ready_s, abs=0.003), run.transport
        assert run.metrics["startup_delay_s"] > ready_s + rtt_s, run.transport
        assert [each.segment for each in segments(run)] == [0, 1, 2], run.transport


def test_quality_starts_at_the_lowest_after_a_move(tmp_path: Path) -> None:
    path = {"rtt": "50ms", "rate": "50mbit", "handovers": {"every": "2s", "count": 2}}
    for run in watch(tmp_path, path, transports=("tcp", "quic"), watch="8s", buffer="2s"):
        found = segments(run)
        for before, after in pairwise(found):
            if before.connection != after.connection:
                assert (before.quality, after.quality) == (2, 0), run.transport
        assert {each.connection for each in found} == {0, 1, 2}


@pytest.mark.parametrize(
    ("kind", "handovers"),
    [
        ("quic", {"overlap": "100ms"}),
        ("mptcp", {"overlap": "100ms"}),
        # All that waits in the queue passes before the server gives the old address up.
        ("sctp", {"overlap": "2s", "every": "6s", "count": 2}),
    ],
)
def test_a_connection_that_migrates_carries_the_whole_session(
    kind: str, handovers: dict[str, Any], tmp_path: Path
) -> None:
    migrating = ({"kind": kind, "reconnect": "migrate", "label": kind},)
    (run,) = watch(tmp_path, with_handovers(**handovers), transports=migrating, **ONE_QUALITY)
    assert [each.connection for each in connections(run)] == [0, 0]
    assert not any(each.abandoned for each in connections(run))
    assert run.metrics["reconnections"] == 0
    assert received_bytes(run) == 15 * 100_000


def test_moves_within_a_round_trip_end_in_the_whole_medium(tmp_path: Path) -> None:
    path = with_handovers(every="20ms", count=30)
    for run in watch(tmp_path, path, **{**ONE_QUALITY, "watch": "5s"}, seek="30%"):
        assert len(actions(run, PlayEnd)) == 1, run.transport
        assert len(segments(run)) >= 5, run.transport


def test_a_viewer_who_leaves_while_the_client_moves_is_no_failure(tmp_path: Path) -> None:
    # The last move comes when all that will be watched is at hand.
    path = {"rtt": "50ms", "rate": "50mbit", "handovers": {"every": "4s", "count": 1}}
    for run in watch(tmp_path, path, **{**ONE_QUALITY, "watch": "5s"}):
        ((end_ns, _),) = actions(run, PlayEnd)
        assert end_ns / 1e9 == pytest.approx(5.3, abs=0.3), run.transport
