"""The tables that `compare`, `run` and `show` print: one for each main metric, with a block for
each condition and a line for each contender.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netwarp.estimate.comparison import WITHHELD, Comparison, Verdict
from netwarp.measurement_notes import (
    disturbed_text,
    gave_up_text,
    means_text,
    uncertainty_notes,
)
from netwarp.metrics import metric_named, workload_and_metric
from netwarp.output.claim_lines import claim_lines
from netwarp.output.expectation_lines import expectation_lines
from netwarp.output.styles import verdict_style
from netwarp.results import Results
from netwarp.results.comparisons import Comparisons, ContenderResult, metrics_beside
from netwarp.results.undecided import undecided_text
from netwarp.verdict_wording import verdict_text
from netwarp.wording import (
    SECOND_PATH,
    Quantity,
    condition_text,
    count_text,
    is_mean_unknown,
    level_text,
    mean_text,
    median_text,
    number,
    percent,
    quantity,
    sentence_case,
    unseen_text,
)

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.run_directory import Clock

WIDTH = 100
GAP = 2
"""The number of spaces between two columns."""


def result_blocks(data: RunData, width: int = WIDTH) -> list[Table | Text | Padding]:
    """Return a table for each of the study's main metrics, and notes.

    Columns are completion time, goodput, retransmissions, connection time and verdict; for streams
    loading delay, start-up delay, time stalled, bit rate played and verdict. The compared metric
    has its mean ± half the 95 % interval; in real time its median and range.
    """
    results, clock = data.results, data.clock
    if not results.runs:
        return [Text("no run has finished yet")]
    conditions = conditions_text(data)
    laid_out: list[Table | Text | Padding] = [Text(f"{conditions}\n")] if conditions else []
    names = _names(data)
    for compared in data.answers:
        if len(data.answers) > 1 or workload_and_metric(compared.metric)[0]:
            title = metric_named(compared.metric).title
            laid_out.append(Text(title, style="bold underline"))
        laid_out += blocks(results, compared, clock, width, names)
        open_text = undecided_text(compared, results)
        laid_out += [Text(f"{open_text}\n")] if open_text else []
    if data.raw.get("expect"):
        laid_out += expectation_lines(data.expectations)
    if data.raw.get("claim"):
        laid_out += claim_lines(data.claims)
    laid_out += [Text(note, style="dim") for note in notes(results, data.answers, clock)]
    for warning in (
        data.unfinished_text, data.bimodal_text, data.limit_text, disturbed_text(data),
        *uncertainty_notes(data),
    ):  # fmt: skip
        if warning is not None:
            laid_out.append(Text(warning, style="yellow"))
    return laid_out


MOST_SHOWN = 40
"""Maximum number of characters of a condition in the line of conditions; longer ones are left
out."""
USUAL = {"path.mtu": "1500", "path.loss": "0%", "workload.kind": "bulk", "workload.verify": "true"}
"""Usual values of conditions, which are therefore not listed."""


def conditions_text(data: RunData) -> str:
    """Return a line with the conditions that all cells share, defaults such as the queue included;
    "" if there are none.
    """
    single = {
        factor: levels[0]
        for factor, levels in data.results.factors.items()
        if len(levels) == 1 and factor != data.results.contender_factor
    }
    fixed = _with_one_rate(single | data.fixed)
    shown = {
        key: PurePath(value).name if key == "workload.file" else value
        for key, value in fixed.items()
        if USUAL.get(key) != value
        and key.startswith(("path.", "topology.", "link.", "transport", "workload."))
        and key.count(".") < 2 + key.endswith((".stack.name", ".congestion")) + _has_prefix(key)
        and not key.endswith((".stack", ".title"))
    }  # fmt: skip
    brief = {key: value for key, value in shown.items() if len(value) <= MOST_SHOWN}
    return sentence_case(condition_text(brief))


def _has_prefix(key: str) -> bool:
    """Return whether a key begins with a link's name or the second path's, as one more part."""
    return key.startswith(("link.", SECOND_PATH))


def _with_one_rate(fixed: Mapping[str, str]) -> dict[str, str]:
    """Return conditions in which two equal rates, one for each direction, are replaced by one."""
    down, up = fixed.get("path.rate_down"), fixed.get("path.rate_up")
    if down is None or down != up:
        return dict(fixed)
    return {
        ("path.rate" if key == "path.rate_down" else key): value
        for key, value in fixed.items()
        if key != "path.rate_up"
    }


def _names(data: RunData) -> dict[str, str]:
    """Return the names of contenders, with details that their levels do not have, such as the stack
    of QUIC.
    """
    for key in ("transport.stack.name", "transport.quic.stack.name"):
        if key in data.fixed:
            return {"quic": f"{level_text('transport', 'quic')} ({data.fixed[key]})"}
    return {}


def blocks(
    results: Results,
    compared: Comparisons,
    clock: Clock = "virtual",
    width: int = WIDTH,
    names: Mapping[str, str] | None = None,
) -> list[Table | Text]:
    """Return a table for each condition, with the same columns, and headings.

    If verdicts would not fit, metrics other than the compared one are left out, beginning with the
    last.
    """
    compared = compared.with_values
    beside = metrics_beside(results, compared.metric)
    metrics = [compared.metric, *beside]
    shown = {metric: _shown(results, metric) for metric in metrics if metric in results.metrics}
    while True:
        heads = _heads(compared, shown)
        lines = [
            [_line(each, compared, shown, clock, names or {}) for each in group.contenders]
            for group in compared.groups
        ]
        widths = [
            max(_longest(head), *(line[i].cell_len for group in lines for line in group))
            for i, head in enumerate(heads[:-1])
        ]
        room = width - sum(widths) - GAP * len(widths)
        if len(shown) <= 1 or _longest_verdict(compared) <= room:
            break
        shown.popitem()
    laid_out: list[Table | Text] = [grid(heads, widths, [], show_header=True)]
    for group, contenders in zip(compared.groups, lines, strict=True):
        varied = {f: each for f, each in group.condition.items() if len(results.factors[f]) > 1}
        if varied:
            laid_out.append(Text(sentence_case(condition_text(varied)), style="bold"))
        laid_out += [grid(heads, widths, contenders, show_header=False), Text("")]
    return laid_out


def grid(
    heads: Sequence[Text], widths: Sequence[int], lines: Sequence[list[Text]], *, show_header: bool
) -> Table:
    """Return a table with columns of fixed width, except for the last, which gets the remaining
    width.

    Args:
        heads: heads of all columns.
        widths: widths of all columns but the last.
        lines: rows: a cell for each column.
        show_header: whether the heads are shown.
    """
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, show_header=show_header, padding=(0, GAP - 1, 0, 0)
    )
    for i, head in enumerate(heads[:-1]):
        justify: Literal["left", "right"] = "left" if i == 0 else "right"
        # In a narrow terminal verdicts wrap, and names and numbers keep their width.
        table.add_column(head, justify=justify, width=widths[i], min_width=widths[i], no_wrap=True)
    table.add_column(heads[-1])
    for line in lines:
        table.add_row(*line)
    return table


def _heads(compared: Comparisons, shown: Mapping[str, Quantity]) -> list[Text]:
    """Return the headings of the columns: metrics with their units, and the verdict."""
    parts = {metric: workload_and_metric(metric) for metric in shown}
    # If all are of one workload, the line above the table names it.
    is_of_one = len({workload for workload, _ in parts.values()}) == 1
    described = {m: metric_named(own if is_of_one else m) for m, (_, own) in parts.items()}
    titles = {m: metric.head or metric.title.lower() for m, metric in described.items()}
    named = [
        Text(f"{titles[metric]}\n{unit.unit or _counted(metric)}") for metric, unit in shown.items()
    ]
    if not compared.comparisons:
        return [Text(""), *named, Text("")]
    first = level_text(compared.factor, compared.first)
    head = titles.get(compared.metric, "value")
    return [Text(""), *named, Text(f"{head}\nagainst {first}")]


def _counted(metric: str) -> str:
    return "packets" if metric_named(metric).unit == "packets" else ""


def _longest_verdict(compared: Comparisons) -> int:
    """Return the width of the longest verdict in characters; the text on missing values may take a
    second line.
    """
    comparisons = [c for c in compared.comparisons if c.verdict not in WITHHELD]
    return max((len(verdict_text(c, compared.metric)) for c in comparisons), default=0)


def _longest(text: Text) -> int:
    return max(map(len, text.plain.splitlines()), default=0)


def exact_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Return a note that explains the word "exact", if one of these comparisons is exact."""
    if not any(each.exact for each in comparisons):
        return []
    return ["exact: nothing is random, and all replicates are equal, to a millionth."]


def notes(results: Results, answers: Sequence[Comparisons], clock: Clock = "virtual") -> list[str]:
    """Return notes on how to read the numbers, and on runs that failed."""
    comparisons = [each for compared in answers for each in compared.comparisons]
    text = (
        "± is half the 95 % confidence interval of the mean; of a wide one brackets have both ends"
    )
    paired = "verdicts by paired t-tests on shared loss seeds"
    if clock == "real":
        text = "real time: medians, in brackets the smallest and the largest value"
        paired = "verdicts by paired t-tests, replicate by replicate"
    if any(not c.paired for c in comparisons):
        text += "; verdicts by Welch's t-test"
    elif comparisons:
        text += f"; {paired}"
    tested = max((compared.tested for compared in answers), default=0)
    if tested > 1:
        each = " of each metric" if len(answers) > 1 else ""
        text += f", Holm-adjusted for {tested} comparisons{each}"
    if comparisons:
        text += f"; less than {percent(results.criteria.relevant, 2)} is no difference"
    lines = [text + "."]
    same = [c.n for c in comparisons if c.verdict is Verdict.EQUIVALENT and not c.exact]
    if same:
        lines.append(f"equivalent: {unseen_text(min(same))}.")
    lines += exact_notes(comparisons)
    if clock == "virtual" and (other_means := means_text(answers)):
        lines.append(f"{other_means}.")
    main = [cell.estimate(compared.metric) for compared in answers for cell in results.cells]
    if clock == "virtual" and any(each is not None and is_mean_unknown(each) for each in main):
        lines.append("“to”: the range of replicates that do not tell the mean.")
    lines += [
        f"no run has {metric}: their records do not determine it"
        for metric in results.compared_by.metrics
        if metric not in results.metrics
    ]
    if gave_up := gave_up_text(results):
        lines.append(gave_up)
    lines += [f"failed: {run.run} ({run.reason})" for run in results.failed[:5]]
    if len(results.failed) > 5:
        lines.append(f"… and {len(results.failed) - 5} more failed runs: see the report")
    return lines


def _shown(results: Results, metric: str) -> Quantity:
    means = [e.mean for cell in results.cells if (e := cell.estimate(metric)) is not None]
    return quantity(metric, max(means))


def _line(
    contender: ContenderResult,
    compared: Comparisons,
    shown: dict[str, Quantity],
    clock: Clock,
    names: Mapping[str, str],
) -> list[Text]:
    """Return the row of a contender: its name, its means, and the verdict."""
    cell = contender.cell
    name = names.get(contender.label) if compared.factor == "transport" else None
    texts = [Text(name or level_text(compared.factor, contender.label))]
    for metric, unit in shown.items():
        estimate = cell.estimate(metric)
        if estimate is None:
            texts.append(Text("–"))
        elif metric == compared.metric:
            text = mean_text if clock == "virtual" else median_text
            texts.append(Text(text(estimate, unit)))
        else:
            value = estimate.mean if clock == "virtual" else estimate.median
            text_of_value = count_text(value, unit) or number(value * unit.scale)
            texts.append(Text(text_of_value))
    verdict = _verdict(contender, compared)
    if cell.failed:
        verdict.append(f" · {len(cell.failed)} of {len(cell.runs)} failed", style="red")
    if cell.gave_up:
        verdict.append(f" · {len(cell.gave_up)} of {len(cell.runs)} gave up", style="yellow")
    if cell.disturbed:
        verdict.append(f" · {len(cell.disturbed)} of {len(cell.runs)} disturbed", style="yellow")
    return [*texts, verdict]


def _verdict(contender: ContenderResult, compared: Comparisons) -> Text:
    if contender.comparison is None:
        return Text("")
    style = verdict_style(contender.comparison, compared.metric)
    return Text(verdict_text(contender.comparison, compared.metric), style=style)
