"""Clients begin, and move, at the times that their replicate drew."""

from __future__ import annotations

from pathlib import Path

from guest.lab import run_study_cells
from netwarp.measure import select
from netwarp.wire import TimelineEvent

SOON_NS = 1_000_000
"""What a role takes to begin, of virtual time: messages between processes."""


def test_a_client_begins_and_moves_at_the_times_drawn(tmp_path: Path) -> None:
    moves = {"every": "200ms", "count": 2, "jitter": "200ms"}
    runs = run_study_cells(
        tmp_path,
        {"rtt": "20ms", "rate": "20mbit", "handovers": moves},
        transports=["tcp", "quic"],
        replicates=2,
        start_jitter="50ms",
    )
    for run in runs:
        job = run.planned.job
        late_ns = select.start_ns(run.records) - job.only.start_ns
        assert 0 <= late_ns < SOON_NS
        happened = [each for each in run.records if isinstance(each, TimelineEvent)]
        assert [each.event for each in happened] == list(job.timeline.events)
        assert all(0 <= each.at_ns - each.event.at_ns < SOON_NS for each in happened)
    assert len({run.planned.job.only.start_ns for run in runs}) == 2
