"""Finds measured reasons why a cell differs in real time from virtual time. Pure.

Three of these reasons do not exist in virtual time: CPU time, segmentation and receive offloads of
the hosts, and other traffic. The fourth is a path that differs from the configured one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netwarp.machine.load import DISTURBING
from netwarp.measure.two_hosts import LOST_SHARE, RTT_LEAST_NS
from netwarp.units import NS_PER_S
from netwarp.wording import percent, quantity, value_text

if TYPE_CHECKING:
    from netwarp.results import CellResult

Cause = Literal["path", "CPU", "cross traffic", "offloads", "unknown"]
EXPLAINS = 0.25
"""Minimum share of a difference that CPU time must reach to count as its explanation."""
RTT_LEAST_S = RTT_LEAST_NS / NS_PER_S


@dataclass(frozen=True)
class Reason:
    """A measured property that may explain a difference."""

    cause: Cause
    text: str


@dataclass(frozen=True)
class PathAsked:
    """The configured rates, delays and losses of the path in virtual time, in both directions."""

    rtt_s: float
    rate_down_bit_s: int | None
    """The rate from server to client, in bit/s; None if the path does not limit it."""
    rate_up_bit_s: int | None
    loss_down: float
    """Mean loss ratio from server to client."""
    loss_up: float
    has_jitter: bool

    @property
    def rates(self) -> tuple[tuple[str, int | None], tuple[str, int | None]]:
        """The rates of both directions in bit/s, each with the direction's name."""
        return ("down", self.rate_down_bit_s), ("up", self.rate_up_bit_s)

    @property
    def losses(self) -> tuple[tuple[str, float], tuple[str, float]]:
        """The loss ratios of both directions, each with the direction's name."""
        return ("down", self.loss_down), ("up", self.loss_up)


def reasons(
    asked: PathAsked | None,
    real: CellResult,
    metric: str,
    gap: float,
    relevant: float,
    offloads: Mapping[str, Sequence[str]],
) -> tuple[Reason, ...]:
    """Return possible reasons why a cell differs in real time from virtual time.

    Args:
        asked: the path in virtual time; None if unknown.
        real: the cell in real time.
        metric: the metric compared.
        gap: real minus virtual, in the metric's unit.
        relevant: the smallest relevant difference, as a share.
        offloads: offloads that are on, by host.
    """
    found = [
        *(_of_path(asked, real, relevant) if asked else ()),
        *_of_cpu(real, metric, gap),
        *_of_cross_traffic(asked, real),
        *_of_offloads(offloads),
    ]
    nothing = "nothing that was measured stands out: path, CPU, cross traffic and offloads"
    return tuple(found) or (Reason("unknown", nothing),)


def _of_path(asked: PathAsked, real: CellResult, relevant: float) -> Iterator[Reason]:
    rtt_s = _median(real, "path_min_rtt_s")
    if rtt_s is not None and abs(rtt_s - asked.rtt_s) > relevant * asked.rtt_s:
        there, here = (value_text("path_min_rtt_s", each) for each in (rtt_s, asked.rtt_s))
        yield Reason("path", f"its RTT is {there}, in virtual time {here}")
    for direction, rate_bit_s in asked.rates:
        metric = f"probed_rate_{direction}_bit_s"
        probed_bit_s = max(real.values(metric), default=None)
        if probed_bit_s is None:
            continue
        arrives = f"packets {_WAY[direction]} arrive at {value_text(metric, probed_bit_s)}"
        if rate_bit_s is None:
            yield Reason("path", f"{arrives}, in virtual time at any rate")
        elif probed_bit_s < rate_bit_s * (1 - relevant):
            yield Reason("path", f"{arrives}, in virtual time at {value_text(metric, rate_bit_s)}")
    for direction, loss in asked.losses:
        probed = _mean(real, f"probed_loss_{direction}")
        if probed is not None and abs(probed - loss) > LOST_SHARE / 10:
            yield Reason(
                "path",
                f"{percent(probed, 2)} of the probes {_WAY[direction]} were lost, and"
                f" {percent(loss, 2)} of the packets in virtual time",
            )


_WAY = {"down": "from the server", "up": "to the server"}


def _of_cpu(real: CellResult, metric: str, gap: float) -> Iterator[Reason]:
    used = [_mean(real, f"cpu_{side}_s") for side in ("client", "server")]
    cpu_s = sum(each for each in used if each is not None)
    is_time = quantity(metric, 1.0).unit == "s"
    if is_time and gap > 0 and cpu_s > EXPLAINS * gap:
        yield Reason(
            "CPU",
            f"both ends used {value_text(metric, cpu_s)} of CPU time, which is free in virtual"
            f" time; the difference is {value_text(metric, gap)}",
        )
    for side in ("client", "server"):
        busy = _mean(real, f"{side}_busy_ratio")
        if busy is not None and busy > 1 - EXPLAINS:
            yield Reason("CPU", f"{percent(busy, 2)} of the {side}'s CPUs were in use")


def _of_cross_traffic(asked: PathAsked | None, real: CellResult) -> Iterator[Reason]:
    disturbed = sum(real.values("disturbed_ratio"))
    if disturbed:
        yield Reason(
            "cross traffic", f"the path changed during {disturbed:g} of {len(real.runs)} runs"
        )
    least_s, high_s = _median(real, "path_min_rtt_s"), _median(real, "path_rtt_s_p90")
    if least_s is None or high_s is None or (asked is not None and asked.has_jitter):
        return
    if high_s - least_s > max(RTT_LEAST_S, DISTURBING * least_s):
        low, high = (value_text("path_min_rtt_s", each) for each in (least_s, high_s))
        yield Reason(
            "cross traffic",
            f"without the run's own packets the RTT was {low} at best and up to {high} in nine of"
            " ten probes: others' packets, or busy hosts",
        )


def _of_offloads(offloads: Mapping[str, Sequence[str]]) -> Iterator[Reason]:
    on = [f"{', '.join(names)} at the {host}" for host, names in offloads.items() if names]
    if on:
        yield Reason(
            "offloads",
            f"{' and '.join(on)}: segments leave in bursts and are acknowledged by the burst, in"
            " virtual time one by one",
        )


def _mean(cell: CellResult, metric: str) -> float | None:
    estimate = cell.estimate(metric)
    return None if estimate is None else estimate.mean


def _median(cell: CellResult, metric: str) -> float | None:
    estimate = cell.estimate(metric)
    return None if estimate is None else estimate.median
