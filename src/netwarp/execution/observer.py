"""What an execution tells whoever wants to know how far it is, such as a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from netwarp.estimate.staging import TimeLimit
    from netwarp.plan import PlannedRun
    from netwarp.run_directory import Clock, Status


class Observer(Protocol):
    """Called from several threads, while runs go side by side."""

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


class Unobserved:
    """An observer for callers that only want the outcome."""

    def planned(self, runs: int, clock: Clock) -> None:
        """Do nothing."""

    def added(self, runs: int) -> None:
        """Do nothing."""

    def limited(self, limit: TimeLimit) -> None:
        """Do nothing."""

    def started(self, run: PlannedRun) -> None:
        """Do nothing."""

    def progressed(self, run: PlannedRun, virtual_s: float) -> None:
        """Do nothing."""

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """Do nothing."""

    def ended(self) -> None:
        """Do nothing."""
