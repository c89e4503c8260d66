"""What reproducing source documents will run: every study and control, where, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.execution.cost import REPORT_CPU_S, expected_cpu_s
from netwarp.pipeline import DEFAULT_PARENT
from netwarp.plan import plan_study
from netwarp.run_directory import RunDirectory
from netwarp.sources.controls import control_study
from netwarp.sources.sources import Source
from netwarp.study import Study, load_study
from netwarp.study.claims import Control

CONTROLS_FOLDER = "controls"


@dataclass(frozen=True)
class PreparedStudy:
    """One study of a source with its controls, and where they will be."""

    name: str
    study: Study
    place: Path
    controls: tuple[tuple[Control, Study], ...]

    def control_place(self, control: Control) -> Path:
        """Where a control will be run."""
        return self.place / CONTROLS_FOLDER / control.id

    def executions(self) -> Iterator[tuple[Study, Path]]:
        """Give all that is to be run, and where."""
        yield self.study, self.place
        for control, changed in self.controls:
            yield changed, self.control_place(control)


@dataclass(frozen=True)
class Prepared:
    """A source whose studies are all valid."""

    source: Source
    directory: Path
    quick: bool
    studies: tuple[PreparedStudy, ...]


def prepare(source: Source, *, out: Path | None = None, quick: bool = False) -> Prepared:
    """Load all studies of a source.

    Args:
        source: which one.
        out: the parent of the studies' run directories; None for the usual place.
        quick: with what each study's ``[quick]`` changes.

    Raises:
        StudyError: a study that cannot be run.
    """
    name = f"{source.name}-quick" if quick else source.name
    directory = out or DEFAULT_PARENT / "reproduce" / name
    studies = [(path.stem, load_study(path, quick=quick)) for path in source.studies]
    return Prepared(
        source,
        directory,
        quick,
        tuple(
            PreparedStudy(
                stem,
                study,
                directory / stem,
                tuple((each, control_study(study, each)) for each in study.controls),
            )
            for stem, study in studies
        ),
    )


def first_cost_cpu_s(study: Study) -> float:
    """Say about how much CPU time a study takes with the replicates every cell has at first."""
    return REPORT_CPU_S + expected_cpu_s(planned.job for planned in plan_study(study))


@dataclass(frozen=True)
class Expected:
    """What sources are expected to take, before any of it is run."""

    studies: int
    runs: int
    kept: int
    """Of these runs, how many an earlier execution has left."""
    cpu_s: float

    def wall_s(self, cpus: int) -> float:
        """Say about how long it takes on so many CPUs."""
        return self.cpu_s / cpus


def expected(prepared: Sequence[Prepared]) -> Expected:
    """Count runs, and add up about how much CPU time those take that are not kept.

    Replicates that are added while verdicts are open come on top.
    """
    studies = runs = kept = 0
    cpu_s = 0.0
    for each in prepared:
        for study, place in (one for of in each.studies for one in of.executions()):
            plan = plan_study(study)
            there = RunDirectory(place).kept_runs()
            missing = [planned.job for planned in plan if planned.run not in there]
            studies += 1
            runs += len(plan)
            kept += len(plan) - len(missing)
            cpu_s += REPORT_CPU_S + expected_cpu_s(missing)
    return Expected(studies, runs, kept, cpu_s)
