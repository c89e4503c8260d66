"""The scorecard of a source document as text: each conclusion with its verdict, and lines with
details below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from netwarp.output.claim_lines import STYLES
from netwarp.units import span_text
from netwarp.wording import number, percent

if TYPE_CHECKING:
    from netwarp.execution.cost import Expected
    from netwarp.sources.reproduction import Reproduction
    from netwarp.sources.row import ScoreRow

MEANINGS = {
    "reproduced": "it holds at every level",
    "smaller": "its direction holds, its size is not reached",
    "larger": "its direction holds, its size is exceeded",
    "size-undecided": "its direction holds, whether its size is reached is undecided",
    "partly": "it holds at some levels; at the rest it is undecided, or nothing relevant differs",
    "depends": "it holds at some levels and is reversed at others",
    "equivalent": "nothing relevant differs at any level",
    "undecided": "the replicates do not decide it",
    "partly-reversed": "the opposite holds at some levels; at the rest it is undecided, or nothing"
    " relevant differs",
    "reversed": "the opposite holds at every level",
    "not-testable": "nothing here can test it",
    "failed": "runs failed or have no value, and nothing is shown",
}
DISTURBED = "other work disturbed runs in real time"
HYPOTHESES = "Hypotheses of these studies, which no author claims"


def scorecard_lines(done: Reproduction) -> list[Text | Padding]:
    """Return each conclusion with its verdict, the numbers, and what its control changed, as lines
    for a terminal.
    """
    index = done.source.index
    lines: list[Text | Padding] = [Text(f"{index.authors}: {index.title}", style="bold")]
    for authors in (True, False):
        if not authors and any(not row.result.claim.authors for row in done.rows):
            lines.append(Text(f"\n{HYPOTHESES}", style="bold underline"))
        for study in done.studies:
            rows = [row for row in study.rows if row.result.claim.authors == authors]
            if rows or (authors and study.refused is not None):
                lines.append(Text(f"\n{study.study.title}", style="bold"))
            if authors and study.refused is not None:
                lines.append(Text(f"not run: {study.refused}", style="red"))
            if rows and study.warning is not None:
                lines.append(Text(study.warning, style="red"))
            for row in rows:
                lines += _row_lines(row, done)
    lines += [Text(f"\n{score_text(done)}", style="bold"), Text(error_text(done))]
    if any(not row.result.random for row in done.rows if "conditions" in row.result.values):
        lines.append(Text(EXACT))
    lines.append(Text(seeds_text(done)))
    lines.append(Text(clock_text(done)))
    if done.limit_text is not None:
        lines.append(Text(done.limit_text, style="yellow"))
    return lines


def score_text(done: Reproduction) -> str:
    """Return as text the number of each verdict: `9 conclusions: 5 reproduced, 3 reversed; 2
    hypotheses: …`.
    """
    texts = []
    for authors, name in ((True, "conclusion"), (False, "hypothesis")):
        counts = done.counts(authors=authors)
        total = sum(counts.values())
        if total:
            plural = {"conclusion": "conclusions", "hypothesis": "hypotheses"}[name]
            parts = ", ".join(f"{count} {word}" for word, count in counts.items())
            texts.append(f"{total} {name if total == 1 else plural}: {parts}")
    if done.not_counted:
        texts.append(f"{done.not_counted} provisional and not counted, as {DISTURBED}")
    return "; ".join(texts)


def error_text(done: Reproduction) -> str:
    """Return as text how many of the verdicts may be wrong by chance."""
    if done.expected_wrong == 0:
        return "Nothing in these studies was random: no verdict is wrong by chance."
    return (
        f"The chance that any verdict or reason is wrong is at most {percent(done.any_wrong, 2)}:"
        " 5 % for each family of a study, which are its claims, its controls, and its"
        f" sensitivities; {number(done.expected_wrong, 2)} families with a wrong one are expected."
    )


def seeds_text(done: Reproduction) -> str:
    """Return as text the seed, and the number of other seeds with which studies were run."""
    tried = max((len(study.other_seeds) for study in done.studies), default=0)
    if tried:
        return f"Seed {done.seed}; whether verdicts are stable was tried with {tried} others."
    return f"Seed {done.seed}; whether verdicts are stable over seeds was not tried (--seeds 5)."


EXACT = (
    "A ratio without an interval is that of every replicate, as nothing random happened in its"
    " cells; or, where the row says how many replicates would decide, nothing bounds it yet."
)


def clock_text(done: Reproduction) -> str:
    """Return as text the virtual time of all runs, and the wall time that they took."""
    virtual, wall = span_text(done.virtual_s), span_text(done.wall_s)
    text = f"virtual time {virtual}, wall time of the runs {wall}"
    if not done.quick:
        return text
    text += "; provisional: smaller versions of the studies (--quick)"
    left_out = done.source.index.not_quick
    return f"{text}, without {', '.join(left_out)}" if left_out else text


def expected_text(expected: Expected, cpus: int | None, *, quick: bool) -> str:
    """Return as text what is going to be run, and about how long it takes.

    Args:
        expected: the expected cost.
        cpus: number of CPUs of this machine that are used; None if other machines carry out the
            runs.
        quick: whether the number of replicates is fixed; adding replicates takes longer.
    """
    return f"{expected.studies} studies and variants, {expected.text(cpus, adds=not quick)}"


def total_text(done: Sequence[Reproduction]) -> str:
    """Return as text the summary of several reproduced publications: number of conclusions per
    verdict, and total run time.
    """
    counts: dict[str, int] = {}
    for each in done:
        for word, count in each.counts(authors=True).items():
            counts[word] = counts.get(word, 0) + count
    parts = ", ".join(f"{count} {word}" for word, count in counts.items())
    virtual_s, wall_s = (sum(getattr(d, clock) for d in done) for clock in ("virtual_s", "wall_s"))
    if left_out := sum(each.not_counted for each in done):
        parts += f" ({left_out} more not counted, as {DISTURBED})"
    return (
        f"total of {len(done)} sources: {sum(counts.values())} conclusions: {parts};"
        f" virtual time {span_text(virtual_s)}, wall time of the runs {span_text(wall_s)}"
    )


def _row_lines(row: ScoreRow, done: Reproduction) -> list[Text | Padding]:
    result = row.result
    provisional = " (provisional)" if done.quick or not row.is_counted else ""
    depends = f" {row.depends_text}" if row.depends_text else ""
    verdict = (f"{row.word}{depends}{provisional}: ", STYLES.get(row.verdict, ""))
    lines: list[Text | Padding] = [Text.assemble(verdict, result.claim.text)]
    for name, text in _details(row):
        line = Text.assemble((f"{name}: ", "dim bold"), (text, "dim"))
        lines.append(Padding(line, (0, 0, 0, 4)))
    return lines


def _details(row: ScoreRow) -> list[tuple[str, str]]:
    """Return the lines below a conclusion, as pairs of a name and a text."""
    result = row.result
    details = [
        ("source", result.claim.claimed),
        ("found", result.found),
        *(("chosen", each.text) for each in row.dependences),
        ("why", row.why),
        ("control", row.control_text),
        ("stable", None if row.stability is None else row.stability_text),
    ]
    return [(name, text) for name, text in details if text]
