"""Metrics of players and of clients that move, against sessions written down by hand."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.metrics import METRICS, failure_from_records, metrics_from_records
from netwarp.wire import (
    Attach,
    Connection,
    Event,
    Handover,
    Job,
    Quality,
    Record,
    Stream,
    Switch,
    Transfer,
    job_from_json,
    read_records,
)
from sessions import (
    END,
    GOLDEN,
    MS,
    SIZES_BYTES,
    STALL,
    STREAM_JOB,
    cut,
    golden_records,
    play,
    player,
    seek,
    segment,
    session,
)


def metrics(*middle: Record) -> dict[str, float]:
    return metrics_from_records(STREAM_JOB, session(*middle))


def test_the_golden_session() -> None:
    found = metrics_from_records(STREAM_JOB, golden_records())
    assert "completion_time_s" not in found
    wanted = {
        "connect_time_s": 0.10024036,
        "startup_delay_s": 1 - 1e-6,
        "stalls": 1,
        "stall_s": 0.5,
        "seeks": 1,
        "seek_to_play_s": 0.9,
        "switches": 2,
        # The second request was cut off by the seek, and what was wanted last by the end.
        "cut_segments": 2,
        "cut_ratio": 2 / 5,
        # Of 3 s watched, segment 1 was in the second of three qualities.
        "quality_share_lowest": 2 / 3,
        "quality_share_highest": 0,
        "quality_mean": 1 / 3,
        "media_rate_bit_s": 8 * 12_500_000 / 3,
        "goodput_bit_s": 8 * 12_500_000 / (5.4 - 1e-6),
        "reconnections": 0,
        "handover_gap_s": 0.15,
        "handover_gap_s_max": 0.15,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)
    assert list(found) == [name for name in METRICS if name in found]


def test_loading_delay_is_waiting_and_transfer_and_its_percentiles_are_delays() -> None:
    loaded = [segment(i, i, 0, 1000 * i, 1000 * i + 10 * (i + 1)) for i in range(21)]
    found = metrics(*loaded, player(10, play(0)), player(21_010, END))
    # 10, 20 … 210 ms
    assert found["loading_delay_s"] == pytest.approx(0.110)
    assert found["loading_delay_s_p50"] == pytest.approx(0.110)
    assert found["loading_delay_s_p95"] == pytest.approx(0.200)
    assert found["loading_delay_s_p99"] == pytest.approx(0.210)


def test_cut_segments_count_and_enter_the_loading_delay_as_longer_than_their_cut() -> None:
    found = metrics(
        segment(0, 0, 0, 0, 1000), segment(1, 1, 0, 1000, 4000), cut(2, 2, 4000, 6000),
        cut(None, 9, 6000, 6500), player(1000, play(0)), player(7000, END),
    )  # fmt: skip
    assert found["loading_delay_s"] == pytest.approx(2)
    assert (found["cut_segments"], found["cut_ratio"]) == (2, 0.5)
    # Of four, one ends at 0.5 unseen, one of three at 1, one at 2 unseen, the last at 3.
    assert found["loading_delay_with_cut_s"] == pytest.approx(1 + 2 / 3 * 2)


def test_a_session_in_which_nothing_arrived_has_no_loading_delay_but_a_bound() -> None:
    workload = STREAM_JOB.only.workload.model_copy(update={"viewer_clock": "wall"})
    job = STREAM_JOB.with_only(workload=workload)
    nothing = session(cut(0, 0, 0, 1000), cut(1, 9, 1000, 3000), player(3000, END))
    assert failure_from_records(job, nothing) is None
    found = metrics_from_records(job, nothing)
    assert "loading_delay_s" not in found
    assert "loading_delay_s_p95" not in found
    assert found["loading_delay_with_cut_s"] == pytest.approx(2)
    assert found["cut_ratio"] == 1


def test_nobody_knows_what_was_cut_off_before_that_was_recorded() -> None:
    found = metrics(
        segment(0, 0, 0, 0, 100), segment(2, 7, 0, 700, 800),
        player(100, play(0)), player(600, seek(7)), player(2800, END),
    )  # fmt: skip
    assert "cut_segments" not in found
    assert "cut_ratio" not in found
    assert "loading_delay_with_cut_s" not in found
    assert found["loading_delay_s"] == pytest.approx(0.1)


def test_a_seek_during_a_stall_ends_it_and_its_wait_is_none() -> None:
    found = metrics(
        segment(0, 0, 0, 0, 100), segment(1, 7, 0, 2000, 2500),
        player(100, play(0)), player(1100, STALL), player(2000, seek(7)), player(2500, play(7)),
        player(3500, END),
    )  # fmt: skip
    assert (found["stalls"], found["seeks"]) == (1, 1)
    assert found["stall_s"] == pytest.approx(0.9)
    assert found["seek_to_play_s"] == pytest.approx(0.5)


def test_waits_that_nobody_saw_the_end_of_are_stalled_time_and_no_seek_to_play() -> None:
    found = metrics(
        segment(0, 0, 0, 0, 100), segment(1, 1, 0, 100, 200),
        player(100, play(0)), player(600, seek(5)), player(700, seek(1)), player(900, play(1)),
        player(1900, STALL), player(2000, END),
    )  # fmt: skip
    assert found["seeks"] == 2
    assert found["seek_to_play_s"] == pytest.approx(0.2)
    assert found["stall_s"] == pytest.approx(0.1)


def test_quality_is_weighed_by_what_was_played_not_by_what_came() -> None:
    found = metrics(
        segment(0, 0, 2, 0, 100), segment(1, 1, 1, 100, 200), segment(2, 2, 0, 200, 300),
        # Loaded again in another quality after a seek: what is there last is what is played.
        segment(3, 0, 0, 700, 800),
        player(100, play(0)), player(600, seek(0)), player(800, play(0)), player(2800, END),
    )  # fmt: skip
    # 0.5 s in quality 2, then 1 s in 0 and 1 s in 1; segment 2 was never played.
    assert found["quality_share_highest"] == pytest.approx(0.5 / 2.5)
    assert found["quality_share_lowest"] == pytest.approx(1 / 2.5)
    assert found["quality_mean"] == pytest.approx((2 * 0.5 + 1) / 2.5)
    mean_bytes = (0.5 * SIZES_BYTES[2] + SIZES_BYTES[0] + SIZES_BYTES[1]) / 2.5
    assert found["media_rate_bit_s"] == pytest.approx(8 * mean_bytes)
    assert "seek_to_play_s" in found


def test_every_session_that_is_not_what_was_asked_fails() -> None:
    first = segment(0, 0, 0, 0, 100)
    whole: list[Record] = [first, player(100, play(0)), player(1100, END)]
    assert failure_from_records(STREAM_JOB, session(*whole)) is None
    short = first.model_copy(update={"bytes": 3})
    unhashed = first.model_copy(update={"sha256": None})
    elsewhere = first.model_copy(update={"segment": 600})
    unknown = first.model_copy(update={"quality": 3})
    switch = player(1200, Switch(kind="switch", quality=1))
    cases: list[tuple[list[Any], str]] = [
        ([short, *whole[1:]], "segment 0 (request 0) has 3 of 4000000 bytes"),
        ([unhashed, *whole[1:]], "was not hashed"),
        ([elsewhere, *whole[1:]], "not in the medium of 600"),
        ([unknown, *whole[1:]], "quality 3 of 3"),
        (whole[:2], "had seen enough"),
        ([*whole, switch], "had seen enough"),
        (whole[1:], "no segment"),
        ([first, cut(1, 600, 0, 1), *whole[1:]], "segment 600, which was cut off, is not in"),
        ([first, cut(1, 5, 2, 1), *whole[1:]], "before it was wanted"),
    ]
    for middle, expected in cases:
        failure = failure_from_records(STREAM_JOB, session(*middle))
        assert failure is not None, expected
        assert expected in failure.message


def test_a_medium_of_one_quality_is_all_in_the_lowest_and_in_the_highest() -> None:
    one = Quality(name="hd", segment_bytes=SIZES_BYTES[0])
    assert isinstance(STREAM_JOB.only.workload, Stream)
    workload = STREAM_JOB.only.workload.model_copy(update={"qualities": (one,)})
    middle: list[Record] = [
        segment(0, 0, 0, 0, 100),
        player(100, play(0)),
        player(1100, END),
    ]
    found = metrics_from_records(STREAM_JOB.with_only(workload=workload), session(*middle))
    assert (found["quality_share_lowest"], found["quality_share_highest"]) == (1, 1)


def moving_job(*, reconnect: str = "new") -> Job:
    golden = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    attach = Event(at_ns=MS, path=1, change=Attach(kind="attach"))
    timeline = golden.timeline.model_copy(update={"events": (attach,)})
    transport = golden.only.transport.model_copy(update={"reconnect": reconnect})
    return golden.with_only(transport=transport).model_copy(update={"timeline": timeline})


def reconnected(pieces: int = 3) -> list[Record]:
    """Write down a transfer whose client moved: one connection for each piece, 1 s apart.

    The server's record is of the last piece alone, and it has no hash of the whole.
    """
    made: list[Record] = []
    for each in read_records(GOLDEN / "records-bulk-quic.jsonl"):
        if isinstance(each, Connection):
            for i in range(pieces):
                times = {"start_ns": i * 1000 * MS, "connected_ns": (i * 1000 + 100) * MS}
                gone = {"abandoned": i < pieces - 1, "connection": i}
                made.append(each.model_copy(update=gone | times))
        elif isinstance(each, Transfer) and each.side == "server":
            rest = {"bytes": 4_000_000, "resumed_at_bytes": 6_000_000, "sha256": None}
            made.append(each.model_copy(update=rest))
        elif isinstance(each, Transfer):
            made.append(each.model_copy(update={"last_byte_ns": 5000 * MS}))
        else:
            made.append(each)
    gaps_ns = [300 * MS, None, 100 * MS]
    moves = [
        Handover(record="handover", at_ns=i * 1000 * MS, path=i % 2, longest_gap_ns=gap_ns,
                 longest_gap_at_ns=None if gap_ns is None else i)
        for i, gap_ns in enumerate(gaps_ns, start=1)
    ]  # fmt: skip
    return [*made[:-1], *moves, made[-1]]


def test_a_transfer_over_reconnections_counts_from_the_first_connect_to_the_last_byte() -> None:
    found = metrics_from_records(moving_job(), reconnected())
    assert found["connect_time_s"] == pytest.approx(0.1)
    assert found["completion_time_s"] == pytest.approx(5.0)
    assert found["goodput_bit_s"] == pytest.approx(8 * 10_000_000 / 5.0)
    assert found["reconnections"] == 2
    assert found["handover_gap_s"] == pytest.approx(0.2)
    assert found["handover_gap_s_max"] == pytest.approx(0.3)


def test_a_client_that_stays_has_no_metrics_of_moving() -> None:
    golden = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    found = metrics_from_records(golden, read_records(GOLDEN / "records-bulk-quic.jsonl"))
    assert not {"reconnections", "handover_gap_s", "stalls"} & set(found)


def test_pieces_must_make_the_whole_and_the_receiver_must_have_hashed_it() -> None:
    made = reconnected()

    def with_transfer(side: str, **changes: Any) -> list[Record]:
        return [
            each.model_copy(update=changes)
            if isinstance(each, Transfer) and each.side == side
            else each
            for each in made
        ]

    assert failure_from_records(moving_job(), made) is None
    short = failure_from_records(moving_job(), with_transfer("server", bytes=3_999_999))
    assert short is not None
    assert "the server recorded 9999999 of 10000000 bytes" in short.message
    assert failure_from_records(moving_job(), with_transfer("client", sha256=None)) is not None
    assert failure_from_records(moving_job(), with_transfer("server", sha256="0" * 64)) is not None
    # Connections that migrate carry the whole content: its sender can hash it, and must.
    assert failure_from_records(moving_job(reconnect="migrate"), made) is not None


def test_a_session_by_the_walls_clock_may_be_over_before_it_is_connected() -> None:
    stream = STREAM_JOB.only.workload
    assert isinstance(stream, Stream)
    middle: list[Record] = [cut(None, 0, 40, 540), player(540, END)]
    unconnected = [each for each in session(*middle) if not isinstance(each, Connection)]
    by_wall = STREAM_JOB.with_only(workload=stream.model_copy(update={"viewer_clock": "wall"}))
    assert failure_from_records(by_wall, unconnected) is None
    found = metrics_from_records(by_wall, unconnected)
    assert found["cut_segments"] == 1
    assert "startup_delay_s" not in found
    assert "connect_time_s" not in found
    by_play = STREAM_JOB.with_only(workload=stream.model_copy(update={"viewer_clock": "play"}))
    assert failure_from_records(by_play, unconnected) is not None
