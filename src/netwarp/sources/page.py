"""The scorecard as an HTML file: reproductions of source documents, with all figures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.figures import draw_all
from netwarp.kernels_of_runs import kernels_text
from netwarp.report.numbers import cells_csv
from netwarp.report.templates import csv_link, figure_values, render_page
from netwarp.run_directory import RunDirectory
from netwarp.sources.scorecard import (
    EXACT,
    HYPOTHESES,
    MEANINGS,
    clock_text,
    error_text,
    score_text,
    seeds_text,
)
from netwarp.units import span_text
from netwarp.wording import count

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.sources.reproduction import Reproduction, StudyOutcome


def render(done: Sequence[Reproduction], place: Path) -> str:
    """Return the page of one or more reproductions as HTML.

    Args:
        done: one or more reproductions.
        place: directory of the page, for links to the studies' reports.
    """
    documents = [_document(each, place) for each in done]
    rows = [row for each in done for row in each.rows]
    words = {row.word: row.verdict.value for row in rows}
    return render_page(
        "scorecard.html",
        has_charts=any(study["figures"] for each in documents for study in each["studies"]),
        title=done[0].source.index.title if len(done) == 1 else "Published comparisons, done again",
        documents=documents,
        facts=_facts(done),
        provisional=any(each.quick for each in done),
        words=words,
        meanings=_meanings(words),
        exact=EXACT,
        hypotheses=HYPOTHESES,
        command=_command(done),
    )  # fmt: skip


def _meanings(words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the meaning of each verdict on the page, with the words that the page uses for it."""
    found = {
        verdict: sorted(word for word, of in words.items() if of == verdict) for verdict in MEANINGS
    }
    return [
        {"verdict": verdict, "words": named, "text": MEANINGS[verdict]}
        for verdict, named in found.items()
        if named
    ]


def _facts(done: Sequence[Reproduction]) -> list[tuple[str, str]]:
    """Return the facts at the top of the page, as pairs of a name and a text."""
    conclusions, hypotheses = (
        sum(sum(each.counts(authors=authors).values()) for each in done)
        for authors in (True, False)
    )
    virtual_s, wall_s = sum(each.virtual_s for each in done), sum(each.wall_s for each in done)
    facts = [
        ("conclusions", f"{conclusions} of authors, {hypotheses} of our own"),
        ("runs", count(sum(map(_runs, done)))),
        ("failed", str(sum(map(_failed, done)))),
        ("virtual time", span_text(virtual_s)),
        ("wall time of the runs", span_text(wall_s)),
    ]
    kernels = {
        kernels_text(data.provenance)
        for each in done
        for executed in each.executed
        if (data := executed.finished) is not None and data.clock == "virtual"
    }
    return [*facts, ("kernel", ", ".join(sorted(kernels)))] if kernels else facts


def _runs(done: Reproduction) -> int:
    return sum(len(each.finished.results.runs) for each in done.executed if each.finished)


def _failed(done: Reproduction) -> int:
    return sum(len(each.finished.results.failed) for each in done.executed if each.finished)


def _document(done: Reproduction, place: Path) -> dict[str, Any]:
    """Return what the page shows of one source, as values for its template."""
    return {
        "name": done.source.name,
        "index": done.source.index,
        "counts": done.counts(authors=True),
        "own_counts": done.counts(authors=False),
        "runs": count(_runs(done)),
        "failed": _failed(done),
        "virtual": span_text(done.virtual_s),
        "wall": span_text(done.wall_s),
        "score": score_text(done),
        "errors": error_text(done),
        "seeds": seeds_text(done),
        "has_seeds": any(study.other_seeds for study in done.studies),
        "clocks": clock_text(done),
        "limit": done.limit_text,
        "studies": [_study(study, done, place) for study in done.studies],
    }


def _study(outcome: StudyOutcome, done: Reproduction, place: Path) -> dict[str, Any]:
    """Return what the page shows of one study, as values for its template."""
    study, directory = outcome.study, outcome.executed.directory
    name = f"{done.source.name}/{outcome.name}"
    file = next(path for path in done.source.studies if path.stem == outcome.name)
    data = outcome.executed.finished
    return {
        "id": name.replace("/", "-"),
        "name": outcome.name,
        "title": study.title,
        "question": study.question,
        "description": study.description,
        "rows": outcome.rows,
        "warning": outcome.warning,
        "refused": outcome.refused,
        "figures": _figures(data) if data else [],
        "command": _study_command(done, file),
        "times": _times(outcome),
        "csv_link": csv_link(cells_csv(data.results, data.answers, data.fixed)) if data else None,
        "report": os.path.relpath(RunDirectory(directory).report_file, place),
        "records_sha256": data.records_sha256 if data else None,
        "file": f"{name}.toml",
        "text": file.read_text(encoding="utf-8"),
    }


def _times(outcome: StudyOutcome) -> str:
    """Return as text the number of runs of a study and its variants, and the time that they
    took.
    """
    executed = outcome.all_executed
    runs = sum(len(each.finished.results.runs) for each in executed if each.finished)
    virtual_s, wall_s = (sum(e.clock_s(c) for e in executed) for c in ("virtual_s", "wall_s"))
    variants = outcome.controls or outcome.sensitivities or outcome.other_seeds
    with_controls = ", variants included" if variants else ""
    return (
        f"{count(runs)} runs{with_controls}: virtual time {span_text(virtual_s)},"
        f" wall time {span_text(wall_s)}"
    )


def _figures(data: RunData) -> list[dict[str, Any]]:
    """Return what the page shows of a study's figures, as values for its template."""
    directory = shlex.quote(str(data.directory))
    return [
        figure_values(chart)
        | {"command": f"netwarp figure {directory} {number} -o {chart.name}.pdf"}
        for number, chart in enumerate(draw_all(data.study.figures, data.results, data), start=1)
    ]


def _study_command(done: Reproduction, study: Path) -> str:
    named = f"{done.source.name}/{study.stem}" if done.source.is_shipped else str(study)
    return f"netwarp run {shlex.quote(named)}{_quick(done)} --seed {done.seed}"


def _command(done: Sequence[Reproduction]) -> str:
    names = [
        source.name if source.is_shipped else str(source.folder)
        for source in (each.source for each in done)
    ]
    return f"netwarp reproduce {shlex.join(names)}{_quick(done[0])} --seed {done[0].seed}"


def _quick(done: Reproduction) -> str:
    return " --quick" if done.quick else ""
