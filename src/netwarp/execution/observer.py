"""What an execution tells whoever wants to know how far it is, such as a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.plan import PlannedRun
from netwarp.run_directory import Clock, Status

if TYPE_CHECKING:
    from netwarp.estimate.staging import TimeLimit


class Observer:
    """Called from several threads, while runs go side by side. A method that is not overridden does
    nothing.
    """

    def planned(self, runs: int, clock: Clock) -> None:
        """A study is about to run: how many runs it has, and whose time they tell."""

    def added(self, runs: int) -> None:
        """So many more runs were planned, to decide what was open."""

    def limited(self, limit: TimeLimit) -> None:
        """A time limit is reached: no more runs are added."""

    def started(self, run: PlannedRun) -> None:
        """A run begins."""

    def progressed(self, run: PlannedRun, virtual_s: float) -> None:
        """A run's clock has reached this many seconds."""

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """A run ended, now or (resumed) in an earlier execution."""

    def ended(self) -> None:
        """No run is under way any more: all have ended, or the execution was given up."""


Unobserved = Observer
"""An observer for callers that only want the outcome."""
