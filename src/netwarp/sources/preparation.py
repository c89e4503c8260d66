"""Prepares the reproduction of source documents: loads studies and controls, chooses directories,
estimates the time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.execution.cost import Expected, expected_of
from netwarp.pipeline import DEFAULT_PARENT
from netwarp.plan import plan_study
from netwarp.regular_files import is_there
from netwarp.run_directory import (
    CONTROLS_FOLDER,
    SEEDS_FOLDER,
    SENSITIVITIES_FOLDER,
    RunDirectory,
)
from netwarp.run_files import refuse_folder_of_others
from netwarp.sources.seeds import fresh_seeds, release_seed
from netwarp.sources.sources import Source
from netwarp.sources.variants import control_study, sensitivity_study
from netwarp.study import Study, load_study
from netwarp.study.variants import Control, Sensitivity

SCORECARD_JSON = "scorecard.json"
SCORECARD_HTML = "scorecard.html"


@dataclass(frozen=True)
class PreparedStudy:
    """A study of a source, its variants (controls, sensitivities, other seeds), and their run
    directories.
    """

    name: str
    study: Study
    place: Path
    controls: tuple[tuple[Control, Study | None], ...]
    """The controls with their studies; the study is None for a control that is not part of
    `--quick`."""
    sensitivities: tuple[tuple[Sensitivity, Study | None], ...]
    """The sensitivities with their studies; the study is None for a sensitivity that is not part of
    `--quick`, or that needs no runs of its own."""
    other_seeds: tuple[Study, ...]
    """The study with seeds other than the release's, one for each."""

    def control_place(self, control: Control) -> Path:
        """Return the run directory of a control."""
        return self.place / CONTROLS_FOLDER / control.id

    def sensitivity_place(self, sensitivity: Sensitivity) -> Path:
        """Return the run directory of a sensitivity analysis: the study repeated with one
        assumption changed.
        """
        return self.place / SENSITIVITIES_FOLDER / sensitivity.id

    def seed_place(self, study: Study) -> Path:
        """Return the directory of the study's runs with another seed."""
        return self.place / SEEDS_FOLDER / str(study.seed)

    def decided(self) -> Iterator[tuple[Study, Path]]:
        """Yield the study and its copies with other seeds, each with its run directory. They get
        replicates until their verdicts are decided.
        """
        yield self.study, self.place
        for study in self.other_seeds:
            yield study, self.seed_place(study)

    def variants(self) -> Iterator[tuple[Study, Path]]:
        """Yield the studies of controls and sensitivities, each with its run directory. They have
        only the study's first replicates.
        """
        for control, changed in self.controls:
            if changed is not None:
                yield changed, self.control_place(control)
        for sensitivity, other in self.sensitivities:
            if other is not None:
                yield other, self.sensitivity_place(sensitivity)

    def executions(self) -> Iterator[tuple[Study, Path]]:
        """Yield all studies that are run, each with its run directory."""
        yield from self.decided()
        yield from self.variants()


@dataclass(frozen=True)
class Prepared:
    """A source whose studies have all been loaded and checked."""

    source: Source
    directory: Path
    quick: bool
    seed: int
    studies: tuple[PreparedStudy, ...]

    def name_of(self, place: Path) -> str:
        """Return the name of the study or variant whose run directory this is:
        `park-2008/fig-4/controls/bbr`.
        """
        return f"{self.source.name}/{place.relative_to(self.directory).as_posix()}"


def prepare(
    source: Source, *, out: Path | None = None, quick: bool = False, seed: int | None = None,
    other_seeds: int = 0,
) -> Prepared:  # fmt: skip
    """Load and check all studies of a source.

    Args:
        source: the source document.
        out: parent of the studies' run directories; None for the default.
        quick: whether to apply each study's ``[quick]`` table.
        seed: the studies' seed; None for the one of this release.
        other_seeds: the number of other seeds with which the studies are run, to find how stable
            verdicts are.

    Raises:
        StudyError: a study cannot be run.
        RunDirectoryError: `out` contains something else.
    """
    name = f"{source.name}-quick" if quick else source.name
    directory = out or DEFAULT_PARENT / "reproduce" / name
    own = {SCORECARD_JSON, SCORECARD_HTML, *(path.stem for path in source.studies)}
    if not is_there(directory / SCORECARD_JSON):
        refuse_folder_of_others(directory, own, f"directory of {source.name}")
    seed = release_seed() if seed is None else seed
    others = fresh_seeds(seed, other_seeds)

    def is_part(variant: Control | Sensitivity) -> bool:
        return variant.quick or not quick

    def sensitivity(study: Study, each: Sensitivity) -> Study | None:
        return sensitivity_study(study, each) if each.lead is None and is_part(each) else None

    def prepared(path: Path) -> PreparedStudy:
        study = load_study(path, quick=quick, seed=seed)
        return PreparedStudy(
            path.stem,
            study,
            directory / path.stem,
            tuple(
                (each, control_study(study, each) if is_part(each) else None)
                for each in study.controls
            ),
            tuple((each, sensitivity(study, each)) for each in study.sensitivities),
            tuple(load_study(path, quick=quick, seed=other) for other in others),
        )

    left_out = source.index.not_quick if quick else []
    run = [path for path in source.studies if path.stem not in left_out]
    return Prepared(source, directory, quick, seed, tuple(map(prepared, run)))


def first_cost_cpu_s(study: Study) -> float:
    """Estimate the CPU time in s of a study with its initial number of replicates."""
    return expected_of(plan_study(study), ()).cpu_s


def expected(prepared: Sequence[Prepared]) -> Expected:
    """Return the number of runs that will be carried out, and an estimate of their CPU time in s;
    runs that are kept are not counted.

    Replicates that are added while verdicts are undecided are not included.
    """
    costs = [
        expected_of(plan_study(study), RunDirectory(place).kept_runs())
        for each in prepared
        for of in each.studies
        for study, place in of.executions()
    ]
    return Expected(
        len(costs),
        sum(each.runs for each in costs),
        sum(each.kept for each in costs),
        sum(each.cpu_s for each in costs),
    )
