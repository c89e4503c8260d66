"""How much longer a transfer takes than it would on an idle path.

The measure of the literature on data centres: flow completion times "normalised to the best
possible" one (Alizadeh et al., pFabric, SIGCOMM 2013, section 5), "slowdown" (Montazeri et al.,
Homa, SIGCOMM 2018, section 5). Where sizes differ it tells what a mean completion time hides, for
that is the largest flows'.
"""

from netwarp.measure.metric import Metric, unmeasured
from netwarp.metrics.rates import constant_rate_bit_s
from netwarp.units import NS_PER_S
from netwarp.wire import Exchange, Job

SLOWDOWN_INDEX = Metric(
    "slowdown_index", "index", "lower", "Slowdown",
    "Completion time, divided by the best possible one on an idle path: a round-trip time, and the"
    " content's bits at the lowest rate of the links between the two hosts, headers not counted. A"
    " handshake before the request is part of the completion time alone. Missing where a link's"
    " rate changes.",
    "transfer", unmeasured, head="slowdown", in_report=True,
)  # fmt: skip


def slowdown_index(
    job: Job, exchange: Exchange, completion_s: float | None, content_bits: int
) -> float | None:
    """Return the slowdown of a workload in a network of several hosts.

    Args:
        job: the run's job.
        exchange: the workload.
        completion_s: its completion time in s; None if it has none.
        content_bits: its content in bits.

    Returns:
        A ratio; None where the records or the job do not determine it.
    """
    best_s = _best_s(job, exchange, content_bits)
    return completion_s / best_s if completion_s is not None and best_s else None


def _best_s(job: Job, exchange: Exchange, content_bits: int) -> float | None:
    """Return the best possible completion time in s; None where a link's rate changes."""
    if job.network is None or exchange.ends is None:
        return None
    at, idle_ns, rates = exchange.ends.client, 0, []
    for index in exchange.ends.links:
        link = job.network.links[index]
        is_forward = link.first == at
        at = link.second if is_forward else link.first
        goes_up = (exchange.workload.direction == "up") == is_forward
        rate_bit_s, is_constant = constant_rate_bit_s(job, index, "up" if goes_up else "down")
        if not is_constant:
            return None
        rates += [] if rate_bit_s is None else [rate_bit_s]
        idle_ns += job.paths[index].idle_rtt_ns
    return idle_ns / NS_PER_S + (content_bits / min(rates) if rates else 0.0)
