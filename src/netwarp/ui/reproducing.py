"""Reproduces a source document from a page: shows the conclusions of each study as it is judged,
then the scorecard.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError
from netwarp.ui.asked import Asked, Event
from netwarp.ui.studies import SCORECARD, Progress

if TYPE_CHECKING:
    from netwarp.estimate.staging import Staging
    from netwarp.evaluation import RunData
    from netwarp.sources.preparation import Prepared
    from netwarp.sources.reproduction import StudyOutcome
    from netwarp.study import Study


def shipped_sources() -> list[dict[str, str]]:
    """Return the sources that come with netwarp: their names, and descriptions."""
    from netwarp.sources import find_sources, load_source

    loaded = [load_source(folder) for folder in find_sources().values()]
    return [
        {"name": each.name, "title": each.index.title, "authors": each.index.authors}
        for each in loaded
    ]


class SourceRun(Asked):
    """A reproduction of a source's smaller version, as by `netwarp reproduce NAME --quick`; one
    that was cancelled continues where it was.

    Args:
        name: the name of a source that comes with netwarp.
        into: the folder of run directories.
        after: see :class:`Asked`.
    """

    def __init__(self, name: str, into: Path, after: Asked | None = None) -> None:
        super().__init__(after)
        self._name, self._into = name, into

    def _answers(self) -> Iterator[Event]:
        from netwarp.sources import find_sources, load_source
        from netwarp.sources.preparation import expected, prepare
        from netwarp.sources.reproduce import reproduce_document
        from netwarp.sources.scorecard import expected_text

        folder = find_sources().get(self._name)
        if folder is None:
            raise InputError(f"{self._name}: no source of this name")
        directory = self._into / "reproduce" / f"{self._name}-quick"
        prepared = prepare(load_source(folder), out=directory, quick=True)
        _refuse_what_is_to_be_installed(prepared)
        cost = expected([prepared])
        yield "started", {"title": prepared.source.index.title, "of": cost.runs,
                          "expected": expected_text(cost, None, quick=True)}  # fmt: skip
        observer = Progress(self._put, cost.runs)

        def run_study(study: Study, place: Path, _: Staging | None) -> tuple[RunData, str | None]:
            from netwarp.library import backend_for, run

            self._put("study", {"name": prepared.name_of(place)})
            backend = backend_for(study)
            if not self._begins_with(backend):
                raise InputError("stopped")
            done = run(study, backend, out=place, observer=observer, command_line=[
                "netwarp", "reproduce", self._name, "--quick",
            ])  # fmt: skip
            done.report()
            if self._is_cancelled:
                raise InputError("stopped")
            return done.data, None

        executions = {each.name: len(list(each.executions())) for each in prepared.studies}

        def judged(outcome: StudyOutcome) -> None:
            self._put("judged", conclusions(outcome, executions[outcome.name]))

        done = reproduce_document(prepared, run_study, judged=judged)
        found = ", ".join(f"{count} {word}" for word, count in done.counts(authors=True).items())
        yield "scorecard", {"path": f"reproduce/{directory.name}/{SCORECARD}", "found": found}


def conclusions(outcome: StudyOutcome, executions: int) -> dict[str, Any]:
    """Return what the page shows of a study that has been judged, in the words of the scorecard.

    Args:
        outcome: the study's outcome, as far as its variants have been executed.
        executions: number of studies that are executed for it, itself included.
    """
    done = len(outcome.all_executed) + len(outcome.other_seeds)
    return {
        "study": outcome.name,
        "title": outcome.study.title,
        "trouble": (outcome.refused and f"not run: {outcome.refused}") or outcome.warning,
        "left": executions - done,
        "rows": [
            {"verdict": row.verdict.value, "word": row.word, "text": row.result.claim.text,
             "depends": row.depends_text, "claimed": row.result.claim.claimed,
             "found": row.result.found, "authors": row.result.claim.authors}
            for row in outcome.rows
        ],
    }  # fmt: skip


def _refuse_what_is_to_be_installed(prepared: Prepared) -> None:
    """Refuse a source if a study of it needs a program that the command line would first have to
    install or build.

    Raises:
        InputError: it needs ns-3, or another implementation of QUIC.
    """
    from netwarp.plan.without import needs_ns3

    studies = [study for each in prepared.studies for study, _ in each.executions()]
    stacks = any(cell.sections.transport.stack for study in studies for cell in study.cells)
    if stacks or any(map(needs_ns3, studies)):
        raise InputError(
            f"{prepared.source.name}: it needs programs that the command installs or builds; run"
            f" `netwarp reproduce {prepared.source.name} --quick` in a shell"
        )
