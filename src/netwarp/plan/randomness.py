"""Determines from its plan what is random in a run, and so whether replicates of it are samples.

Each replicate has its own seeds in any case. If nothing is drawn from them, all replicates in
virtual time are equal, and one represents all.
"""

from netwarp.transports import TRANSPORTS, is_simulated
from netwarp.wire import Job
from netwarp.wire.path import Impairments
from netwarp.workloads import runs_programs

REAL_TIME = "real time"
DRAWN_START = "start"
DRAWN_EVENTS = "times of events"
DETERMINISTIC_DISCIPLINES = frozenset({"codel"})
"""Qdiscs of the kernel that draw no random number: they neither hash flows nor drop at random."""


def randomness(job: Job, *, start: bool = False, events: bool = False) -> tuple[str, ...]:
    """Return what is random in a job, such as `loss`; empty if nothing is.

    Args:
        job: the job of a cell or of a run.
        start: whether the time at which a client begins is random.
        events: whether the times of outages or handovers are random.
    """
    found: dict[str, None] = {}
    for path in job.paths:
        for each in (path.down, path.up):
            found |= dict.fromkeys(_of_impairments(each))
    if job.timeline.redraws:
        found["redrawn delay"] = None
    for part in job.workloads:
        if is_simulated(part.transport.model):
            found["simulator"] = None
        arrivals = getattr(part.workload, "arrivals", None)
        if arrivals is not None and arrivals.kind not in ("constant", "trace"):
            found["arrivals"] = None
        if len({point.size_bytes for point in getattr(part.workload, "sizes", ())}) > 1:
            found["flow sizes"] = None
        if getattr(part.workload, "seek_ratio", 0):
            found["seeks"] = None
    found |= dict.fromkeys(own_draws(job))
    found |= {"programs": None} if runs_programs(job) else {}
    found |= {DRAWN_START: None} if start else {}
    found |= {DRAWN_EVENTS: None} if events else {}
    return tuple(found)


BBR_DRAWS = "BBR's cycle"


def own_draws(job: Job) -> tuple[str, ...]:
    """Return what the stacks of a job draw from the guest's random numbers, which follow from the
    run's seed; empty if that cannot change a result.

    Kernel TCP, SCTP and MPTCP, and TLS over TCP, draw ports, sequence numbers, tags and keys, none
    of which changes a size or a time. Two replicates of QUIC are often equal to a millionth while
    one in ten differs by a hundredth, so that equal ones say nothing about the next.

    QUIC (quinn-proto 0.11.19) adds a transport parameter of 0 to 15 bytes (RFC 9000, section 18.1),
    so that handshakes differ in size, and skips packet numbers (section 21.4), which has the peer
    acknowledge at once and in one range more. Identifiers, the order of parameters, the bit that
    RFC 9287 greases and key updates change no size and no time. BBR begins its cycle of gains at a
    random place (net/ipv4/tcp_bbr.c; quinn's congestion/bbr).
    """
    found: dict[str, None] = {}
    for part in job.workloads:
        transport = part.transport
        if is_simulated(transport.model):
            continue
        if draws := TRANSPORTS[transport.kind].own_draws:
            found[draws] = None
        if transport.congestion == "bbr":
            found[BBR_DRAWS] = None
    return tuple(found)


def drawn_later(job: Job) -> dict[str, float]:
    """Return what is random only in runs of a job that last longer than a given time: its name,
    with that time in s.
    """
    found: dict[str, float] = {}
    for part in job.workloads:
        if not is_simulated(part.transport.model):
            found |= TRANSPORTS[part.transport.kind].draws_later
    return found


def _of_impairments(each: Impairments) -> list[str]:
    return [
        name
        for name, drawn in (
            ("loss", each.loss.is_drawn),
            ("jitter", each.jitter_ns > 0),
            ("losses that the link repairs", each.link_loss_ratio > 0),
            ("reordering", each.reorder.ratio > 0),
            ("duplicates", each.duplicate_ratio > 0),
            ("corruption", each.corrupt_ratio > 0),
            (
                "queueing discipline",
                each.discipline is not None
                and each.discipline.kind not in DETERMINISTIC_DISCIPLINES,
            ),
        )
        if drawn
    ]
