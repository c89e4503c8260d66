"""Commands that look at run directories: show, report, timeline, export, figure, diff."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from netwarp.cli.command import Argument, Whole, command
from netwarp.cli.interruption import interruption
from netwarp.errors import RunDirectoryError, without_controls
from netwarp.options import CHECKS, Option, Takes
from netwarp.options.running import AGAINST, EXPECT, JSON, METRIC


def _directory() -> Argument:
    return Argument("directory", "DIR", "A run directory.", type=Path)


@command(_directory(), METRIC, AGAINST, EXPECT, *CHECKS, JSON)
def show(
    directory: Path,
    metric: Sequence[str] = (),
    against: str | None = None,
    expect: Sequence[str] = (),
    as_json: bool = False,
    **given: Any,
) -> None:
    """Print the table of a run directory again, or by other metrics.

    Where the study has expectations, or with --expect or --baseline, its exit status is that of
    `netwarp run`: 3 if one is undecided, also because runs are missing.
    """
    from netwarp.cli.checks import Checks, status_of
    from netwarp.cli.terminal import end_by, print_answer, print_damage
    from netwarp.library import Run, open_run
    from netwarp.study.overrides import against_level

    checks = Checks.taken_from(given)
    opened = open_run(_run_directory(directory))
    print_damage(opened)
    shown = opened.data.asked(metric, against_level(against)).expecting(expect)
    compared = checks.compared(shown)
    print_answer(Run(shown), as_json, compared)
    checks.write(shown, compared)
    if shown.raw.get("expect") or compared is not None:
        end_by(status_of(shown, compared))


@command(_directory(), JSON)
def report(directory: Path, as_json: bool = False) -> None:
    """Write results, summary and report of a run directory again, finished or not."""
    from netwarp.cli.terminal import print_and_end, print_damage
    from netwarp.library import open_run

    path = _run_directory(directory)
    interruption.kept_text = lambda: f"{path} is kept; the same command draws its report"
    opened = open_run(path)
    print_damage(opened)
    print_and_end(opened, as_json, anew=True)


@command(
    _directory(),
    Argument("run", "RUN", "A run of the directory, such as c003-r01."),
    Option(
        name="out", flags=("--out", "-o"), metavar="FILE", takes=Takes.PATH,
        help="File to write: .svg, .png, .pdf, or .json for Vega-Lite. Default: figures/RUN.svg,"
        " and figures/RUN-LINK.svg of a link.",
    ),
    Option(
        name="link", metavar="NAME",
        help="Of a network of several hosts, only this link, both directions: utilisation, queue,"
        " drops and marks.",
    ),
)  # fmt: skip
def timeline(directory: Path, run: str, out: Path | None = None, link: str | None = None) -> None:
    """Draw one run over time: delay, goodput, the player's actions."""
    from netwarp.report.pictures import draw_run
    from netwarp.run_directory import RunDirectory

    click.echo(draw_run(RunDirectory(_run_directory(directory)), run, out, link))


@command(
    _directory(),
    Option(
        name="format_", flags=("--format",), metavar="csv|json|iperf3|har|qlog",
        help="The format: csv, json, iperf3, har or qlog. Default: csv.",
    ),
    Option(name="run", metavar="RUN", help="Only this run. Default: all."),
)  # fmt: skip
def export(directory: Path, format_: str = "csv", run: str | None = None) -> None:
    """Write a run directory's results to standard output in another format."""
    from netwarp.cli.terminal import print_damage
    from netwarp.library import open_run
    from netwarp.output.export import export_results

    opened = open_run(_run_directory(directory))
    print_damage(opened)
    written = export_results(opened.data, format_, run)
    # A file gets levels unchanged; a terminal would execute escape sequences in them.
    sys.stdout.writelines(map(without_controls, written) if sys.stdout.isatty() else written)


@command(
    _directory(),
    Argument(
        "number", "[N]", "Number of the figure in the report. Default: list them.", type=Whole(),
        required=False,
    ),
    Option(
        name="out", flags=("--out", "-o"), metavar="FILE", takes=Takes.PATH,
        help="Where to: .svg, .png, .pdf, or .json for Vega-Lite with its data."
        " Default: figures/NAME.svg in the directory.",
    ),
    Option(
        name="theme", metavar="screen|paper",
        help="screen, or paper: one column of a paper, without title. Default: screen.",
    ),
    Option(
        name="config", metavar="FILE.json", takes=Takes.PATH,
        help="Vega-Lite configuration, merged over the theme's, as JSON.",
    ),
)  # fmt: skip
def figure(
    directory: Path,
    number: int | None = None,
    out: Path | None = None,
    theme: str = "screen",
    config: Path | None = None,
) -> None:
    """Draw a figure of the report into a file, or list the figures."""
    from netwarp.report.pictures import draw_figure, figures_of

    if number is not None:
        click.echo(draw_figure(directory, number, out, theme=theme, config=config))
        return
    for place, chart in enumerate(figures_of(directory), start=1):
        click.echo(f"{place:2}  {without_controls(chart.title)}  ({chart.name})")


@command(
    Argument("before", "BEFORE", "The earlier run directory.", type=Path),
    Argument("after", "AFTER", "The later one, which is compared with it.", type=Path),
    METRIC,
    Option(
        name="against",
        help="Compare each cell's ratio to the cell with this level, instead of its value:"
        " transport=tcp.",
        metavar="FACTOR=LEVEL",
    ),
    JSON,
)
def diff(
    before: Path,
    after: Path,
    metric: Sequence[str] = (),
    against: str | None = None,
    as_json: bool = False,
) -> None:
    """Compare two run directories: which cells changed significantly, and what else differs."""
    from netwarp.cli.printing import print_differences
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.evaluation import load
    from netwarp.output.diff import differences, differences_json
    from netwarp.study.overrides import against_level

    found = differences(load(before), load(after), list(metric), against_level(against))
    if as_json:
        print_json(differences_json(found))
    else:
        print_differences(found, answer_console())


def _run_directory(path: Path) -> Path:
    """Return the run directory at a path, or the one that contains the file at this path.

    Raises:
        RunDirectoryError: neither exists.
    """
    from netwarp.regular_files import is_file, is_folder, is_there
    from netwarp.run_directory import RunDirectory

    directory = path.parent if is_file(path) else path
    if not is_folder(directory) or (
        is_file(path) and not is_there(RunDirectory(directory).plan_file)
    ):
        raise RunDirectoryError(f"{path} is not a run directory: name one that `netwarp run` made")
    return directory
