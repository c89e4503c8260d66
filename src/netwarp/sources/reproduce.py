"""Reproduces source documents: runs their studies and controls, and writes their scorecards."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
"""A function that runs a study into a directory, adds replicates as the staging says, and writes
the study's report. It returns the study's data, and the reason why a part of it was not run, or
None.
"""
Judged = Callable[[StudyOutcome], None]
"""A function that is called with the outcome of a study as soon as the study has been executed, and
again after each of its variants. Variants that have not been executed yet are marked as not
tried."""


def reproduce_document(
    prepared: Prepared,
    run_study: RunStudy,
    limit: TimeLimit | None = None,
    judged: Judged | None = None,
) -> Reproduction:
    """Run all studies of a source and their variants, and write its scorecard and page.

    A study that this machine cannot run is recorded as refused, and the others are run.

    Args:
        prepared: the prepared source.
        run_study: runs a study into a directory.
        limit: the time in which all studies together may add replicates. Each gets a share in
            proportion to its cost; unused time goes to studies whose share was too short. Controls
            and sensitivities have the initial number of replicates of their studies.
        judged: called with each outcome as soon as it is known; None if that is not wanted.

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

    outcomes = outcomes_of(prepared, run_and_draw, limit, judged)
    done = Reproduction(
        prepared.source, prepared.directory, prepared.quick, prepared.seed, outcomes
    )
    done.directory.mkdir(parents=True, exist_ok=True)
    write_json(done.directory / SCORECARD_JSON, done.to_json())
    write_text(done.directory / SCORECARD_HTML, render([done], done.directory))
    return done


def outcomes_of(
    prepared: Prepared,
    run_study: RunStudy,
    limit: TimeLimit | None,
    judged: Judged | None = None,
) -> tuple[StudyOutcome, ...]:
    """Run all studies of a source and their variants, and return the outcomes; see
    `reproduce_document`.
    """
    of = {place: each for each in prepared.studies for _, place in each.executions()}
    executed: dict[Path, Executed] = {}
    for one in _execute_all(prepared, run_study, limit):
        executed[one.directory] = one
        study = of[one.directory]
        if judged is not None and study.place in executed:
            judged(_outcome(study, executed))
    return tuple(_outcome(each, executed) for each in prepared.studies)


def _execute_all(
    prepared: Prepared, run_study: RunStudy, limit: TimeLimit | None
) -> Iterator[Executed]:
    """Execute all studies of a source, then their variants. If time is left, studies that a time
    limit ended early are executed again, and yielded a second time.
    """
    decided = [one for each in prepared.studies for one in each.decided()]
    variants = [one for each in prepared.studies for one in each.variants()]
    if prepared.quick:
        yield from _execute_once([*decided, *variants], run_study)
        return
    cut_short = []
    for one in _execute_until_decided(decided, run_study, limit):
        if one.limit_text is not None:
            cut_short.append((one.study, one.directory))
        yield one
    if limit is not None and not is_over(limit):
        yield from _execute_until_decided(cut_short, run_study, limit)
    yield from _execute_once(variants, run_study)


def _execute_once(
    executions: Iterable[tuple[Study, Path]], run_study: RunStudy
) -> Iterator[Executed]:
    """Execute studies one after another, each with the number of replicates that it states."""
    for study, place in executions:
        yield _execute(study, place, run_study, None)


def _execute_until_decided(
    executions: Sequence[tuple[Study, Path]], run_study: RunStudy, limit: TimeLimit | None
) -> Iterator[Executed]:
    """Execute studies until their verdicts are decided, each within its share of the remaining
    time.
    """
    costs = [0.0 if limit is None else first_cost_cpu_s(study) for study, _ in executions]
    for position, (study, place) in enumerate(executions):
        part = None
        if limit is not None:
            part = share(limit, costs[position] / sum(costs[position:]))
        yield _execute(study, place, run_study, Staging(limit=part))


def _execute(study: Study, place: Path, run_study: RunStudy, staging: Staging | None) -> Executed:
    try:
        data, not_run = run_study(study, place, staging)
    except BackendError as error:
        return Executed(study, place, None, str(error))
    return Executed(study, place, data, not_run)


def _outcome(prepared: PreparedStudy, executed: Mapping[Path, Executed]) -> StudyOutcome:
    """Return the outcome of a study, with the outcomes of its variants executed so far."""
    controls = tuple(
        ControlOutcome(
            control, None if study is None else executed.get(prepared.control_place(control))
        )
        for control, study in prepared.controls
    )
    main = executed[prepared.place]

    def of(each: Sensitivity, study: Study | None) -> Executed | None:
        if each.lead is not None:
            return main
        return None if study is None else executed.get(prepared.sensitivity_place(each))

    sensitivities = tuple(
        SensitivityOutcome(each, of(each, study), len(prepared.sensitivities))
        for each, study in prepared.sensitivities
    )
    seeds = map(prepared.seed_place, prepared.other_seeds)
    others = tuple(executed[place] for place in seeds if place in executed)
    return StudyOutcome(main, prepared.name, controls, sensitivities, others)


def write_all(done: Sequence[Reproduction], out: Path | None = None) -> Path:
    """Write a page about several sources, and its content as JSON beside it.

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
    """Return the object that `netwarp reproduce --json` prints."""
    return {
        "virtual_s": sum(each.virtual_s for each in done),
        "wall_s": sum(each.wall_s for each in done),
        "sources": [each.to_json() for each in done],
        "claims": [row.to_json() for each in done for row in each.rows],
    }
