"""Lines that report whether virtual and real time agree: the path, the cells, and why some
differ.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from rich.table import Table
from rich.text import Text

from netwarp.estimate.stats import Estimate
from netwarp.output.agreement import Agreement, AgreementCell, Answer
from netwarp.output.disagreement import PathAsked
from netwarp.output.table import grid
from netwarp.results.undecided import open_text
from netwarp.verdict_wording import verdict_text
from netwarp.wording import (
    cell_text,
    cells_text,
    mean_text,
    number,
    number_of_cells,
    percent,
    quantity,
    value_text,
)

STYLES = {
    Answer.AGREES: "green",
    Answer.DIFFERS: "yellow",
    Answer.UNDECIDED: "dim",
    Answer.NOT_COMPARED: "red",
}
MANY = {Answer.AGREES: "agree", Answer.DIFFERS: "differ"}
"""Verbs in the plural, for answers that apply to several cells."""
NOTHING = "–"


def agreement_blocks(found: Agreement) -> list[Table | Text]:
    """Return the texts to print: the path in virtual and real time, the cells with their verdicts,
    and reasons for differences.
    """
    return [
        *_path_blocks(found),
        _cells_table(found),
        Text(_counts(found)),
        *(Text(line, style="dim") for line in _notes(found)),
        *_reason_lines(found.cells),
        *_measured_path_lines(found),
        *_lines_of_one_alone(found),
    ]


def _path_blocks(found: Agreement) -> Iterator[Table | Text]:
    if found.asked is None:
        return
    rows = [
        (name, asked, shown)
        for name, asked, shown in _path_rows(found, found.asked)
        if shown is not None
    ]
    if rows:
        lines = [[Text(name), Text(asked), Text(shown)] for name, asked, shown in rows]
        heads = [Text("path"), Text("virtual time"), Text("measured: median, least and most")]
        yield _table(heads, lines)
        yield Text("")


def _path_rows(found: Agreement, asked: PathAsked) -> Iterator[tuple[str, str, str | None]]:
    """Yield for each property of the path: its name, the value in virtual time, and the measurement
    in real time.
    """
    yield "RTT", value_text("path_min_rtt_s", asked.rtt_s), _spread(found, "path_min_rtt_s")
    for direction, rate_bit_s in asked.rates:
        metric = f"probed_rate_{direction}_bit_s"
        rate = "unlimited" if rate_bit_s is None else value_text(metric, rate_bit_s)
        yield f"rate {direction}", rate, _spread(found, metric, "at least ")
    for direction, loss in asked.losses:
        yield f"loss {direction}", percent(loss), _spread(found, f"probed_loss_{direction}")


def _spread(found: Agreement, metric: str, before: str = "") -> str | None:
    """Return the range of a metric over all runs as text; None if it was not measured."""
    values = _measured(found, metric)
    if not values:
        return None
    shown = quantity(metric, values[-1])
    middle, least, most = (
        number(each * shown.scale) for each in (median(values), values[0], values[-1])
    )
    return f"{before}{middle} [{least} – {most}] {shown.unit}"


def _measured(found: Agreement, metric: str) -> list[float]:
    """Return the values of a metric in all runs in real time, in ascending order."""
    return sorted(value for cell in found.real.results.cells for value in cell.values(metric))


def _cells_table(found: Agreement) -> Table:
    means = [e.mean for cell in found.cells for e in (cell.virtual, cell.real) if e is not None]
    shown = quantity(found.metric, max(means, default=1.0))

    def value(estimate: Estimate | None) -> Text:
        return Text(NOTHING if estimate is None else mean_text(estimate, shown))

    lines = [
        [
            Text(cell_text(cell.factors, ", ")),
            value(cell.virtual),
            value(cell.real),
            Text(str(cell.answer), style=STYLES[cell.answer]),
            Text(verdict_text(cell.comparison, found.metric)),
        ]
        for cell in found.cells
    ]
    title = f"{shown.title.lower()}{f' ({shown.unit})' if shown.unit else ''}"
    heads = [Text(title), Text("virtual time"), Text("real time"), Text(""), Text("in real time")]
    return _table(heads, lines)


def _table(heads: Sequence[Text], lines: Sequence[list[Text]]) -> Table:
    widths = [
        max(heads[i].cell_len, *(line[i].cell_len for line in lines), 1)
        for i in range(len(heads) - 1)
    ]
    return grid(heads, widths, lines, show_header=True)


def _counts(found: Agreement) -> str:
    """Return as text how many cells agree, and how many do not."""
    counts = {answer: found.count(answer) for answer in Answer}
    said = [
        f"{count} {answer if count == 1 else MANY.get(answer, answer)}"
        for answer, count in counts.items()
        if count
    ]
    return f"{number_of_cells(len(found.cells))}: {', '.join(said) or 'none in both'}"


def _notes(found: Agreement) -> Iterator[str]:
    """Yield notes on how to read the numbers, and on failed runs."""
    relevant = percent(found.relevant, 2)
    tested = [cell.comparison for cell in found.cells]
    how = "paired t-tests" if all(each.paired for each in tested) else "Welch's t-test"
    yield (
        f"± and brackets are 95 % confidence intervals; less than {relevant} is no difference;"
        f" verdicts by {how}, Holm-adjusted."
    )
    if undecided := open_text(found.family):
        yield f"{undecided} (--replicates)."
    for data in (found.virtual, found.real):
        failed = data.results.failed
        if failed:
            yield (
                f"{len(failed)} runs failed in {data.directory}, such as {failed[0].run}"
                f" ({failed[0].reason})"
            )


def _reason_lines(cells: Sequence[AgreementCell]) -> Iterator[Text]:
    for cell in cells:
        if cell.reasons:
            yield Text(f"{cell_text(cell.factors, ', ')} differs; it may be")
            for reason in cell.reasons:
                yield Text.assemble("  ", (reason.cause, "bold"), f": {reason.text}")


def _measured_path_lines(found: Agreement) -> Iterator[Text]:
    """Yield the options with which the virtual path would equal the measured one, if the two
    differ.
    """
    causes = {reason.cause for cell in found.cells for reason in cell.reasons}
    if found.asked is None or "path" not in causes:
        return
    options = []
    if rtts_s := _measured(found, "path_min_rtt_s"):
        options.append(f"--set path.rtt={median(rtts_s) * 1e3:.4g}ms")
    for direction, _ in found.asked.rates:
        if rates_bit_s := _measured(found, f"probed_rate_{direction}_bit_s"):
            options.append(f"--set path.rate_{direction}={median(rates_bit_s) / 1e6:.4g}mbit")
    yield Text(f"the path as it was measured, for virtual time: {' '.join(options)}")


def _lines_of_one_alone(found: Agreement) -> Iterator[Text]:
    for time, cells in (("virtual", found.only_virtual), ("real", found.only_real)):
        if cells:
            yield Text(f"only in {time} time: {cells_text(cells)}")
