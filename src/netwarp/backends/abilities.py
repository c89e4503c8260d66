"""What each backend can do to packets on the path; a backend refuses what it does not list here.
Pure.
"""

from collections.abc import Iterable, Set

from netwarp.fields import DISCIPLINES
from netwarp.wire.asked import SEVERAL_PATHS, SEVERAL_WORKLOADS, Asked

IMPOSED = frozenset(
    {
        "delay_ns",
        "jitter_ns",
        "in_order",
        "loss.random",
        "loss.correlation",
        "loss.gemodel",
        "rate_bit_s",
        "shaper_queue_bytes",
        "reorder.ratio",
        "duplicate_ratio",
    }
)
"""Features that netem and the shaper provide in one direction, on a router or on a receiving
host."""
AT_THE_ENDS = frozenset({SEVERAL_PATHS, "neighbours.cold", "capture", SEVERAL_WORKLOADS})
"""Features that the two endpoints provide by themselves, without netem."""
BUILT = (
    IMPOSED
    | AT_THE_ENDS
    | {
        "corrupt_ratio",
        "aggregate_ns",
        "link_loss_ratio",
        "policer_bytes",
        "network",
        "ipv6",
        "dual",
    }
    | {f"discipline.{kind}" for kind in DISCIPLINES}
    | {f"timeline.events.change.{kind}" for kind in ("outage", "restore", "delay", "rate")}
    | {"timeline.events.change.attach", "timeline.events.change.detach"}
    | {"timeline.redraws", "timeline.traces"}
)
"""Features of paths between the endpoint's own network namespaces, in guests and on the host. All
queueing disciplines are among them: the endpoint does not compile without one.
"""
IN_GUESTS = BUILT | {"loss.every", "loss.packets", "network.nats", "network.silent"}
"""Features of paths in guests, whose kernel has nf_tables; a host's kernel may lack it."""


def beyond(asked: Iterable[Asked], can: Set[str], who: str) -> str | None:
    """Return the message that names the first feature which a job requires and a backend lacks;
    None if the backend has all of them.

    Args:
        asked: what the job requires, see :func:`netwarp.wire.asked.asked`.
        can: the features that the backend has.
        who: the backend's name in the message.
    """
    missing = next((each for each in asked if each.feature not in can), None)
    if missing is None:
        return None
    return f"it asks for {missing}, and {who} has none: leave it out"
