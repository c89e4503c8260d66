"""Does source documents' studies again, with their controls, and writes their scorecards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from netwarp.errors import BackendError
from netwarp.evaluation import RunData
from netwarp.pipeline import DEFAULT_PARENT
from netwarp.report import write_figures
from netwarp.run_directory import write_json, write_text
from netwarp.sources.page import render
from netwarp.sources.preparation import Prepared
from netwarp.sources.reproduction import ControlOutcome, Executed, Reproduction, StudyOutcome
from netwarp.study import Study

SCORECARD_JSON = "scorecard.json"
SCORECARD_HTML = "scorecard.html"

RunStudy = Callable[[Study, Path], RunData]
"""Runs a study into a directory, and writes its report."""


def reproduce_document(prepared: Prepared, run_study: RunStudy) -> Reproduction:
    """Run all studies of a source, and write its scorecard and the page of its figures.

    A study that this machine cannot run is kept as refused: the others go on.

    Args:
        prepared: which source.
        run_study: runs a study into a directory.

    Raises:
        RunDirectoryError: a directory holds something else, or the disk gives out.
        Interrupted: on Ctrl-C; what had finished is kept.
    """
    outcomes = []
    for each in prepared.studies:
        executed = _execute(each.study, each.place, run_study)
        if executed.finished is not None:
            write_figures(executed.finished)
        controls = tuple(
            ControlOutcome(control, _execute(changed, each.control_place(control), run_study))
            for control, changed in each.controls
        )
        outcomes.append(StudyOutcome(executed, each.name, controls))
    done = Reproduction(prepared.source, prepared.directory, prepared.quick, tuple(outcomes))
    done.directory.mkdir(parents=True, exist_ok=True)
    write_json(done.directory / SCORECARD_JSON, done.to_json())
    write_text(done.directory / SCORECARD_HTML, render([done], done.directory))
    return done


def write_all(done: Sequence[Reproduction], out: Path | None = None) -> Path:
    """Write the page of several sources, and the same as JSON beside it.

    Args:
        done: at least one.
        out: the parent of their directories; None for the usual place.

    Returns:
        Where the page is.
    """
    directory = out or DEFAULT_PARENT / "reproduce"
    suffix = "-quick" if done[0].quick and out is None else ""
    page = directory / f"{Path(SCORECARD_HTML).stem}{suffix}.html"
    write_json(page.with_suffix(".json"), to_json(done))
    write_text(page, render(done, directory))
    return page


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
