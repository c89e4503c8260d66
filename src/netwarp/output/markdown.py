"""Converts a study's results to Markdown, for the summary of a CI job."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from netwarp.errors import without_controls
from netwarp.kernels_of_runs import kernels_text
from netwarp.metrics import metric_named
from netwarp.output.cases import Case, Suite
from netwarp.verdict_wording import verdict_text
from netwarp.wording import condition_text, level_text, mean_text, median_text, quantity

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.results.comparisons import Comparisons

MOST_ROWS = 100
"""Maximum number of rows of a table, because the size of a summary is limited (1 MiB on GitHub)."""
_TITLES = {
    "runs": "Runs", "expectations": "Expectations", "claims": "Claims", "baseline": "Baseline",
}  # fmt: skip
_WORST_FIRST = ("failed", "undecided", "skipped", "passed")


def markdown(data: RunData, listed: Sequence[Case]) -> str:
    """Return the results as Markdown: the test cases, then the cells, then the command that repeats
    the study.

    Args:
        data: the results.
        listed: the test cases of the results.
    """
    lines = [f"## netwarp: {_escaped(data.study.title)}", ""]
    for suite in get_args(Suite):
        lines += _suite(suite, [case for case in listed if case.suite == suite])
    for compared in data.answers:
        lines += _results(data, compared)
    lines += _how_to_repeat(data)
    return "\n".join(lines) + "\n"


def _suite(suite: Suite, listed: Sequence[Case]) -> Iterator[str]:
    """Yield the lines of a table with the test cases of one suite, failures first."""
    bad = [case for case in listed if case.outcome != "passed"]
    if not listed or (suite == "runs" and not bad):
        return
    passed = len(listed) - len(bad)
    yield from (f"### {_TITLES[suite]}: {passed} of {len(listed)} passed", "")
    rows = sorted(listed, key=lambda case: _WORST_FIRST.index(case.outcome))
    yield from _table(
        ("", "", "found"),
        [(_marked(case), _code(case.name), _escaped(case.found)) for case in rows],
    )


def _marked(case: Case) -> str:
    return case.word if case.outcome == "passed" else f"**{case.word}**"


def _results(data: RunData, compared: Comparisons) -> Iterator[str]:
    """Yield the lines of a table with a row for each cell: condition, contender, mean, and
    verdict.
    """
    found = {
        contender.cell.index: estimate
        for group in compared.groups
        for contender in group.contenders
        if (estimate := contender.cell.estimate(compared.metric)) is not None
    }
    if not found:
        return
    shown = quantity(compared.metric, max(estimate.mean for estimate in found.values()))
    text = mean_text if data.clock == "virtual" else median_text
    varied = {f for f, levels in data.results.factors.items() if len(levels) > 1}
    rows = []
    for group in compared.groups:
        condition = {f: level for f, level in group.condition.items() if f in varied}
        for contender in group.contenders:
            estimate = found.get(contender.cell.index)
            comparison = contender.comparison
            rows.append(
                (
                    _escaped(condition_text(condition)),
                    _escaped(level_text(compared.factor, contender.label)),
                    "–" if estimate is None else text(estimate, shown),
                    ""
                    if comparison is None
                    else _escaped(verdict_text(comparison, compared.metric)),
                )
            )
    yield from (f"### {metric_named(compared.metric).title}", "")
    first = _escaped(level_text(compared.factor, compared.first))
    yield from _table(("", "", shown.unit or "count", f"against {first}"), rows)


def _how_to_repeat(data: RunData) -> Iterator[str]:
    """Yield lines with the data needed to repeat the results: number of runs, seed, kernel, hash
    and command.
    """
    kernel = _escaped(kernels_text(data.provenance))
    runs = f"{len(data.results.runs)} runs, seed {data.study.seed}, kernel {kernel}"
    digest = f", records `{data.records_sha256}`" if data.records_sha256 else ""
    yield f"{runs}{digest}"
    if command := data.provenance.get("command_line"):
        yield from ("", *_fenced(shlex.join(map(str, command))))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, with at most `MOST_ROWS` rows."""
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for row in rows[:MOST_ROWS]:
        yield f"| {' | '.join(row)} |"
    if len(rows) > MOST_ROWS:
        yield from (
            "",
            f"… and {len(rows) - MOST_ROWS} more: the JUnit file and `--json` have all.",
        )
    yield ""


def _escaped(text: str) -> str:
    """Return a text with escapes, so that none of it is interpreted as Markdown or HTML."""
    plain = without_controls(text).replace("\n", " ").replace("\\", "\\\\")
    for sign in "|*_`[]":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("&", "&amp;").replace("<", "&lt;")


def _fenced(text: str) -> Iterator[str]:
    """Yield a text as a code block, in which no character has a special meaning."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (fence, without_controls(text), fence)


def _code(text: str) -> str:
    """Return a text as code for a cell of a table, in which only the column separator has a special
    meaning.
    """
    plain = without_controls(text).replace("\n", " ").replace("`", "'")
    return f"`{plain}`".replace("|", "\\|")
