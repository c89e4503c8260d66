"""The reproduction of a source document: results of its studies and controls, and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from netwarp.claims import ClaimResult, ClaimVerdict, not_tested
from netwarp.estimate.comparison import ALPHA
from netwarp.machine import load
from netwarp.run_directory import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from netwarp.evaluation import RunData
    from netwarp.sources.sources import Source
    from netwarp.study import Study
    from netwarp.study.claims import Control


@dataclass(frozen=True)
class Executed:
    """The execution of a study, complete, partial or refused."""

    study: Study
    directory: Path
    finished: RunData | None
    refused: str | None
    """Why this machine cannot run it, or a part of it; None if it was run completely."""

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The results of its claims, in order."""
        if self.finished is None:
            why = self.refused or "it was not run"
            return [not_tested(claim, claim.not_testable or why) for claim in self.study.claims]
        return [self._with_reason(result) for result in self.finished.claims]

    def _with_reason(self, result: ClaimResult) -> ClaimResult:
        """Add the reason to a claim that is not tested because its cells were not run."""
        nothing_compared = result.verdict is ClaimVerdict.NOT_TESTABLE and not result.values
        if self.refused is None or not nothing_compared or result.claim.not_testable is not None:
            return result
        return not_tested(result.claim, f"not run: {self.refused}")

    @property
    def warning(self) -> str | None:
        """Warning that the machine had other work during runs in real time, or None."""
        if self.finished is None:
            return None
        return load.warning(self.finished.provenance.get("other_work"))

    @property
    def limit_text(self) -> str | None:
        """Note that a time limit prevented adding replicates; None where it did not."""
        return None if self.finished is None else self.finished.limit_text

    def clock_s(self, name: str) -> float:
        """Give ``virtual_s`` or ``wall_s`` of all its runs, in s; 0 when it was refused."""
        return 0.0 if self.finished is None else float(self.finished.provenance.get(name) or 0.0)

    @property
    def succeeded(self) -> bool:
        """Whether every run of the plan succeeded."""
        if self.finished is None or self.refused is not None:
            return False
        return not self.finished.results.failed


@dataclass(frozen=True)
class ControlOutcome:
    """The outcome of a control: cells of some claims, run again with one thing changed."""

    control: Control
    executed: Executed

    def result(self, claim: str) -> ClaimResult | None:
        """Give the result of a claim under the change; None if it is not one of the control's."""
        return next((each for each in self.executed.claims if each.id == claim), None)


@dataclass(frozen=True)
class ScoreRow:
    """A conclusion with its verdict and the outcome of its control."""

    result: ClaimResult
    control: ControlOutcome | None

    @property
    def controlled(self) -> ClaimResult | None:
        """Result of the conclusion under its control's change; None without a control."""
        return self.control.result(self.result.id) if self.control else None

    def to_json(self) -> dict[str, Any]:
        """Give the fields that `--json` prints."""
        found = self.result.to_json()
        if self.control is None or self.controlled is None:
            return found | {"control": None}
        return found | {
            "control": {
                "id": self.control.control.id,
                "text": self.control.control.text,
                "verdict": self.controlled.word,
                "found": self.controlled.found,
            }
        }


@dataclass(frozen=True)
class StudyOutcome:
    """The outcome of one study of a source, executed or refused, with its controls."""

    executed: Executed
    name: str
    """Name of its file, without extension: the figure or experiment of the source."""
    controls: tuple[ControlOutcome, ...] = ()

    @property
    def study(self) -> Study:
        """The study that was run."""
        return self.executed.study

    @property
    def refused(self) -> str | None:
        """Why this machine cannot run it, or a part of it; None if it was run completely."""
        return self.executed.refused

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """The conclusions in the order of the document, the study's own hypotheses last."""
        by_id = {each.control.id: each for each in self.controls}
        rows = [
            ScoreRow(result, by_id.get(result.claim.control or ""))
            for result in self.executed.claims
        ]
        return sorted(rows, key=lambda row: not row.result.claim.authors)

    @property
    def all_executed(self) -> list[Executed]:
        """The study and its controls."""
        return [self.executed, *(each.executed for each in self.controls)]

    @property
    def figures(self) -> list[Path]:
        """The SVG files, in the order of the study."""
        return sorted(RunDirectory(self.executed.directory).figures.glob("*.svg"))

    def to_json(self) -> dict[str, Any]:
        """Give the fields of a study in `scorecard.json`."""
        finished = self.executed.finished
        runs = () if finished is None else finished.results.runs
        return {
            "study": self.name,
            "title": self.study.title,
            "out": str(self.executed.directory),
            "runs": len(runs),
            "failed": sum(run.outcome == "failed" for run in runs),
            "refused": self.refused,
            "warning": self.executed.warning,
            "time_limit": self.executed.limit_text,
            "figures": [str(path) for path in self.figures],
        }


@dataclass(frozen=True)
class Reproduction:
    """The reproduction of a source."""

    source: Source
    directory: Path
    quick: bool
    studies: tuple[StudyOutcome, ...]

    @property
    def rows(self) -> list[ScoreRow]:
        """All conclusions and hypotheses, study by study."""
        return [row for study in self.studies for row in study.rows]

    @property
    def executed(self) -> list[Executed]:
        """Every study and every control."""
        return [each for study in self.studies for each in study.all_executed]

    @property
    def succeeded(self) -> bool:
        """Whether every run succeeded, whatever the verdicts."""
        return all(each.succeeded for each in self.executed)

    @property
    def limit_text(self) -> str | None:
        """Note that a time limit prevented adding replicates; None where it did not."""
        return next((text for each in self.executed if (text := each.limit_text)), None)

    @property
    def virtual_s(self) -> float:
        """Virtual time of all runs, in s."""
        return sum(each.clock_s("virtual_s") for each in self.executed)

    @property
    def wall_s(self) -> float:
        """Wall time of all executions into the directory, in s."""
        return sum(each.clock_s("wall_s") for each in self.executed)

    @property
    def expected_wrong(self) -> float:
        """Upper bound of the expected number of wrong verdicts; each random study is a family."""
        return ALPHA * sum(
            any(result.random for result in study.executed.claims) for study in self.studies
        )

    def counts(self, *, authors: bool) -> dict[str, int]:
        """Count the verdicts on the authors' conclusions, or on the studies' own hypotheses."""
        words = [row.result.word for row in self.rows if row.result.claim.authors == authors]
        return {word: words.count(word) for word in _in_order(words)}

    def to_json(self) -> dict[str, Any]:
        """Give the fields of `scorecard.json`."""
        return {
            "source": self.source.name,
            "title": self.source.index.title,
            "authors": self.source.index.authors,
            "quick": self.quick,
            "out": str(self.directory),
            "virtual_s": self.virtual_s,
            "wall_s": self.wall_s,
            "verdicts": self.counts(authors=True),
            "own_verdicts": self.counts(authors=False),
            "expected_wrong": self.expected_wrong,
            "studies": [study.to_json() for study in self.studies],
            "claims": [row.to_json() for row in self.rows],
        }


def _in_order(words: Iterable[str]) -> list[str]:
    order = ["supported", "not-supported", *(verdict.value for verdict in ClaimVerdict)]
    order.sort(key=lambda word: {"supported": "reproduced", "not-supported": "reversed"}.get(
        word, word) != "reproduced")  # fmt: skip
    seen = set(words)
    return [word for word in order if word in seen]
