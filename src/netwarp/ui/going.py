"""Progress of a comparison while it runs: how many runs have ended, and the clocks of the
others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from netwarp.execution.observer import Observer

if TYPE_CHECKING:
    from netwarp.plan import PlannedRun
    from netwarp.run_status import Status
    from netwarp.study import Study

EVERY_S = 0.5
"""Minimum time in s between two messages about progress. A comparison that ends sooner sends
none."""
WORTH_SAYING_S = 10.0
"""Minimum expected time in s of a comparison for which that time is shown; a shorter one ends
before a user has read it."""


class Going(Observer):
    """Sends the progress of runs that are going on to a page.

    Args:
        put: sends an event.
        runs: number of all runs.
        clock: returns the time in s, from any start.
    """

    def __init__(
        self,
        put: Callable[[str, dict[str, Any]], None],
        runs: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._put, self._runs, self._clock = put, runs, clock
        self._lock = threading.Lock()
        self._ended: set[str] = set()
        self._reached_s: dict[str, float] = {}
        self._said_s = clock()

    def progressed(self, run: PlannedRun, virtual_s: float) -> None:
        """Store the current time on the clock of a run that is under way."""
        with self._lock:
            self._reached_s[run.run] = virtual_s
            self._put_progress()

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """Count a run that has ended. A run that is reported twice counts once."""
        with self._lock:
            self._ended.add(run.run)
            self._reached_s.pop(run.run, None)
            self._put_progress()

    def _put_progress(self) -> None:
        now_s = self._clock()
        if now_s < self._said_s + EVERY_S:
            return
        self._said_s = now_s
        said = {"ended": len(self._ended), "of": self._runs,
                "reached_s": min(self._reached_s.values(), default=None)}  # fmt: skip
        self._put("progress", said)


def expected_text(study: Study, cpus: int) -> str:
    """Return as text the approximate time that all runs of a study take; "" if it is too short to
    be shown.
    """
    from netwarp.execution.cost import expected_cpu_s
    from netwarp.units import span_text

    cpu_s = expected_cpu_s(cell.template for cell in study.cells for _ in range(study.replicates))
    return f"about {span_text(cpu_s / cpus)}" if cpu_s / cpus >= WORTH_SAYING_S else ""
