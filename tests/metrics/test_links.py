"""Metrics of links: by name, in each direction, from what was counted there."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp import wire
from netwarp.metrics import metric_named
from netwarp.metrics.links import MOST_LINKS, measured_links, metrics_of_links, names_of_links
from netwarp.wire import Calibration, DisciplineInForce, Job, QueueSamples, job_from_json

GOLDEN = Path(__file__).parents[1] / "golden" / "job-dumbbell.json"
S = 1_000_000_000
QUIET = wire.Timeline(events=(), redraws=(), traces=())


def dumbbell(**changed: object) -> Job:
    """Return the golden job of a dumbbell, whose bottleneck keeps 20 Mbit/s down."""
    job = job_from_json(GOLDEN.read_text())
    return job.model_copy(update={"timeline": QUIET, **changed})


def counted(path: int, direction: wire.Direction, delivered_bytes: int) -> Calibration:
    return Calibration(
        record="calibration", path=path, direction=direction, interval_ns=3 * S,
        offered_packets=1000, offered_bytes=None, delivered_packets=990,
        delivered_bytes=delivered_bytes, dropped_packets=10, lost_packets=4, left_packets=0,
    )  # fmt: skip


def test_a_link_is_busy_by_what_its_rate_could_have_carried_meanwhile() -> None:
    records = [counted(0, "down", 2_500_000), counted(0, "up", 1), counted(1, "down", 7)]
    found = metrics_of_links(dumbbell(), records, (S, 3 * S))
    assert found["link.left-right.utilisation_ratio_down"] == pytest.approx(0.5)
    assert found["link.left-right.packets_down"] == 1000
    assert found["link.left-right.dropped_packets_down"] == 10
    assert found["link.left-right.marked_packets_down"] is None, "it has no discipline"
    assert all(name.startswith("link.left-right.") for name in found), "others only delay"


def test_a_rate_that_changes_is_no_measure_of_how_busy_a_link_was() -> None:
    change = wire.Rate(kind="rate", direction="down", rate_bit_s=1_000_000)
    events = (wire.Event(at_ns=S, path=0, change=change),)
    job = dumbbell(timeline=QUIET.model_copy(update={"events": events}))
    found = metrics_of_links(job, [counted(0, "down", 2_500_000)], (0, S))
    assert found["link.left-right.utilisation_ratio_down"] is None
    assert found["link.left-right.packets_down"] == 1000


def test_marks_and_the_longest_queue_are_those_of_the_links_own_direction() -> None:
    discipline = DisciplineInForce(
        record="discipline", path=0, direction="down", kind="red", limit_packets=None,
        limit_bytes=225_000, ecn=True, dropped_packets=0, marked_packets=42,
    )  # fmt: skip
    samples = QueueSamples(
        record="queue_samples", path=0, direction="down", at_ns=(1, S, 2 * S),
        sent_bytes=(0, 0, 0), backlog_bytes=(0, 25_000, 50_000), backlog_packets=(0, 17, 34),
        dropped_packets=(0, 0, 0), marked_packets=(0, 0, 0),
    )  # fmt: skip
    found = metrics_of_links(dumbbell(), [discipline, samples], (0, S))
    assert found["link.left-right.marked_packets_down"] == 42
    # 25 kB at 20 Mbit/s; what was queued after the last workload does not count.
    assert found["link.left-right.queue_delay_s_max_down"] == pytest.approx(0.010)
    assert found["link.left-right.queue_delay_s_max_up"] is None


def test_names_are_those_of_metrics_and_can_be_looked_up() -> None:
    names = names_of_links([dumbbell()])
    assert set(names) == set(metrics_of_links(dumbbell(), [], (0, S)) | dict.fromkeys(names))
    described = metric_named("link.left-right.queue_delay_s_max_up")
    assert (described.name, described.unit) == ("link.left-right.queue_delay_s_max_up", "s")
    assert "left-right" in described.title
    with pytest.raises(KeyError):
        metric_named("link.left-right.nothing")


def test_many_links_have_metrics_only_as_far_as_tables_have_room() -> None:
    job = dumbbell()
    assert job.network is not None
    links = tuple(
        wire.Link(first="left", second="right", name=f"hop{number}") for number in range(40)
    )
    network = job.network.model_copy(update={"links": links})
    many = job.model_copy(update={"network": network, "paths": job.paths[:1] * 40})
    assert [name for _, name in measured_links(many)] == [f"hop{n}" for n in range(MOST_LINKS)]
    assert measured_links(job.model_copy(update={"network": None})) == []
