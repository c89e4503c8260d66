"""What moving between access points cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.metrics.select import connections, of_kind
from netwarp.units import NS_PER_S
from netwarp.wire import Handover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Job, Record


def roaming_metrics(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute reconnections and the gaps at handovers; nothing where the client stays."""
    if not job.timeline.has_handovers:
        return {}
    given_up = sum(connection.abandoned for connection in connections(records, "client"))
    found: dict[str, float] = {"reconnections": given_up}
    handovers = of_kind(records, Handover)
    gaps_ns = [each.longest_gap_ns for each in handovers if each.longest_gap_ns is not None]
    if gaps_ns:
        found["handover_gap_s"] = sum(gaps_ns) / len(gaps_ns) / NS_PER_S
        found["handover_gap_s_max"] = max(gaps_ns) / NS_PER_S
    return found
