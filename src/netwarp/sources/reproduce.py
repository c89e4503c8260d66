"""Does a source document's studies again, and keeps the score of its conclusions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.claims import ClaimResult, ClaimVerdict, evaluate_claims, not_tested
from netwarp.errors import BackendError
from netwarp.pipeline import DEFAULT_PARENT, StudyRun
from netwarp.report import FIGURES_FOLDER, REPORT_FILE
from netwarp.run_directory import write_json, write_text
from netwarp.sources.scorecard import render
from netwarp.sources.sources import Source
from netwarp.study import Study, load_study

SCORECARD_JSON = "scorecard.json"
SCORECARD_HTML = "scorecard.html"

CarryOut = Callable[[Study, Path], StudyRun]
"""Runs a study into a directory."""


@dataclass(frozen=True)
class StudyOutcome:
    """One study of a source, done again or refused."""

    study: Study
    name: str
    """Of its file, without ending: the figure or experiment of the source."""
    directory: Path
    finished: StudyRun | None
    refused: str | None
    """Why this machine cannot run it."""

    @property
    def claims(self) -> list[ClaimResult]:
        """The verdicts on the source's conclusions."""
        if self.finished is None:
            why = self.refused or "it was not run"
            return [not_tested(claim, claim.not_testable or why) for claim in self.study.claims]
        return evaluate_claims(self.study.claims, self.finished.results)

    @property
    def figures(self) -> list[Path]:
        """The SVG files, in the order of the study."""
        return sorted((self.directory / FIGURES_FOLDER).glob("*.svg"))

    def clock_s(self, name: str) -> float:
        """Give ``virtual_s`` or ``wall_s`` of all its runs; 0 when it was refused."""
        return 0.0 if self.finished is None else float(self.finished.summary[name] or 0.0)


@dataclass(frozen=True)
class Reproduction:
    """A source, done again."""

    source: Source
    directory: Path
    quick: bool
    studies: tuple[StudyOutcome, ...]

    @property
    def claims(self) -> list[ClaimResult]:
        """All verdicts, in the order of the document."""
        return [claim for study in self.studies for claim in study.claims]

    @property
    def succeeded(self) -> bool:
        """Whether every run that was asked for happened, whatever the verdicts."""
        return all(s.finished is not None and not s.finished.results.failed for s in self.studies)

    @property
    def virtual_s(self) -> float:
        """Time on the runs' own clocks."""
        return sum(study.clock_s("virtual_s") for study in self.studies)

    @property
    def wall_s(self) -> float:
        """Time it took, in all executions that filled the directory."""
        return sum(study.clock_s("wall_s") for study in self.studies)

    def count(self, verdict: ClaimVerdict) -> int:
        """Count the conclusions of one verdict."""
        return sum(claim.verdict is verdict for claim in self.claims)

    def to_json(self) -> dict[str, Any]:
        """Fields of `scorecard.json`."""
        return {
            "source": self.source.name,
            "title": self.source.index.title,
            "authors": self.source.index.authors,
            "quick": self.quick,
            "out": str(self.directory),
            "virtual_s": self.virtual_s,
            "wall_s": self.wall_s,
            "verdicts": {verdict.value: self.count(verdict) for verdict in ClaimVerdict},
            "studies": [_study_json(study) for study in self.studies],
            "claims": [claim.to_json() for claim in self.claims],
        }


def reproduce_document(
    source: Source, run_study: CarryOut, *, out: Path | None = None, quick: bool = False
) -> Reproduction:
    """Run all studies of a source, and write its scorecard and the page of its figures.

    A study that this machine cannot run is kept as refused: the others go on.

    Args:
        source: which one.
        run_study: runs a study into a directory.
        out: the parent of the studies' run directories; None for the usual place.
        quick: with what each study's ``[quick]`` changes.

    Raises:
        StudyError: before anything runs.
        RunDirectoryError: a directory holds something else, or the disk gives out.
        Interrupted: on Ctrl-C; what had finished is kept.
    """
    name = f"{source.name}-quick" if quick else source.name
    directory = out or DEFAULT_PARENT / "reproduce" / name
    studies = [(path.stem, load_study(path, quick=quick)) for path in source.studies]
    outcomes = []
    for stem, study in studies:
        place = directory / stem
        try:
            outcomes.append(StudyOutcome(study, stem, place, run_study(study, place), None))
        except BackendError as error:
            outcomes.append(StudyOutcome(study, stem, place, None, str(error)))
    done = Reproduction(source, directory, quick, tuple(outcomes))
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / SCORECARD_JSON, done.to_json())
    write_text(directory / SCORECARD_HTML, render(done, REPORT_FILE))
    return done


def to_json(done: Sequence[Reproduction]) -> dict[str, Any]:
    """Make the object that `netwarp reproduce --json` prints."""
    return {
        "virtual_s": sum(each.virtual_s for each in done),
        "wall_s": sum(each.wall_s for each in done),
        "sources": [each.to_json() for each in done],
        "claims": [claim.to_json() for each in done for claim in each.claims],
    }


def _study_json(outcome: StudyOutcome) -> dict[str, Any]:
    runs = () if outcome.finished is None else outcome.finished.results.runs
    return {
        "study": outcome.name,
        "title": outcome.study.title,
        "out": str(outcome.directory),
        "runs": len(runs),
        "failed": sum(run.outcome == "failed" for run in runs),
        "refused": outcome.refused,
        "figures": [str(path) for path in outcome.figures],
    }
