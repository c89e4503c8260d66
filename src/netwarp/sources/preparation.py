"""Prepares the reproduction of source documents: studies, controls, directories, expected time."""

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
    """One study of a source with its controls and run directories."""

    name: str
    study: Study
    place: Path
    controls: tuple[tuple[Control, Study], ...]

    def control_place(self, control: Control) -> Path:
        """Give the run directory of a control."""
        return self.place / CONTROLS_FOLDER / control.id

    def executions(self) -> Iterator[tuple[Study, Path]]:
        """Give the study and its controls, with their run directories."""
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
        source: the source document.
        out: parent of the studies' run directories; None for the default.
        quick: whether to apply each study's ``[quick]`` table.

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
    """Estimate the CPU time in s of a study with its initial number of replicates."""
    return REPORT_CPU_S + expected_cpu_s(planned.job for planned in plan_study(study))


@dataclass(frozen=True)
class Expected:
    """The expected cost of reproducing sources, before anything is run."""

    studies: int
    runs: int
    kept: int
    """Number of these runs that are kept from an earlier execution."""
    cpu_s: float

    def wall_s(self, cpus: int) -> float:
        """Estimate the wall time in s on a number of CPUs."""
        return self.cpu_s / cpus


def expected(prepared: Sequence[Prepared]) -> Expected:
    """Count the runs, and estimate the CPU time of those that are not kept.

    Replicates that are added while verdicts are open are not included.
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
