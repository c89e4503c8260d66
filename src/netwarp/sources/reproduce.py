"""Does a source document's studies again, with their controls, and writes its scorecard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from netwarp.errors import BackendError
from netwarp.evaluation import RunData
from netwarp.pipeline import DEFAULT_PARENT
from netwarp.report import write_figures
from netwarp.run_directory import RunDirectory, write_json, write_text
from netwarp.sources.controls import control_study
from netwarp.sources.reproduction import ControlOutcome, Executed, Reproduction, StudyOutcome
from netwarp.sources.scorecard import render
from netwarp.sources.sources import Source
from netwarp.study import Study, load_study

SCORECARD_JSON = "scorecard.json"
SCORECARD_HTML = "scorecard.html"
CONTROLS_FOLDER = "controls"

RunStudy = Callable[[Study, Path], RunData]
"""Runs a study into a directory, and writes its report."""


def reproduce_document(
    source: Source, run_study: RunStudy, *, out: Path | None = None, quick: bool = False
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
    controls = {
        stem: [(each, control_study(study, each)) for each in study.controls]
        for stem, study in studies
    }
    outcomes = []
    for stem, study in studies:
        place = directory / stem
        executed = _execute(study, place, run_study)
        if executed.finished is not None:
            write_figures(executed.finished)
        outcomes.append(
            StudyOutcome(
                executed,
                stem,
                tuple(
                    ControlOutcome(
                        control, _execute(changed, place / CONTROLS_FOLDER / control.id, run_study)
                    )
                    for control, changed in controls[stem]
                ),
            )
        )
    done = Reproduction(source, directory, quick, tuple(outcomes))
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / SCORECARD_JSON, done.to_json())
    write_text(directory / SCORECARD_HTML, render(done, RunDirectory(directory).report_file.name))
    return done


def to_json(done: Sequence[Reproduction]) -> dict[str, Any]:
    """Make the object that `netwarp reproduce --json` prints."""
    return {
        "virtual_s": sum(each.virtual_s for each in done),
        "wall_s": sum(each.wall_s for each in done),
        "sources": [each.to_json() for each in done],
        "claims": [row.to_json() for each in done for row in each.rows],
    }


def _execute(study: Study, place: Path, run_study: RunStudy) -> Executed:
    try:
        return Executed(study, place, run_study(study, place), None)
    except BackendError as error:
        return Executed(study, place, None, str(error))
