"""Metrics of each link of a network of several hosts, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from netwarp.fields import DIRECTIONS
from netwarp.measure.metric import SHORTER, Metric, unmeasured
from netwarp.measure.queueing import queue_delays
from netwarp.measure.rates import constant_rate_bit_s
from netwarp.measure.select import of_kind
from netwarp.units import NS_PER_S, seconds
from netwarp.wire import Calibration, DisciplineInForce, Impairments, Job, Record

PREFIX = "link."
"""Beginning of the names of these metrics, before the name of the link: `link.wan.packets_down`."""
MOST_LINKS = 32
"""Maximum number of links of a network that have metrics: the first ones that have a rate, a loss
or a qdisc."""
_WAYS = {"down": "from its second end to its first", "up": "from its first end to its second"}


def _link_metric(
    name: str, unit: str, better: str, title: str, description: str, source: str, **texts: object
) -> tuple[Metric, ...]:
    """Return a link metric twice, once for each direction."""
    return tuple(
        Metric(
            f"link_{name}_{direction}",
            unit,  # type: ignore[arg-type]
            better,  # type: ignore[arg-type]
            f"{title}, {direction}",
            f"{description} In the direction {_WAYS[direction]}.",
            source,
            unmeasured,
            **texts,  # type: ignore[arg-type]
        )
        for direction in DIRECTIONS
    )


LINK_METRICS = (
    *_link_metric(
        "utilisation_ratio", "ratio", "higher", "Utilisation",
        "Bits that a link delivered, Ethernet headers counted, divided by those that its rate could"
        " have carried from the start of the first workload to the end of the last; what follows"
        " counts too, so it can exceed 1. Missing where"
        " the rate is unlimited or changes.", "calibration",
    ),
    *_link_metric(
        "packets", "packets", "neither", "Packets",
        "Packets that were offered to a link.", "calibration",
    ),
    *_link_metric(
        "dropped_packets", "packets", "lower", "Packets dropped",
        "Packets that a link lost, at random or because its queue was full.", "calibration",
    ),
    *_link_metric(
        "marked_packets", "packets", "neither", "Packets marked",
        "Packets that a link's queueing discipline marked as having met congestion (ECN).",
        "discipline",
    ),
    *_link_metric(
        "queue_delay_s_max", "s", "lower", "Longest queueing delay",
        "Longest time that a packet would have had to queue at a link, of all moments at which its"
        " queue was sampled.", "queue_samples", words=SHORTER,
    ),
)  # fmt: skip
"""Metrics of a link. In a run's metrics, the link's name is inserted into the name of each."""


def of_link(metric: Metric, link: str) -> Metric:
    """Return a copy of a link metric for one link, with the link's name in it."""
    name = f"{PREFIX}{link}.{metric.name.removeprefix('link_')}"
    return replace(metric, name=name, title=f"{metric.title}, {link}", head=name)


def link_metric_named(name: str) -> Metric | None:
    """Return the metric of a link that has this name; None if no metric of a link has it."""
    if not name.startswith(PREFIX):
        return None
    link, _, own = name.removeprefix(PREFIX).rpartition(".")
    found = next((each for each in LINK_METRICS if each.name == f"link_{own}"), None)
    return None if found is None or not link else of_link(found, link)


def measured_links(job: Job) -> list[tuple[int, str]]:
    """Return the links that have metrics: the index of each one's path, and its name."""
    if job.network is None:
        return []
    found = [
        (index, link.label)
        for index, (link, path) in enumerate(zip(job.network.links, job.paths, strict=True))
        if any(_is_bottleneck(each) for each in (path.down, path.up))
    ]
    return found[:MOST_LINKS]


def _is_bottleneck(sent: Impairments) -> bool:
    has_rate = sent.rate_bit_s is not None or sent.shaper_queue_bytes is not None
    return has_rate or sent.loss.kind != "none"


def names_of_links(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return the names of the metrics that links of these jobs can have."""
    labels = dict.fromkeys(label for job in jobs for _, label in measured_links(job))
    return tuple(of_link(metric, label).name for label in labels for metric in LINK_METRICS)


def metrics_of_links(
    job: Job, records: Sequence[Record], span_ns: tuple[int, int]
) -> dict[str, float | None]:
    """Return the metrics of each link of a run.

    Args:
        job: the run's job.
        records: its records.
        span_ns: from the start of the first workload to the end of the last one, in ns.

    Returns:
        Values by name, None for those that the records do not determine.
    """
    counted = {(each.path, each.direction): each for each in of_kind(records, Calibration)}
    marked = {
        (each.path, each.direction): each.marked_packets
        for each in of_kind(records, DisciplineInForce)
    }
    found: dict[str, float | None] = {}
    for index, label in measured_links(job):
        for direction in DIRECTIONS:
            values = _of_direction(job, counted.get((index, direction)), span_ns)
            values |= {"marked_packets": marked.get((index, direction))}
            delays = queue_delays(job, records, direction, index).within(span_ns)
            values |= {"queue_delay_s_max": seconds(max(delays.delay_ns, default=None))}
            for name, value in values.items():
                found[f"{PREFIX}{label}.{name}_{direction}"] = value
    return found


def _of_direction(
    job: Job, counted: Calibration | None, span_ns: tuple[int, int]
) -> dict[str, float | None]:
    """Return the metrics that follow from the packet counts of a direction of a link."""
    if counted is None:
        return {}
    bits, lasted_ns = 8 * counted.delivered_bytes, span_ns[1] - span_ns[0]
    rate_bit_s, is_constant = constant_rate_bit_s(job, counted.path, counted.direction)
    could = None if rate_bit_s is None or not is_constant else rate_bit_s * lasted_ns / NS_PER_S
    return {
        "utilisation_ratio": bits / could if could else None,
        "packets": counted.offered_packets,
        "dropped_packets": counted.dropped_packets,
    }
