"""The progress bar: finished runs, the virtual and the wall clock, and their ratio."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from netwarp.cli.terminal import escaped
from netwarp.estimate.staging import TimeLimit
from netwarp.execution.observer import Observer
from netwarp.plan import PlannedRun
from netwarp.run_directory import Clock
from netwarp.run_status import Status
from netwarp.units import span_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from netwarp.execution.cost import Expected

LINE_EVERY_S = 10.0
WORTH_SAYING_S = 10.0
"""Minimum expected time in s that is announced to the user."""


class Clocks:
    """The sums, over all runs, of their virtual and their wall time. Pure: times are arguments."""

    def __init__(self, started_s: float, clock: Clock = "virtual") -> None:
        self.started_s = started_s
        self.clock = clock
        self.finished = 0
        self.failed = 0
        self.resumed = 0
        self._ended_virtual_s = 0.0
        self._running_virtual_s: dict[str, float] = {}

    @property
    def virtual_s(self) -> float:
        """Virtual seconds of all runs carried out here, finished or under way."""
        return self._ended_virtual_s + sum(self._running_virtual_s.values())

    def progressed(self, run: str, virtual_s: float) -> None:
        """Store the new time of a run's clock."""
        self._running_virtual_s[run] = virtual_s

    def ended(self, run: str, status: Status, *, resumed: bool) -> None:
        """Store that a run has ended. A run from an earlier execution adds nothing to the sums."""
        self._running_virtual_s.pop(run, None)
        self.finished += 1
        self.failed += status.outcome == "failed"
        self.resumed += resumed
        if not resumed:
            self._ended_virtual_s += status.virtual_s

    def text(self, now_s: float) -> str:
        """Return both clocks and the speed-up as text."""
        wall_s = now_s - self.started_s
        failed = f" · {self.failed} failed" if self.failed else ""
        if self.clock == "real":
            return f"real time · wall {span_text(wall_s)}{failed}"
        speed_up = self.virtual_s / wall_s if wall_s > 0 else 0.0
        return (
            f"virtual {span_text(self.virtual_s)} · wall {span_text(wall_s)}"
            f" · {speed_up:,.0f}×{failed}"
        )


class ProgressBar(Observer):
    """Displays the progress of runs: a bar on a terminal, and elsewhere a line from time to
    time.
    """

    def __init__(
        self, console: Console, warnings: Callable[[Clock], Iterable[str]] | None = None
    ) -> None:
        self._warnings = warnings
        self._made_s = time.monotonic()
        self.clocks = Clocks(self._made_s)
        self._total = 0
        self._console = console
        self._lock = threading.Lock()
        self._said_s = self.clocks.started_s
        self._progress: Progress | None = None
        self._study = ""

    def study(self, name: str) -> None:
        """Set the name of the study that begins next, if a command runs several."""
        self._study = f"{name}: "

    def kept_text(self) -> str:
        """Return a text about which runs of the present study are kept after an interruption."""
        if not self._total:
            return "nothing was run yet"
        if self.clocks.finished == self._total:
            return (
                f"all {self._total} runs are kept, the report is not drawn;"
                " the same command goes on from there"
            )
        return (
            f"{self.clocks.finished} of {self._total} runs are kept;"
            " the same command goes on from there"
        )

    def command_text(self) -> str:
        """Return a text about how long the command has taken so far, all studies, figures and
        reports included.
        """
        return f"{span_text(time.monotonic() - self._made_s)} in all, with figures and reports"

    def expected(self, expected: Expected, cpus: int, *, adds: bool) -> None:
        """Print how long a study is expected to take. For several studies, their sum has been
        printed before.
        """
        if not self._study and expected.wall_s(cpus) >= WORTH_SAYING_S:
            self._console.print(expected.text(cpus, adds=adds), highlight=False)

    def planned(self, runs: int, clock: Clock) -> None:
        """Show that a study begins, after warnings about questions that it cannot answer."""
        for text in () if self._warnings is None else self._warnings(clock):
            self._console.print(f"[yellow]warning:[/] {escaped(text)}", highlight=False)
        self.clocks = Clocks(time.monotonic(), clock)
        self._total = runs
        self._said_s = self.clocks.started_s
        if self._console.is_terminal:
            self._progress = _drawn(self._console)
            self._task = self._progress.add_task(
                escaped(self._study or "running"), total=runs, clocks=""
            )
            self._progress.start()

    def added(self, runs: int) -> None:
        """Show that more runs of the study begin."""
        self._total += runs
        if self._progress is not None:
            self._progress.update(self._task, total=self._total)

    def limited(self, limit: TimeLimit) -> None:
        """Show that the time limit, or a study's share of it, is reached."""
        what = "this study's share of the time limit" if limit.is_share else "the time limit"
        self._console.print(
            f"{what} of {span_text(limit.length_s)} is reached: no more replicates are added",
            highlight=False,
        )

    def started(self, run: PlannedRun) -> None:
        """Show that a run begins."""
        self.progressed(run, 0.0)

    def progressed(self, run: PlannedRun, virtual_s: float) -> None:
        """Show the new time of a run's clock."""
        with self._lock:
            self.clocks.progressed(run.run, virtual_s)
            self._draw()

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """Show that a run ended. A failed run is printed at once, not only at the end."""
        with self._lock:
            self.clocks.ended(run.run, status, resumed=resumed)
            if status.outcome == "failed":
                self._console.print(
                    f"[red]{run.run} failed:[/red] {escaped(str(status.reason))}", highlight=False
                )
            self._draw()

    def ended(self) -> None:
        """Show that no run is under way any more."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        self._print_line()

    def _draw(self) -> None:
        """Update the bar on a terminal; elsewhere print a line, if the last one was printed long
        enough ago.
        """
        now_s = time.monotonic()
        if self._progress is not None:
            self._progress.update(
                self._task, completed=self.clocks.finished, clocks=self.clocks.text(now_s)
            )
        elif now_s - self._said_s >= LINE_EVERY_S:
            self._said_s = now_s
            self._print_line()

    def _print_line(self) -> None:
        """Print a line with the number of finished runs and the clocks."""
        resumed = f" ({self.clocks.resumed} from before)" if self.clocks.resumed else ""
        self._console.print(
            f"{escaped(self._study)}{self.clocks.finished} of {self._total} runs{resumed} ·"
            f" {self.clocks.text(time.monotonic())}",
            highlight=False,
        )


def _drawn(console: Console) -> Progress:
    """Return the display that draws the progress bar. Its library is imported only if there is a
    terminal.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[clocks]}"),
        TimeRemainingColumn(),
        console=console,
    )
