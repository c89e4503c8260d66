"""What the samples of a network's links become over time."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp import wire
from netwarp.errors import InputError
from netwarp.figures.over_time.links import MOST_SHOWN, busiest_lines, link_lines
from netwarp.figures.over_time.run_timeline import link_timeline, run_timeline
from netwarp.wire import Job, QueueSamples, job_from_json

GOLDEN = Path(__file__).parents[1] / "golden" / "job-dumbbell.json"
MS = 1_000_000
QUIET = wire.Timeline(events=(), redraws=(), traces=())


def dumbbell() -> Job:
    """Return the golden job of a dumbbell, whose bottleneck keeps 20 Mbit/s down."""
    return job_from_json(GOLDEN.read_text()).model_copy(update={"timeline": QUIET})


def samples(direction: wire.Direction, sent_bytes: int, queued: int, path: int = 0) -> QueueSamples:
    """Return three samples, 10 ms apart, between which so many bytes are sent; the last has so many
    packets of 1000 bytes in the queue.
    """
    return QueueSamples(
        record="queue_samples", path=path, direction=direction, at_ns=(0, 10 * MS, 20 * MS),
        sent_bytes=(0, sent_bytes, 2 * sent_bytes), backlog_bytes=(0, 0, 1000 * queued),
        backlog_packets=(0, 0, queued), dropped_packets=(0, 0, 3 if queued else 0),
        marked_packets=(0, 0, 0),
    )  # fmt: skip


def test_a_link_has_lines_for_each_direction_and_none_for_what_stayed_0() -> None:
    lines = link_lines(
        dumbbell(), [samples("down", 12_500, 40), samples("up", 50, 0)], "left-right"
    )
    assert [each.title for each in lines] == [
        "Utilisation of right → left (%)",
        "Queueing delay at right → left (ms)",
        "Dropped at right → left (packets so far)",
        "Utilisation of left → right (%)",
    ]
    # 12 500 bytes in 10 ms are 10 Mbit/s of 20; 40 kB at 20 Mbit/s take 16 ms.
    assert [value for _, value in lines[0].line.points] == pytest.approx([50, 50])
    assert lines[1].line.points[-1] == pytest.approx((0.02, 16))
    assert lines[2].line.points[-1] == (0.02, 3)


def test_a_rate_that_changes_shows_throughput_in_place_of_utilisation() -> None:
    change = wire.Rate(kind="rate", direction="down", rate_bit_s=1_000_000)
    events = (wire.Event(at_ns=5 * MS, path=0, change=change),)
    job = dumbbell().model_copy(update={"timeline": QUIET.model_copy(update={"events": events})})
    (first, *_) = link_lines(job, [samples("down", 12_500, 0)], "left-right")
    assert first.title == "Throughput of right → left (Mbit/s)"
    assert first.line.points[0] == pytest.approx((0.01, 10))


@pytest.mark.parametrize(
    ("link", "said"),
    [("left-rigth", 'did you mean "left-right"'), ("client1-left", "its queues were not sampled")],
)
def test_a_link_that_has_no_lines_is_refused_with_the_reason(link: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        link_lines(dumbbell(), [samples("down", 1, 1)], link)


def test_one_client_and_one_server_have_no_links() -> None:
    job = job_from_json((GOLDEN.parent / "job-bulk-quic.json").read_text())
    with pytest.raises(InputError, match="one client and one server"):
        link_lines(job, [], "left-right")


def test_the_chart_of_a_run_has_the_links_with_the_longest_queues() -> None:
    """A queue that is short beside the longest is left out."""
    records = [samples("down", 12_500, 40), samples("up", 12_500, 1)]
    titles = [each.title for each in busiest_lines(dumbbell(), records)]
    assert titles == ["Utilisation of right → left (%)", "Queueing delay at right → left (ms)"]
    assert len(titles) <= 2 * MOST_SHOWN
    assert [each.title for each in run_timeline(dumbbell(), records).sampled] == titles


def test_the_outages_of_a_link_are_those_of_no_other() -> None:
    def event(at_ns: int, path: int, change: wire.Outage | wire.Restore) -> wire.TimelineEvent:
        happened = wire.Event(at_ns=at_ns, path=path, change=change)
        return wire.TimelineEvent(record="event", at_ns=at_ns, event=happened)

    out, back = wire.Outage(kind="outage"), wire.Restore(kind="restore")
    records: list[wire.Record] = [
        samples("down", 12_500, 40),
        *(event(5 * MS, path, out) for path in (0, 1)),
        *(event(10 * MS, path, back) for path in (0, 1)),
        wire.End(record="end", virtual_ns=20 * MS, failure=None),
    ]
    bands = link_timeline(dumbbell(), records, "left-right").outages
    assert [(band.start_s, band.end_s) for band in bands] == [(0.005, 0.01)]
