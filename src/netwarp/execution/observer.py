"""The interface by which an execution reports its progress, for instance to a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.plan import PlannedRun
from netwarp.run_directory import Clock
from netwarp.run_status import Status

if TYPE_CHECKING:
    from netwarp.estimate.staging import TimeLimit
    from netwarp.execution.cost import Expected


class Observer:
    """An object that is notified of the progress of runs: its methods are called from several
    threads. A method that is not overridden does nothing.
    """

    def expected(self, expected: Expected, cpus: int, *, adds: bool) -> None:
        """Called before a study runs in virtual time, if it has runs that are not kept.

        Args:
            expected: the expected cost of these runs.
            cpus: number of runs that are carried out at a time.
            adds: whether replicates may be added, which takes longer.
        """

    def planned(self, runs: int, clock: Clock) -> None:
        """Called before a study runs, with the number of its runs and the clock of its results."""

    def added(self, runs: int) -> None:
        """Called when further runs are planned in order to decide undecided questions."""

    def limited(self, limit: TimeLimit) -> None:
        """Called when a time limit is reached, after which no more runs are added."""

    def started(self, run: PlannedRun) -> None:
        """Called when a run begins."""

    def progressed(self, run: PlannedRun, virtual_s: float) -> None:
        """Called when a run's clock has reached this many seconds."""

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """Called when a run has ended, either now or, if `resumed`, in an earlier execution."""

    def ended(self) -> None:
        """Called when no run is under way any more: all have ended, or the execution was
        aborted.
        """


Unobserved = Observer
"""An observer that ignores all calls."""
