"""Determines the factor whose levels are compared with each other; the other factors are
conditions.
"""

import re
from collections.abc import Collection, Mapping

LATENCY = "rtt_under_load_s_p95"
"""The metric that is added to the main one if queues may differ."""
_SHAPES_QUEUES = re.compile(r"(^path\.|\.)(queue|discipline|congestion)$")
_COMPARED = (
    re.compile(r"transport"),
    re.compile(r"workload\.http"),
    re.compile(r"transport\..*|workload\.[^.]+\.transport.*"),
    re.compile(r"workload\.(.*\.)?(kind|client|server|rule|dial)"),
    re.compile(r"path\.discipline"),
    re.compile(r"path\.queue"),
    re.compile(r"kernel"),
)
"""Factors whose levels are compared with each other instead of being conditions, in order of
precedence: the transport, its settings, the path's queueing discipline and queue, and the guest
kernel."""


def contender_factor(
    levels: Mapping[str, Collection[str]], against: str | None = None
) -> str | None:
    """Return the factor whose levels are compared with each other.

    It is the one that the study names; else, in this order, the transport, its congestion control
    or another setting, or the queueing discipline; else the first factor.

    Args:
        levels: the levels of each factor, in the study's order.
        against: the factor that the study names; None if it names none.

    Returns:
        None if there is no factor.
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
    """Return whether the queue at the bottleneck depends on this factor."""
    return _SHAPES_QUEUES.search(factor) is not None
