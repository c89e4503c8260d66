"""How much longer a transfer takes than it would on an idle path.

It is the measure used in the literature on data centres: flow completion times "normalised to the
best possible" one (Alizadeh et al., pFabric, SIGCOMM 2013, section 5), "slowdown" (Montazeri et
al., Homa, SIGCOMM 2018, section 5). If flows have different sizes, it shows what a mean completion
time, which depends mostly on the largest flows, does not.
"""

from netwarp.measure.best_times import idle_way
from netwarp.measure.metric import Metric, unmeasured
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
        A ratio; None if the records or the job do not determine it.
    """
    if job.network is None or exchange.ends is None or completion_s is None:
        return None
    way = idle_way(job, exchange)
    best_s = way.best_s(content_bits) if way is not None else None
    return completion_s / best_s if best_s else None
