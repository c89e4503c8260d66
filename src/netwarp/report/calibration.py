"""Compares the configured with the measured path of each cell: loss, delay and rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netwarp.estimate.stats import binomial_interval
from netwarp.results import CellResult
from netwarp.units import ETHERNET_HEADER_BYTES
from netwarp.wire import (
    Delay,
    Direction,
    GemodelLoss,
    Job,
    ListedLoss,
    Loss,
    Outage,
    PeriodicLoss,
    RandomLoss,
    Rate,
)
from netwarp.wording import cell_text, count, number, percent, rate_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.evaluation import RunData
    from netwarp.wire import Path

Mark = Literal["good", "check", "bad", "none"]
# Time that a small probe takes beyond the delay on a slow path.
RTT_SLACK_S = 0.001


@dataclass(frozen=True)
class Calibration:
    """The configured and the measured path of a cell in one direction."""

    cell: str
    way: str
    configured_loss: str
    packets: str
    lost: str
    overflow: str
    loss: str
    interval: str
    loss_says: str
    loss_mark: Mark
    configured_rtt: str
    rtt: str
    rtt_mark: Mark
    configured_rate: str
    rate: str
    frame: str
    largest_frame: str
    frame_mark: Mark


def calibration(data: RunData) -> list[Calibration]:
    """Compare the configured path with the measured one, for each cell.

    The confidence intervals are simultaneous (Bonferroni): in 95 of 100 reports no cell is marked
    as wrong by chance.
    """
    found: list[tuple[CellResult, Direction, Job | None]] = []
    for cell in data.results.cells:
        job = data.job(cell.runs[0].run)
        direction = job.direction if job else "down"
        directions: list[Direction] = [direction]
        other: Direction = "up" if direction == "down" else "down"
        if cell.total(f"path_dropped_{other}") or (job and _asks_for_loss(job, other)):
            directions.append(other)
        found += [(cell, each, job) for each in directions]
    confidence = 1 - 0.05 / max(1, len(found))
    return [
        _calibrated(cell, direction, job, confidence)
        for cell, direction, job in found
        if cell.total(f"path_packets_{direction}")
    ]


def _calibrated(
    cell: CellResult, direction: Direction, job: Job | None, confidence: float
) -> Calibration:
    """Compare one direction of a cell's path with what was configured."""
    packets = int(cell.total(f"path_packets_{direction}") or 0)
    dropped = int(cell.total(f"path_dropped_{direction}") or 0)
    overflow = cell.total(f"path_overflow_{direction}")
    # A kernel that does not distinguish the two reports both in one number.
    lost = dropped - int(overflow or 0)
    told_apart = overflow is not None
    if job is not None and _is_numbered(job, direction):
        packets_of_runs = cell.values(f"path_packets_{direction}")
        says, mark = _numbered_check(job, direction, lost, packets_of_runs, told_apart=told_apart)
    else:
        says, mark = _compared_loss(
            job, direction, lost, packets, confidence, told_apart=told_apart
        )
    low, high = binomial_interval(lost, packets, confidence)
    # Between two hosts the network's own delay comes first, and cannot be configured.
    added_s = cell.values("path_imposed_rtt_s")
    rtt_s = min(added_s or _probed_s(cell, job), default=None)
    rate_bit_s = max(cell.values(f"path_rate_{direction}_bit_s"), default=None)
    bytes_ = cell.total(f"wire_bytes_{direction}")
    frame_bytes = None if bytes_ is None else bytes_ / packets
    mtus_bytes = [path.mtu_bytes for path in _paths(job)] if job else []
    most_bytes = max(mtus_bytes) + ETHERNET_HEADER_BYTES if mtus_bytes else None
    return Calibration(
        cell=cell_text(cell.factors),
        way="server → client" if direction == "down" else "client → server",
        configured_loss=_configured_loss_text(job, direction),
        packets=count(packets),
        lost=count(lost),
        overflow="not told apart" if overflow is None else count(int(overflow)),
        loss=percent(lost / packets),
        interval=f"{percent(low)} to {percent(high)}",
        loss_says=says,
        loss_mark=mark,
        configured_rtt=_configured_rtt_text(job),
        rtt="not probed" if rtt_s is None else f"{number(rtt_s * 1e3, 5)} ms",
        rtt_mark=_rtt_mark(job, rtt_s),
        configured_rate=_configured_rate_text(job, direction),
        rate=rate_text(rate_bit_s, unlimited="–"),
        frame="not counted" if frame_bytes is None else f"{count(round(frame_bytes))} B",
        largest_frame="unknown" if most_bytes is None else f"{count(most_bytes)} B",
        frame_mark=_frame_mark(frame_bytes, most_bytes),
    )


def _probed_s(cell: CellResult, job: Job | None) -> Sequence[float]:
    """Return the round-trip times in s that probes measured, of the path or between the hosts of a
    network.
    """
    if job is None or job.network is None:
        return cell.values("path_min_rtt_s")
    names = [f"{each.name}.path_min_rtt_s" for each in job.workloads]
    return [rtt_s for name in names for rtt_s in cell.values(name)]


def _frame_mark(frame_bytes: float | None, most_bytes: int | None) -> Mark:
    if frame_bytes is None or most_bytes is None:
        return "none"
    return "good" if frame_bytes <= most_bytes else "bad"


def _compared_loss(
    job: Job | None,
    direction: Direction,
    lost: int,
    packets: int,
    confidence: float,
    *,
    told_apart: bool,
) -> tuple[str, Mark]:
    if job is None:
        return ("the job was not kept", "none")
    if job.timeline.has_handovers or any(isinstance(e.change, Outage) for e in job.timeline.events):
        return ("a path that is out loses every packet: not compared", "none")
    losses = _losses(job, direction)
    if len(losses) > 1:
        return ("the paths differ in it: not compared", "none")
    return _loss_check(losses[0], lost, packets, confidence, told_apart=told_apart)


def _loss_check(
    loss: Loss, lost: int, packets: int, confidence: float, *, told_apart: bool
) -> tuple[str, Mark]:
    if isinstance(loss, GemodelLoss) or (isinstance(loss, RandomLoss) and loss.correlation):
        return ("losses are correlated: no simple interval", "none")
    ratio = loss.mean_ratio
    low, high = binomial_interval(lost, packets, confidence)
    if low <= ratio <= high:
        return ("as configured", "good")
    if ratio < low and not told_apart:
        return ("more than configured: a full queue drops as well", "check")
    return ("more than configured" if ratio < low else "less than configured", "bad")


def _is_numbered(job: Job, direction: Direction) -> bool:
    return any(isinstance(each, PeriodicLoss | ListedLoss) for each in _losses(job, direction))


def _numbered_check(
    job: Job, direction: Direction, lost: int, packets: list[float], *, told_apart: bool
) -> tuple[str, Mark]:
    """Return the check of losses that are defined by packet number; the number expected among the
    packets of each run is exact.
    """
    loss = getattr(job.paths[0], direction).loss
    if len(job.paths) > 1 or not isinstance(loss, PeriodicLoss | ListedLoss):
        return ("each path counts its own packets: not compared", "none")
    if job.paths[0].neighbours == "cold" or not job.timeline.is_empty:
        return ("ARP and outages are among the packets: not compared", "none")
    due = sum(loss.lost_of(int(each)) for each in packets)
    if lost == due:
        return ("as configured", "good")
    if lost > due and not told_apart:
        return (f"{count(due)} were due, and a full queue drops as well", "check")
    return (f"{count(due)} were due", "bad")


def _rtt_mark(job: Job | None, rtt_s: float | None) -> Mark:
    if job is None or rtt_s is None or _delay_changes(job):
        return "none"
    if any(path.down.jitter_ns or path.up.jitter_ns for path in _paths(job)):
        return "none"
    is_as_configured = any(
        configured_s <= rtt_s <= configured_s + RTT_SLACK_S for configured_s in _base_rtts_s(job)
    )
    return "good" if is_as_configured else "check"


def _paths(job: Job) -> Sequence[Path]:
    """Return the paths of a job; in a network of several hosts, those between the hosts of its
    workloads.
    """
    if job.network is None:
        return job.paths
    return [path for each in job.each_alone for path in each.paths]


def _delay_changes(job: Job) -> bool:
    timeline = job.timeline
    return bool(timeline.redraws) or any(isinstance(e.change, Delay) for e in timeline.events)


def _rate_changes(job: Job, direction: Direction) -> bool:
    set_to = [e.change.direction for e in job.timeline.events if isinstance(e.change, Rate)]
    return direction in (*set_to, *(trace.direction for trace in job.timeline.traces))


def _asks_for_loss(job: Job, direction: Direction) -> bool:
    return any(loss.kind != "none" for loss in _losses(job, direction))


def _losses(job: Job, direction: Direction) -> list[Loss]:
    """Return the distinct loss models with which the paths were configured."""
    return list(dict.fromkeys(getattr(path, direction).loss for path in _paths(job)))


def _base_rtts_s(job: Job) -> list[float]:
    """Return the distinct configured round-trip times of the paths, in s."""
    return list(dict.fromkeys(path.idle_rtt_ns / 1e9 for path in _paths(job)))


def _configured_rtt_text(job: Job | None) -> str:
    if job is None:
        return "unknown"
    if _delay_changes(job):
        return "a delay that changes over time"
    return " or ".join(f"{number(rtt_s * 1e3, 4)} ms" for rtt_s in _base_rtts_s(job))


def _configured_rate_text(job: Job | None, direction: Direction) -> str:
    if job is None:
        return "unknown"
    if _rate_changes(job, direction):
        return "a rate that changes over time"
    rates_bit_s = dict.fromkeys(getattr(path, direction).rate_bit_s for path in _paths(job))
    return " or ".join(map(rate_text, rates_bit_s))


def _configured_loss_text(job: Job | None, direction: Direction) -> str:
    if job is None:
        return "unknown"
    return " or ".join(loss_text(loss) for loss in _losses(job, direction))


def loss_text(loss: Loss) -> str:
    """Return as text which packets a loss model loses."""
    if isinstance(loss, PeriodicLoss):
        return f"every {count(loss.packets)}th packet"
    if isinstance(loss, ListedLoss):
        return f"packets {', '.join(map(str, loss.numbers))}"
    if isinstance(loss, GemodelLoss):
        return f"{percent(loss.mean_ratio)} on average, in bursts (Gilbert–Elliott)"
    return percent(loss.mean_ratio)
