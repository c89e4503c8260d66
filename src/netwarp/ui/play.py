"""Prepares an animation of runs over their own time, from their jobs and records. Pure.

Only what was counted is drawn: the bottleneck's frames and queueing delay at each sample, those of
the whole run at its end, and the sender's congestion window. Between two samples, frames are sent
at equal intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netwarp.figures.dark import on_dark
from netwarp.figures.over_time.run_timeline import end_of_chart_ns
from netwarp.figures.style import series_styles
from netwarp.measure.queueing import has_delay_line, queue_delays, queue_samples
from netwarp.measure.select import received
from netwarp.ui.drawing import network_drawing
from netwarp.units import NS_PER_S
from netwarp.wire import Calibration, ConnectionSamples, Direction, Job, Record
from netwarp.wording import condition_text, contender_text

if TYPE_CHECKING:
    from netwarp.evaluation import RunData

MOST_CONDITIONS = 12
MOST_SAMPLES = 2000
"""Maximum number of samples of a run that are sent to the page; if there are more, some are chosen
at even distances."""


def play(data: RunData) -> dict[str, Any]:
    """Return the first replicates of all contenders, condition by condition."""
    results = data.results
    factor = results.contender_factor or ""
    conditions = []
    for condition, cells in list(results.conditions())[:MOST_CONDITIONS]:
        first = [run for cell in cells for run in cell.runs if run.replicate == 0]
        labels = [run.factors.get(factor, "") for run in first]
        runs = [
            played
            | {
                "label": contender_text(factor, label) or "all",
                "colour": style.colour,
                "on_dark": on_dark(style.colour),
            }
            for run, label, style in zip(first, labels, series_styles(factor, labels), strict=True)
            if (job := data.job(run.run)) is not None
            and (played := played_run(job, data.records(run.run))) is not None
        ]
        if runs:
            conditions.append({"label": condition_text(condition), "runs": runs})
    return {"conditions": conditions}


def played_run(job: Job, records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the columns of one run, in s, bytes and packets; None if its bottleneck was not
    sampled.
    """
    queue = queue_samples(records, job.direction)
    if queue is None or len(queue.at_ns) < 2 or queue.sent_bytes[-1] <= queue.sent_bytes[0]:
        return None
    delays = queue_delays(job, records, job.direction)
    path = job.paths[0]
    forth, back = (path.down, path.up) if job.direction == "down" else (path.up, path.down)
    places = _spread(len(queue.at_ns))
    # The counter counts a frame after both queue and delay line. The frame is drawn before the
    # line, and so is a queue that is behind it.
    behind_ns = 0 if has_delay_line(forth) else forth.delay_ns
    at_s = [max(0.0, (queue.at_ns[place] - behind_ns) / NS_PER_S) for place in places]
    left_s = [max(0.0, (queue.at_ns[place] - forth.delay_ns) / NS_PER_S) for place in places]
    sent_bytes = [queue.sent_bytes[place] for place in places]
    dropped = [queue.dropped_packets[place] for place in places]
    queue_s = [delays.delay_ns[place] / NS_PER_S for place in places]
    arrived_ns = [each.last_byte_ns for each in received(job, records)]
    last_ns = max(arrived_ns, default=0) or end_of_chart_ns(job, records)
    last_s = (last_ns - forth.delay_ns) / NS_PER_S
    whole = _counted(records, job.direction)
    if whole is not None and last_s > left_s[-1] and whole.delivered_bytes > sent_bytes[-1]:
        left_s.append(last_s)
        sent_bytes.append(whole.delivered_bytes)
        if last_s > at_s[-1]:
            at_s.append(last_s)
            dropped.append(max(dropped[-1], whole.dropped_packets))
            queue_s.append(0.0)
    return {
        "at_s": at_s,
        "end_s": last_ns / NS_PER_S,
        "left_s": left_s,
        "sent_bytes": sent_bytes,
        "dropped": dropped,
        "queue_s": queue_s,
        "window": _windows(records, "server" if job.direction == "down" else "client"),
        "delay_s": forth.delay_ns / NS_PER_S,
        "back_s": back.delay_ns / NS_PER_S,
        "rate_bit_s": forth.rate_bit_s,
        "sender": "server" if job.direction == "down" else "client",
        "network": network_drawing(job, records),
    }


def _counted(records: Sequence[Record], direction: Direction) -> Calibration | None:
    """Return the packet counts of the bottleneck at the end of the run; None if there are none."""
    found = (
        each
        for each in records
        if isinstance(each, Calibration) and (each.path, each.direction) == (0, direction)
    )
    return next(found, None)


def _windows(records: Sequence[Record], side: str) -> dict[str, list[float]]:
    """Return the congestion window of the sender over time: the sum over its connections, each with
    the value of its latest sample.
    """
    connections = [each for each in records if isinstance(each, ConnectionSamples)
                   and each.side == side]  # fmt: skip
    moments = sorted(
        (at_ns, number, window)
        for number, each in enumerate(connections)
        for at_ns, window in zip(each.at_ns, each.cwnd_bytes, strict=True)
    )
    latest: dict[int, int] = {}
    lines = []
    for at_ns, number, window in moments:
        latest[number] = window
        lines.append((at_ns / NS_PER_S, float(sum(latest.values()))))
    chosen = [lines[place] for place in _spread(len(lines))]
    return {"at_s": [at_s for at_s, _ in chosen], "bytes": [window for _, window in chosen]}


def _spread(count: int) -> list[int]:
    """Return at most `MOST_SAMPLES` indices of a list at even distances, the last one included."""
    if count <= MOST_SAMPLES:
        return list(range(count))
    return [round(step * (count - 1) / (MOST_SAMPLES - 1)) for step in range(MOST_SAMPLES)]
