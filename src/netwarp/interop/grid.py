"""The grid of interop results: for each pair of stacks and each test case, whether it worked, how
often, and why not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from netwarp.interop.plan import Asked
from netwarp.interop_cases import CaseName

Result = Literal["succeeded", "failed", "unsupported"]


@dataclass(frozen=True)
class Judged:
    """One run of a pair of stacks in a test case, with the judgement on it."""

    run: str
    """Name of the run in the test case's run directory."""
    pattern: int
    """Which of the seeds the run had, counted from 1."""
    wrong: str | None
    """What was wrong in the run; None if nothing was."""
    kbit_s: float | None = None
    """Goodput of the run in kbit/s; None if it failed, or the case does not measure it."""
    is_unsupported: bool = False
    """Whether one of the run's programs exited with the status for a test case that it does not
    support.
    """


@dataclass(frozen=True)
class Field:
    """One field of the grid: a pair of stacks in a test case."""

    client: str
    server: str
    case: CaseName
    runs: tuple[Judged, ...]
    cannot: str | None = None
    """Reason why the test case cannot be run with the pair; None if it can."""

    @property
    def failed(self) -> tuple[Judged, ...]:
        """The runs in which something was wrong."""
        return tuple(run for run in self.runs if run.wrong is not None)

    @property
    def result(self) -> Result:
        """The result in the interop runner's words: `succeeded` if every run succeeded."""
        if any(run.is_unsupported for run in self.runs):
            return "unsupported"
        return "failed" if self.cannot or self.failed or not self.runs else "succeeded"

    @property
    def reason(self) -> str | None:
        """A sentence on why the pair did not succeed in the case, the most frequent reason of
        several; None if it did.
        """
        if self.result == "succeeded":
            return None
        if self.cannot is not None or not self.runs:
            return self.cannot or "it was not run"
        counted = Counter(run.wrong for run in self.failed)
        most = counted.most_common(1)[0][0]
        if len(self.runs) == 1 or self.result == "unsupported":
            return most
        return f"{self.share}: {most}"

    @property
    def share(self) -> str:
        """Text on how many of the field's loss patterns the pair failed with."""
        return f"fails in {len(self.failed)} of {len(self.runs)} loss patterns"

    @property
    def kbit_s(self) -> tuple[float, ...]:
        """The goodput of each run that succeeded, in kbit/s."""
        return tuple(run.kbit_s for run in self.runs if run.kbit_s is not None)


@dataclass(frozen=True)
class Grid:
    """A grid of interop results, with a field for each pair of stacks and test case."""

    asked: Asked
    fields: Mapping[tuple[str, str, CaseName], Field]

    def field(self, client: str, server: str, case: CaseName) -> Field:
        """Return the field of a pair and a case."""
        return self.fields[client, server, case]

    def counted(self) -> Counter[Result]:
        """Return the number of fields with each result."""
        return Counter(field.result for field in self.fields.values())
