"""The reproduction of a source document: the results of its studies and their variants, and the
verdicts, in families with a limited probability of a wrong verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.claims import ClaimResult, ClaimVerdict, evaluate_claims, not_tested
from netwarp.claims.claims import OF_NUMBERS
from netwarp.claims.effects import Effect, evaluate_effects
from netwarp.claims.evidence import ONE_SIDE_ALONE
from netwarp.estimate.comparison import ALPHA
from netwarp.machine import load
from netwarp.run_directory import RunDirectory
from netwarp.sources.row import Dependence, ScoreRow, Stability
from netwarp.sources.sources import Source
from netwarp.sources.variants import claim_at_level, other_reading
from netwarp.study import Study
from netwarp.study.variants import Control, Sensitivity
from netwarp.wording import level_text

if TYPE_CHECKING:
    from netwarp.evaluation import RunData


@dataclass(frozen=True)
class Executed:
    """The execution of a study: complete, partial, or refused."""

    study: Study
    directory: Path
    finished: RunData | None
    refused: str | None
    """Reason why this machine cannot run the study, or a part of it; None if it was run
    completely.
    """

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The results of the study's claims, in order."""
        if self.finished is None:
            why = self.refused or "it was not run"
            return [not_tested(claim, claim.not_testable or why) for claim in self.study.claims]
        return [self._with_reason(result) for result in self.finished.claims]

    def _with_reason(self, result: ClaimResult) -> ClaimResult:
        """Return the result of a claim; if the claim is untested because cells were not run, with
        the reason why they were not.
        """
        conditions = (result.values or {}).get("conditions", ())
        lacks_sides = {each["found"] for each in conditions} == {ONE_SIDE_ALONE.found}
        has_compared = result.values and not lacks_sides
        nothing_compared = result.verdict is ClaimVerdict.NOT_TESTABLE and not has_compared
        if self.refused is None or not nothing_compared or result.claim.not_testable is not None:
            return result
        return not_tested(result.claim, f"not run: {self.refused}")

    @property
    def warning(self) -> str | None:
        """Warning that other programs used the machine during runs in real time; None if they did
        not.
        """
        if self.finished is None:
            return None
        return load.warning(self.finished.provenance.get("other_work"))

    @property
    def limit_text(self) -> str | None:
        """Return a note that a time limit prevented further replicates; None if it did not."""
        return None if self.finished is None else self.finished.limit_text

    def clock_s(self, name: str) -> float:
        """Return the sum of ``virtual_s`` or ``wall_s`` over all runs of the execution, in s; 0 if
        it was refused.
        """
        return 0.0 if self.finished is None else float(self.finished.provenance.get(name) or 0.0)

    @property
    def succeeded(self) -> bool:
        """Whether every run of the plan succeeded."""
        if self.finished is None or self.refused is not None:
            return False
        return not self.finished.results.failed


@dataclass(frozen=True)
class ControlOutcome:
    """The outcome of a control: cells of some claims were run again with one thing changed."""

    control: Control
    executed: Executed | None
    """The control's execution; None if the reproduction does not include it, as with `--quick`."""


@dataclass(frozen=True)
class SensitivityOutcome:
    """The outcome of a sensitivity analysis: claims were judged again under choices other than the
    study's.
    """

    sensitivity: Sensitivity
    executed: Executed | None
    """The sensitivity's execution, or that of the study itself if only the evaluation differs; None
    if the reproduction does not include it, as with `--quick`.
    """
    families: int
    """Number of sensitivities of the study, among which the error probability is divided."""

    @cached_property
    def results(self) -> Mapping[str, ClaimResult]:
        """The results of claims, by the claim's id in the sensitivity's study."""
        if self.executed is None:
            return {}
        judged = self.executed.claims
        if (data := self.executed.finished) is not None:
            # Each has an equal share of the error probability, because one that contradicts is
            # enough.
            criteria = data.results.criteria.divided(self.families)
            is_reading = self.sensitivity.lead is not None
            claims = (
                other_reading(data.study, self.sensitivity) if is_reading else data.study.claims
            )
            judged = evaluate_claims(claims, replace(data.results, criteria=criteria))
        return {each.id: each for each in judged}

    def of(self, verdict: ClaimResult) -> Dependence | None:
        """Return the verdicts on a claim under the other choices; None if the sensitivity does not
        cover the claim.
        """
        each = self.sensitivity
        if verdict.id not in each.claims:
            return None
        if self.executed is None:
            return Dependence(each, verdict, ())
        if each.over is None:
            named = [(each.text or "", verdict.id)]
        else:
            levels = self.executed.study.factor(each.over).levels
            named = [
                (level_text(each.over, level.label), claim_at_level(verdict.id, position))
                for position, level in enumerate(levels)
            ]
        return Dependence(each, verdict, tuple((name, self.results[id_]) for name, id_ in named))


@dataclass(frozen=True)
class StudyOutcome:
    """The outcome of one study of a source, executed or refused, with its variants."""

    executed: Executed
    name: str
    """Name of the study's file, without extension: the figure or experiment of the source."""
    controls: tuple[ControlOutcome, ...] = ()
    sensitivities: tuple[SensitivityOutcome, ...] = ()
    other_seeds: tuple[Executed, ...] = ()
    """The study run with other seeds."""

    @property
    def study(self) -> Study:
        """The study that was run."""
        return self.executed.study

    @property
    def refused(self) -> str | None:
        """Reason why this machine cannot run the study, or a part of it; None if it was run
        completely.
        """
        return self.executed.refused

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """The conclusions in the order of the document, then the study's own hypotheses."""
        controls = {each.control.id: each.control for each in self.controls}
        rows = [
            ScoreRow(
                result,
                controls.get(result.claim.control or ""),
                self.effects.get(result.id),
                tuple(each for of in self.sensitivities if (each := of.of(result)) is not None),
                self._stability(result),
                self.warning is not None,
            )
            for result in self.executed.claims
        ]
        return sorted(rows, key=lambda row: not row.result.claim.authors)

    @property
    def warning(self) -> str | None:
        """Warning that other programs used the machine during runs in real time on which verdicts
        are based, including those of variants; None if they did not.
        """
        return next((text for each in self.all_executed if (text := each.warning)), None)

    @cached_property
    def effects(self) -> Mapping[str, Effect]:
        """The effects of claims with and without their controls, by the claim's id."""
        main = self.executed.finished
        controls = {
            each.control.id: each.executed.finished.results
            for each in self.controls
            if each.executed is not None and each.executed.finished is not None
        }
        if main is None:
            return {}
        claims = [claim for claim in main.study.claims if claim.control in controls]
        found = evaluate_effects(claims, main.results, controls)
        return {each.claim: each for each in found}

    @property
    def families(self) -> int:
        """Number of families of verdicts. In each family the probability of a wrong verdict is at
        most 5 %.
        """
        of_sensitivities = [
            result for each in self.sensitivities for result in each.results.values()
        ]
        random = (
            any(result.random for result in self.executed.claims),
            any(effect.is_random for effect in self.effects.values()),
            any(result.random for result in of_sensitivities),
        )
        return sum(random)

    def _stability(self, result: ClaimResult) -> Stability | None:
        """Return the verdicts on a claim with other seeds; None if no other seed was tried."""
        words = tuple(
            other.word
            for each in self.other_seeds
            for other in each.claims
            if other.id == result.id
        )
        return Stability(result.word, words) if words else None

    @property
    def all_executed(self) -> list[Executed]:
        """The executions of the study and of all its variants."""
        variants = [each.executed for each in self.controls]
        variants += [each.executed for each in self.sensitivities if each.sensitivity.lead is None]
        return [self.executed, *(each for each in variants if each is not None)]

    @property
    def figures(self) -> list[Path]:
        """The SVG files, in the order of the study."""
        return sorted(RunDirectory(self.executed.directory).figures.glob("*.svg"))

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a study in `scorecard.json`."""
        finished = self.executed.finished
        runs = () if finished is None else finished.results.runs
        return {
            "study": self.name,
            "title": self.study.title,
            "out": str(self.executed.directory),
            "runs": len(runs),
            "failed": sum(run.outcome == "failed" for run in runs),
            "refused": self.refused,
            "warning": self.warning,
            "time_limit": self.executed.limit_text,
            "figures": [str(path) for path in self.figures],
            "other_seeds": [each.study.seed for each in self.other_seeds],
        }


@dataclass(frozen=True)
class Reproduction:
    """The reproduction of a source document: the outcomes of its studies."""

    source: Source
    directory: Path
    quick: bool
    seed: int
    """Seed of all studies."""
    studies: tuple[StudyOutcome, ...]

    @property
    def rows(self) -> list[ScoreRow]:
        """All conclusions and hypotheses, study by study."""
        return [row for study in self.studies for row in study.rows]

    @property
    def executed(self) -> list[Executed]:
        """The executions of all studies and of all their variants."""
        others = [each for study in self.studies for each in study.other_seeds]
        return others + [each for study in self.studies for each in study.all_executed]

    @property
    def succeeded(self) -> bool:
        """Whether every run succeeded, whatever the verdicts."""
        return all(each.succeeded for each in self.executed)

    @property
    def limit_text(self) -> str | None:
        """Return a note that a time limit prevented further replicates; None if it did not."""
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
        """Upper bound on the expected number of families with a wrong verdict: 0.05 for each
        family.
        """
        return ALPHA * sum(study.families for study in self.studies)

    @property
    def any_wrong(self) -> float:
        """Upper bound on the probability that at least one verdict or reason is wrong by chance.

        It follows from Boole's inequality over all families, even if these have cells, and thus
        random errors, in common.
        """
        return min(1.0, self.expected_wrong)

    def counts(self, *, authors: bool) -> dict[str, int]:
        """Return the number of each verdict, on the authors' conclusions or on the studies' own
        hypotheses. Verdicts whose runs were disturbed by other programs are not counted.
        """
        words = [
            row.word for row in self.rows if row.is_counted and row.result.claim.authors == authors
        ]
        return {word: words.count(word) for word in _in_order(words)}

    @property
    def not_counted(self) -> int:
        """Number of verdicts that are not counted because other programs on the machine disturbed
        their runs.
        """
        return sum(not row.is_counted for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `scorecard.json`."""
        return {
            "source": self.source.name,
            "title": self.source.index.title,
            "authors": self.source.index.authors,
            "quick": self.quick,
            "seed": self.seed,
            "out": str(self.directory),
            "virtual_s": self.virtual_s,
            "wall_s": self.wall_s,
            "verdicts": self.counts(authors=True),
            "own_verdicts": self.counts(authors=False),
            "not_counted": self.not_counted,
            "expected_wrong": self.expected_wrong,
            "any_wrong": self.any_wrong,
            "studies": [study.to_json() for study in self.studies],
            "claims": [row.to_json() for row in self.rows],
        }


def _in_order(words: Iterable[str]) -> list[str]:
    seen = set(words)
    own = ("partly-not-supported", "not-supported")
    first = ["supported", "reproduced", *OF_NUMBERS.values(), *own]
    order = dict.fromkeys(first + [verdict.value for verdict in ClaimVerdict])
    return [word for word in order if word in seen]
