"""A run over time: what lines, bands and marks its records become."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from netwarp import wire
from netwarp.figures.lines import MOST_POINTS, Line, rebinned, thinned
from netwarp.figures.over_time.run_timeline import RunTimeline, run_timeline
from netwarp.figures.over_time.sampled import (
    acknowledged_mbit_s,
    sampled_lines,
    sampling_intervals_s,
    workload_goodputs,
)
from netwarp.figures.over_time.sent import sent_over_time
from netwarp.wire import (
    Attach,
    Change,
    Connection,
    ConnectionSamples,
    Delay,
    Detach,
    End,
    Event,
    Goodput,
    Job,
    Outage,
    Path,
    QueueSamples,
    Rate,
    Record,
    Restore,
    Stream,
    TimelineEvent,
    Transfer,
    read_records,
)
from netwarp.workloads.stream.playback import buffer_levels
from sessions import (
    END,
    GOLDEN,
    MS,
    STALL,
    STREAM_JOB,
    golden_records,
    play,
    player,
    seek,
    segment,
    session,
)

S = 1_000_000_000


def stream_of(job: Job) -> Stream:
    assert isinstance(job.only.workload, Stream)
    return job.only.workload


def happened(at_ms: float, path: int, change: Change) -> TimelineEvent:
    at_ns = round(at_ms * MS)
    return TimelineEvent(
        record="event", at_ns=at_ns + 256, event=Event(at_ns=at_ns, path=path, change=change)
    )


def of_bulk(*happenings: TimelineEvent, has_handovers: bool = False, **changes: Any) -> RunTimeline:
    """Give a bulk run of 10 s these events; its path has 100 ms."""
    job = wire.job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    if has_handovers:
        events = tuple(each.event for each in happenings)
        paths = STREAM_JOB.paths
        timeline = job.timeline.model_copy(update={"events": events})
        job = job.model_copy(update={"paths": paths, "timeline": timeline})
    records: list[Record] = []
    for each in read_records(GOLDEN / "records-bulk-quic.jsonl"):
        if isinstance(each, TimelineEvent):
            continue
        moved = isinstance(each, Transfer)
        records.append(each.model_copy(update={"last_byte_ns": 10 * S}) if moved else each)
    return run_timeline(job.model_copy(update=changes), [*records[:-1], *happenings, records[-1]])


def delay(ms: int) -> Delay:
    return Delay(kind="delay", down_ns=ms * MS // 2, up_ns=ms * MS // 2)


def test_the_golden_session_over_time() -> None:
    found = run_timeline(STREAM_JOB, golden_records())
    assert found.end_s == 5.4
    assert [(band.start_s, band.end_s, band.label) for band in found.playback] == [
        (1e-6, 1.0, "start-up"), (1.0, 2.0, "hd"), (2.0, 2.5, "stalled"), (2.5, 3.5, "fhd"),
        (3.5, 4.4, "seek"), (4.4, 5.4, "hd"),
    ]  # fmt: skip
    assert [(mark.at_s, mark.label) for mark in found.seeks] == [(3.5, "to segment 300")]
    assert [mark.label for mark in found.handovers] == ["path 2"]
    assert found.buffer_s is not None
    assert found.buffer_s.points[-1] == (5.4, 0.0)
    assert max(level for _, level in found.buffer_s.points) == 1.0


def test_a_paths_delay_is_drawn_while_the_client_is_on_it() -> None:
    found = run_timeline(STREAM_JOB, golden_records())
    first, second = found.rtt_ms
    # The first draw is due at the epoch and done 256 ns later: the job's own delay never was.
    assert (first.path, first.points) == (0, [(0.0, 82.0), (5.200000256, 82.0)])
    assert (second.path, second.points) == (1, [(5.000000256, 100.0), (5.4, 100.0)])


def test_changes_of_delay_and_rate_are_steps() -> None:
    rate = Rate(kind="rate", direction="down", rate_bit_s=20_000_000)
    other = Rate(kind="rate", direction="up", rate_bit_s=1)
    found = of_bulk(happened(2000, 0, delay(60)), happened(3000, 0, rate), happened(4000, 0, other))
    (line,) = found.rtt_ms
    assert [value for _, value in line.points] == [100.0, 60.0, 60.0]
    assert line.points[1][0] == pytest.approx(2.0)
    assert [[value for _, value in line.points][-2:] for line in found.rate_mbit_s] == [
        [20.0, 20.0]
    ]


def limited(rate_mbit_s: int | None, **changes: Any) -> Path:
    """Give the first path of the golden session another rate towards the client."""
    path = STREAM_JOB.paths[0]
    rate_bit_s = None if rate_mbit_s is None else rate_mbit_s * 1_000_000
    down = path.down.model_copy(update={"rate_bit_s": rate_bit_s})
    return path.model_copy(update={"down": down, **changes})


def rates(found: RunTimeline) -> list[list[tuple[float, float]]]:
    return [[(round(t, 3), v) for t, v in line.points] for line in found.rate_mbit_s]


def test_rates_of_the_paths_at_hand_and_up_add_up() -> None:
    attach, detach = Attach(kind="attach"), Detach(kind="detach")
    out, back = Outage(kind="outage"), Restore(kind="restore")
    found = of_bulk(
        happened(2000, 1, attach), happened(3000, 0, detach), happened(4000, 1, out),
        happened(5000, 1, back), happened(6000, 1, detach), happened(6000.01, 0, attach),
        has_handovers=True, paths=(limited(100), limited(20, attached=False)),
    )  # fmt: skip
    assert rates(found) == [
        [(0, 100), (2, 120), (3, 20), (4, 0), (5, 20), (6, 100), (10, 100)]
    ]  # fmt: skip


def test_a_rate_trace_is_followed_from_the_epoch() -> None:
    def at(ms: float, mbit_s: int) -> TimelineEvent:
        rate = Rate(kind="rate", direction="down", rate_bit_s=mbit_s * 1_000_000)
        return happened(ms, 0, rate)

    found = of_bulk(at(0, 3), at(500, 0), at(1000, 5), paths=(limited(None),))
    assert rates(found) == [[(0, 3), (0.5, 0), (1, 5), (10, 5)]]


def test_beside_an_unlimited_path_there_is_no_rate_to_show() -> None:
    attach, detach = Attach(kind="attach"), Detach(kind="detach")
    moves = [happened(2000, 1, attach), happened(3000, 1, detach)]
    both = (limited(100), limited(None, attached=False))
    assert rates(of_bulk(*moves, has_handovers=True, paths=both)) == [
        [(0, 100), (2, 100)], [(3, 100), (10, 100)]
    ]  # fmt: skip
    neither = (limited(None), limited(None, attached=False))
    assert rates(of_bulk(*moves, has_handovers=True, paths=neither)) == []


def test_a_transport_that_uses_one_path_has_the_rate_of_one() -> None:
    both = (limited(100), limited(20))
    assert rates(of_bulk(paths=both)) == [[(0, 100), (10, 100)]]


def test_outages_are_bands_and_one_that_never_ends_lasts_to_the_end() -> None:
    out, back = Outage(kind="outage"), Restore(kind="restore")
    found = of_bulk(happened(1000, 0, out), happened(2000, 0, back), happened(9000, 0, out))
    spans = [(round(band.start_s, 3), round(band.end_s, 3), band.label) for band in found.outages]
    assert spans == [(1.0, 2.0, "out"), (9.0, 10.0, "out")]


def test_a_client_between_two_paths_is_on_none() -> None:
    attach, detach = Attach(kind="attach"), Detach(kind="detach")
    gap = [happened(2000, 0, detach), happened(2500, 1, attach)]
    found = of_bulk(*gap, has_handovers=True)
    assert [(round(b.start_s, 3), round(b.end_s, 3), b.label) for b in found.outages] == [
        (2.0, 2.5, "no path")
    ]
    at_once = [happened(2000, 0, detach), happened(2000.01, 1, attach)]
    assert of_bulk(*at_once, has_handovers=True).outages == []


def test_connections_dialled_anew_are_marked_when_they_are_ready() -> None:
    records: list[Record] = []
    for each in golden_records():
        if isinstance(each, Connection) and each.side == "client":
            records.append(each.model_copy(update={"abandoned": True}))
            again = {"start_ns": 5 * S, "connected_ns": 5 * S + 80 * MS, "connection": 1}
            records.append(each.model_copy(update=again))
        else:
            records.append(each)
    (mark,) = run_timeline(STREAM_JOB, records).reconnections
    assert mark.at_s == pytest.approx(5.08)
    assert mark.label == "ready 80 ms after it was dialled"


def test_goodput_is_bits_a_second_in_at_most_so_many_steps() -> None:
    counts = tuple(range(2000))
    goodput = Goodput(record="goodput", step_ns=10 * MS, bytes=counts)
    records = [goodput if isinstance(each, Goodput) else each for each in golden_records()]
    line = run_timeline(STREAM_JOB, records).goodput_mbit_s
    assert line is not None
    assert len(line.points) <= MOST_POINTS + 2
    # No byte is lost in joining steps.
    moved_bits = sum(
        1e6 * value * (after - at) for (at, value), (after, _) in pairwise(line.points)
    )
    assert moved_bits == pytest.approx(8 * sum(counts))
    assert rebinned([1, 2, 3, 4, 5], 2) == ([6, 9], 3)


def test_the_buffer_climbs_with_arrivals_and_falls_while_playing() -> None:
    made = session(
        segment(0, 0, 0, 0, 1000), segment(1, 1, 0, 1000, 1500),
        # Asked for before the seek: nobody wants it any more.
        segment(2, 2, 0, 1500, 2600), segment(3, 9, 0, 2500, 3000),
        player(1000, play(0)), player(2500, seek(9)), player(3000, play(9)), player(4000, STALL),
        player(4100, END),
    )  # fmt: skip
    levels = [(at // MS, level // MS) for at, level in buffer_levels(made, stream_of(STREAM_JOB))]
    corners = list(dict.fromkeys(levels))
    assert corners == [
        (0, 0), (1000, 0), (1000, 1000), (1500, 500), (1500, 1500), (2500, 500), (2500, 0),
        (2600, 0), (3000, 0), (3000, 1000), (4000, 0), (4100, 0),
    ]  # fmt: skip


def test_thinning_keeps_ends_and_spikes() -> None:
    points = [(float(i), 1.0) for i in range(10_000)]
    points[5003], points[7001] = (5003.0, 99.0), (7001.0, -99.0)
    kept = thinned(points, 600)
    assert len(kept) <= 600
    assert {points[0], points[-1], points[5003], points[7001]} <= set(kept)
    assert kept == sorted(kept)
    assert thinned(points[:600], 600) == points[:600]


def test_a_long_session_is_told_at_as_many_moments_as_a_chart_can_show() -> None:
    # Every second another quality, for half an hour.
    loaded = [segment(i, i % 600, i % 2, 1000 * i, 1000 * i + 500) for i in range(1800)]
    made = session(*loaded, player(500, play(0)), player(1_800_500, END))
    found = run_timeline(STREAM_JOB, made)
    assert len(found.playback) <= MOST_POINTS
    assert {band.label for band in found.playback} <= {"start-up", "hd", "fhd"}


def test_a_run_that_failed_is_shown_as_far_as_it_went() -> None:
    records = [each for each in golden_records() if each.record not in ("end", "player")]
    stopped = End(record="end", virtual_ns=3 * S, failure=None)
    found = run_timeline(STREAM_JOB, [*records, stopped])
    assert found.end_s == 3.0
    assert isinstance(found.goodput_mbit_s, Line)
    assert not found.is_empty


def test_a_run_that_was_not_sampled_has_nothing_over_time() -> None:
    job = wire.job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    samples = (QueueSamples, ConnectionSamples, TimelineEvent)
    records = read_records(GOLDEN / "records-bulk-quic.jsonl")
    assert run_timeline(job, [each for each in records if not isinstance(each, samples)]).is_empty


def test_what_was_sampled_is_shown_over_time() -> None:
    """Of the golden records: 14 480 bytes acknowledged in 25 ms, and a window that doubles."""
    found = of_bulk()
    lines = {each.title: each.line.points for each in found.sampled}
    assert lines["Congestion window (kB)"] == [(0.15, 14.48), (0.175, 28.96)]
    assert lines["Smoothed RTT at the sender (ms)"] == [(0.15, 100), (0.175, 101)]
    assert found.goodput_mbit_s is not None
    assert found.goodput_mbit_s.points == [(0.15, pytest.approx(4.6336)), (0.175, 0)]


def test_what_was_sent_is_what_was_acknowledged_and_what_is_under_way() -> None:
    job = wire.job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    golden = read_records(GOLDEN / "records-bulk-quic.jsonl")
    one = next(e for e in golden if isinstance(e, ConnectionSamples) and e.side == "server")
    counted = {"acked_bytes": (0, 10**6), "unacked_bytes": (500_000, 10**6)}
    both = [one.model_copy(update={**counted, "retrans_packets": (1, 4)})] * 2
    found = sent_over_time(job, both)
    assert [(each.acked_mb, each.sent_mb) for each in found] == [(0, 1), (2, 4)]
    assert [each.repeated_packets for each in found] == [0, 6]
    uncounted = [one.model_copy(update={"acked_bytes": ()})]
    assert sent_over_time(job, uncounted) == ()
    competing = wire.job_from_json((GOLDEN / "job-competing.json").read_text())
    assert sent_over_time(competing, both) == ()


def test_what_was_acknowledged_stays_so_when_its_connection_is_gone() -> None:
    job = wire.job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    golden = read_records(GOLDEN / "records-bulk-quic.jsonl")
    one = next(e for e in golden if isinstance(e, ConnectionSamples) and e.side == "server")
    gone = one.model_copy(
        update={"at_ns": (S, 2 * S), "acked_bytes": (0, 10**6), "unacked_bytes": (0, 500_000),
                "retrans_packets": (0, 3)}
    )  # fmt: skip
    new = one.model_copy(
        update={"at_ns": (3 * S, 4 * S), "acked_bytes": (0, 10**6), "unacked_bytes": (0, 0),
                "retrans_packets": (0, 1)}
    )  # fmt: skip
    found = sent_over_time(job, [gone, new])
    assert [(each.acked_mb, each.sent_mb) for each in found] == [(0, 0), (1, 1.5), (1, 1), (2, 2)]
    assert [each.repeated_packets for each in found] == [0, 3, 0, 1]
    rate = acknowledged_mbit_s([gone, new])
    assert rate is not None
    assert rate.points == [(1, 8), (2, 0), (3, 8), (4, 0)]


def test_what_several_workloads_got_is_in_steps_that_they_have_in_common() -> None:
    job = wire.job_from_json((GOLDEN / "job-competing.json").read_text())

    def goodput(name: str, step_ms: int, *bytes_: int) -> wire.Record:
        line = wire.Goodput(record="goodput", step_ns=step_ms * 1_000_000, bytes=bytes_)
        return wire.OfWorkload(record="of_workload", workload=name, line=line)

    records = [goodput("one", 100, 50_000, 25_000), goodput("two", 200, 50_000)]
    one, two = workload_goodputs(job, records, 200_000_000)
    assert (one.name, two.name) == ("one", "two")
    assert one.mbit_s == [(0.0, 4.0), (0.1, 2.0), (0.2, 2.0)], "the last step ends, too"
    assert two.mbit_s == [(0.0, 2.0), (0.1, 2.0), (0.2, 2.0)]


def test_a_short_run_has_the_steps_that_were_recorded() -> None:
    job = wire.job_from_json((GOLDEN / "job-competing.json").read_text())
    line = wire.Goodput(record="goodput", step_ns=10 * MS, bytes=(1000, 2000, 3000))
    records = [wire.OfWorkload(record="of_workload", workload="one", line=line)]
    (one,) = workload_goodputs(job, records, 30 * MS)
    assert [t for t, _ in one.mbit_s] == pytest.approx([0, 0.01, 0.02, 0.03])
    assert [rate for _, rate in one.mbit_s] == pytest.approx([0.8, 1.6, 2.4, 2.4])


def samples_of_path(path: int, backlog_bytes: int) -> QueueSamples:
    """Two samples of a path whose bottleneck has a queue of that length."""
    zeros = (0, 0)
    return QueueSamples(
        record="queue_samples", path=path, direction="down", at_ns=(0, 10 * MS),
        sent_bytes=zeros, backlog_bytes=(backlog_bytes, backlog_bytes), backlog_packets=zeros,
        dropped_packets=zeros, marked_packets=zeros,
    )  # fmt: skip


def test_the_queue_of_each_path_that_a_client_moves_over_is_shown() -> None:
    made = json.loads((GOLDEN / "job-stream-handovers.json").read_text())
    made["paths"][1]["down"]["rate_bit_s"] = 50_000_000
    job = wire.job_from_json(json.dumps(made))
    found = sampled_lines(job, [samples_of_path(0, 0), samples_of_path(1, 10**6)], (0, 1))
    assert [each.title for each in found] == ["Queueing delay at the bottleneck of path 2 (ms)"]
    assert [delay_ms for _, delay_ms in found[0].line.points] == [160, 160]
    assert sampling_intervals_s([samples_of_path(0, 0)]) == (0.01, 0.01)
    thinned = samples_of_path(0, 0).model_copy(update={"at_ns": (0, 10 * MS, 90 * MS)})
    assert sampling_intervals_s([thinned]) == (0.01, 0.08)


def test_each_of_several_workloads_has_a_congestion_window_of_its_own() -> None:
    job = wire.job_from_json((GOLDEN / "job-competing.json").read_text())
    of_bulk_run = read_records(GOLDEN / "records-bulk-quic.jsonl")
    one = next(e for e in of_bulk_run if isinstance(e, ConnectionSamples) and e.side == "server")
    two = one.model_copy(update={"server_port": job.workloads[1].port, "cwnd_bytes": (1000, 3000)})
    first = one.model_copy(update={"server_port": job.workloads[0].port})
    lines = {each.title: each.line.points for each in sampled_lines(job, [first, two], (0,))}
    names = [each.name for each in job.workloads]
    assert [y for _, y in lines[f"Congestion window of {names[0]} (kB)"]] == [14.48, 28.96]
    assert [y for _, y in lines[f"Congestion window of {names[1]} (kB)"]] == [1, 3]
