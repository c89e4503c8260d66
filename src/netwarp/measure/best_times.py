"""The best possible completion time of a workload, which it has on idle links between its two
hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.measure.rates import constant_rate_bit_s
from netwarp.units import NS_PER_S
from netwarp.wire import Delay, Direction, Exchange, Job
from netwarp.wire.network import nodes_between


@dataclass(frozen=True)
class IdleWay:
    """The round-trip time and the rate of the links between a client and its server if nothing else
    is sent.
    """

    rtt_ns: int
    """The sum of the links' round-trip times."""
    rate_bit_s: int | None
    """Lowest rate of the links in the direction of the content, in bit/s; None if it is
    unlimited.
    """

    def best_s(self, content_bits: int) -> float:
        """Return the best possible completion time in s: a round-trip time, plus the content's bits
        at the lowest rate.
        """
        sending_s = content_bits / self.rate_bit_s if self.rate_bit_s else 0.0
        return self.rtt_ns / NS_PER_S + sending_s


def idle_way(job: Job, exchange: Exchange) -> IdleWay | None:
    """Return the round-trip time and the rate of the idle links between a workload's hosts.

    Args:
        job: the run's job, with all its links.
        exchange: the workload.

    Returns:
        None if the rate of a link changes in the direction of the content, or if there are several
            paths.
    """
    if len(job.paths) != 1 and exchange.ends is None:
        return None
    rtt_ns, rates = 0, []
    for index, direction in _crossed(job, exchange):
        rate_bit_s, is_constant = constant_rate_bit_s(job, index, direction)
        if not is_constant:
            return None
        rates += [] if rate_bit_s is None else [rate_bit_s]
        rtt_ns += job.paths[index].idle_rtt_ns
    return IdleWay(rtt_ns, min(rates, default=None))


def has_changing_delay(job: Job, exchange: Exchange) -> bool:
    """Return whether the delay of a link between a workload's hosts changes during the run."""
    crossed = {index for index, _ in _crossed(job, exchange)}
    changes = [each.path for each in job.timeline.events if isinstance(each.change, Delay)]
    return not crossed.isdisjoint(changes + [each.path for each in job.timeline.redraws])


def _crossed(job: Job, exchange: Exchange) -> Sequence[tuple[int, Direction]]:
    """Return the index of each link between a workload's hosts, and the direction of the link in
    which the content crosses it.
    """
    if job.network is None or exchange.ends is None:
        return [(0, exchange.workload.direction)]
    found: list[tuple[int, Direction]] = []
    nodes = nodes_between(job.network, exchange.ends)
    for index, at in zip(exchange.ends.links, nodes, strict=False):
        is_forward = job.network.links[index].first == at
        goes_up = (exchange.workload.direction == "up") == is_forward
        found.append((index, "up" if goes_up else "down"))
    return found
