"""Reproduces source documents: runs their studies and controls, and writes their scorecards."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netwarp.errors import BackendError
from netwarp.estimate.staging import Staging, TimeLimit
from netwarp.evaluation import RunData
from netwarp.execution.time_limits import is_over, share
from netwarp.pipeline import DEFAULT_PARENT
from netwarp.report import write_figures
from netwarp.run_files import write_json, write_text
from netwarp.sources.page import render
from netwarp.sources.preparation import (
    SCORECARD_HTML,
    SCORECARD_JSON,
    Prepared,
    PreparedStudy,
    first_cost_cpu_s,
)
from netwarp.sources.reproduction import (
    ControlOutcome,
    Executed,
    Reproduction,
    SensitivityOutcome,
    StudyOutcome,
)
from netwarp.study import Study
from netwarp.study.variants import Sensitivity

RunStudy = Callable[[Study, Path, Staging | None], tuple[RunData, str | None]]
"""Runs a study into a directory, adds replicates according to the staging, and writes its report.
Returns its data, and the reason why a part of it was not run, or None.
"""


def reproduce_document(
    prepared: Prepared, run_study: RunStudy, limit: TimeLimit | None = None
) -> Reproduction:
    """Run all studies of a source and their variants, and write its scorecard and page.

    A study that this machine cannot run is recorded as refused, and the others are run.

    Args:
        prepared: the prepared source.
        run_study: runs a study into a directory.
        limit: the time in which all studies together may add replicates. Each gets a share in
            proportion to its cost; unused time goes to those that their shares cut short. Controls
            and sensitivities have the replicates that their studies begin with.

    Raises:
        RunDirectoryError: a directory contains something else, or a write fails.
        Interrupted: on Ctrl-C; finished runs are kept.
    """
    drawn = {each.place for each in prepared.studies}

    def run_and_draw(
        study: Study, place: Path, staging: Staging | None
    ) -> tuple[RunData, str | None]:
        data, not_run = run_study(study, place, staging)
        if place in drawn:
            write_figures(data)
        return data, not_run

    outcomes = outcomes_of(prepared, run_and_draw, limit)
    done = Reproduction(
        prepared.source, prepared.directory, prepared.quick, prepared.seed, outcomes
    )
    done.directory.mkdir(parents=True, exist_ok=True)
    write_json(done.directory / SCORECARD_JSON, done.to_json())
    write_text(done.directory / SCORECARD_HTML, render([done], done.directory))
    return done


def outcomes_of(
    prepared: Prepared, run_study: RunStudy, limit: TimeLimit | None
) -> tuple[StudyOutcome, ...]:
    """Run all studies of a source and their variants, see `reproduce_document`."""
    decided = [one for each in prepared.studies for one in each.decided()]
    variants = [one for each in prepared.studies for one in each.variants()]
    if prepared.quick:
        executed = _execute_once([*decided, *variants], run_study)
    else:
        executed = _execute_all(decided, run_study, limit)
        if limit is not None and not is_over(limit):
            cut_short = [one for one in decided if executed[one[1]].limit_text is not None]
            executed |= _execute_all(cut_short, run_study, limit)
        executed |= _execute_once(variants, run_study)
    return tuple(_outcome(each, executed) for each in prepared.studies)


def _execute_once(
    executions: Sequence[tuple[Study, Path]], run_study: RunStudy
) -> dict[Path, Executed]:
    """Execute studies one after the other, with the number of replicates that they state."""
    return {place: _execute(study, place, run_study, None) for study, place in executions}


def _execute_all(
    executions: Sequence[tuple[Study, Path]], run_study: RunStudy, limit: TimeLimit | None
) -> dict[Path, Executed]:
    """Execute studies until they are decided, each within its share of the remaining time."""
    costs = [0.0 if limit is None else first_cost_cpu_s(study) for study, _ in executions]
    done = {}
    for position, (study, place) in enumerate(executions):
        part = None
        if limit is not None:
            part = share(limit, costs[position] / sum(costs[position:]))
        done[place] = _execute(study, place, run_study, Staging(limit=part))
    return done


def _execute(study: Study, place: Path, run_study: RunStudy, staging: Staging | None) -> Executed:
    try:
        data, not_run = run_study(study, place, staging)
    except BackendError as error:
        return Executed(study, place, None, str(error))
    return Executed(study, place, data, not_run)


def _outcome(prepared: PreparedStudy, executed: Mapping[Path, Executed]) -> StudyOutcome:
    """Put the outcome of a study together with those of its variants."""
    controls = tuple(
        ControlOutcome(
            control, None if study is None else executed[prepared.control_place(control)]
        )
        for control, study in prepared.controls
    )
    main = executed[prepared.place]

    def of(each: Sensitivity, study: Study | None) -> Executed | None:
        if each.lead is not None:
            return main
        return None if study is None else executed[prepared.sensitivity_place(each)]

    sensitivities = tuple(
        SensitivityOutcome(each, of(each, study), len(prepared.sensitivities))
        for each, study in prepared.sensitivities
    )
    others = tuple(executed[prepared.seed_place(study)] for study in prepared.other_seeds)
    return StudyOutcome(main, prepared.name, controls, sensitivities, others)


def write_all(done: Sequence[Reproduction], out: Path | None = None) -> Path:
    """Write the page of several sources, and its content as JSON beside it.

    Args:
        done: at least one reproduction.
        out: parent of their directories; None for the default.

    Returns:
        Path of the page.
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
