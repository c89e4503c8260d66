"""When a client that had moved abandoned its connections and opened new ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from netwarp.measure.run_records import RunRecords
from netwarp.measure.select import connections
from netwarp.wire import Connection, Handover


@dataclass(frozen=True)
class Redial:
    """The replacement of a client's connections after a handover."""

    moved_ns: int
    """Time in ns at which the client was informed of its new address."""
    dialled: tuple[Connection, ...]
    """The connections that the client then opened; one of them can replace several."""

    @property
    def ready_ns(self) -> int:
        """Time in ns at which the first of the new connections was ready."""
        return min(each.connected_ns for each in self.dialled)


def redials(run: RunRecords) -> list[Redial]:
    """Return the replacements of connections after each handover of a run, in order; empty if
    connections move with the client.
    """
    dialled = sorted(connections(run.measured, "client"), key=lambda each: each.start_ns)
    moved_ns = sorted(each.at_ns for each in run.of_kind(Handover))
    found = []
    for since_ns, until_ns in pairwise([*moved_ns, run.span_ns[1]]):
        new = tuple(each for each in dialled if since_ns <= each.start_ns < until_ns)
        if new and any(each.abandoned for each in dialled if each.start_ns < since_ns):
            found.append(Redial(since_ns, new))
    return found
