"""Which factor's levels are compared with each other, and which are conditions."""

import re
from collections.abc import Collection, Mapping

LATENCY = "rtt_under_load_s_p95"
"""The metric that is an answer beside the main one where queues may differ."""
_SHAPES_QUEUES = re.compile(r"(^path\.|\.)(queue|discipline|congestion)$")
_COMPARED = (
    re.compile(r"transport"),
    re.compile(r"workload\.http"),
    re.compile(r"transport\..*|workload\.[^.]+\.transport.*"),
    re.compile(r"workload\.(.*\.)?(kind|client|server|rule|dial)"),
    re.compile(r"path\.discipline"),
    re.compile(r"path\.queue"),
)
"""Factors that are compared rather than conditions under which others are, first those that are
before all others: who transfers, how it is set, and what the path does with its queue."""


def contender_factor(
    levels: Mapping[str, Collection[str]], against: str | None = None
) -> str | None:
    """Name the factor whose levels are compared with each other.

    It is the one that the study says; else the transport, its congestion control and the like, the
    queueing discipline; else the first factor.

    Args:
        levels: the levels of each factor, in the study's order.
        against: the factor that the study says; None where it says none.

    Returns:
        None where there is no factor.
    """
    if against is not None and against in levels:
        return against
    varying = [factor for factor, values in levels.items() if len(values) > 1]
    for kind in _COMPARED:
        for factor in varying:
            if kind.fullmatch(factor):
                return factor
    return varying[0] if varying else next(iter(levels), None)


def shapes_queues(factor: str) -> bool:
    """Whether the queue at the bottleneck depends on a factor."""
    return _SHAPES_QUEUES.search(factor) is not None
