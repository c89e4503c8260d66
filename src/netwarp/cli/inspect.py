"""Commands that look at a run directory: show, report, timeline, export."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from netwarp.cli.command import Argument, command
from netwarp.cli.interruption import interruption
from netwarp.errors import RunDirectoryError
from netwarp.options import Option, Takes
from netwarp.options.running import AGAINST, JSON, METRIC


def _directory() -> Argument:
    return Argument("directory", "DIR", "A run directory.", type=Path)


@command(_directory(), METRIC, AGAINST, JSON)
def show(
    directory: Path,
    metric: Sequence[str] = (),
    against: str | None = None,
    as_json: bool = False,
) -> None:
    """Print the table of a run directory again, or by other metrics."""
    from netwarp.cli.printing import print_results
    from netwarp.cli.terminal import answer_console, print_damage, print_json
    from netwarp.library import Run, open_run
    from netwarp.study.overrides import against_level

    opened = open_run(_run_directory(directory))
    print_damage(opened)
    shown = opened.data.asked(metric, against_level(against))
    if as_json:
        print_json(Run(shown).summary())
    else:
        print_results(shown, answer_console())


@command(_directory(), JSON)
def report(directory: Path, as_json: bool = False) -> None:
    """Make results, summary and report of a run directory anew, finished or not."""
    from netwarp.cli.terminal import print_damage, tell
    from netwarp.library import open_run

    path = _run_directory(directory)
    interruption.kept_text = lambda: f"{path} is kept; the same command draws its report"
    opened = open_run(path)
    print_damage(opened)
    tell(opened, as_json, anew=True)


@command(
    _directory(),
    Argument("run", "RUN", "A run of it, such as c003-r01."),
    Option(
        name="out", flags=("--out", "-o"), metavar="FILE", takes=Takes.PATH,
        help="Where to: .svg, .png, .pdf, or .json for Vega-Lite. Default: figures/RUN.svg.",
    ),
)  # fmt: skip
def timeline(directory: Path, run: str, out: Path | None = None) -> None:
    """Draw what happened in one run over time: delay, goodput, what the player did."""
    from netwarp.report.run_picture import draw_run
    from netwarp.run_directory import RunDirectory

    click.echo(draw_run(RunDirectory(_run_directory(directory)), run, out))


@command(
    _directory(),
    Option(
        name="format_", flags=("--format",), metavar="csv|json|iperf3|har|qlog",
        help="What to write: csv, json, iperf3, har or qlog. Default: csv.",
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
    sys.stdout.writelines(export_results(opened.data, format_, run))


def _run_directory(path: Path) -> Path:
    """Take the directory that was named, or the one that a file of it was named of.

    Raises:
        RunDirectoryError: neither is there.
    """
    from netwarp.regular_files import is_file, is_folder, is_there
    from netwarp.run_directory import RunDirectory

    directory = path.parent if is_file(path) else path
    if not is_folder(directory) or (
        is_file(path) and not is_there(RunDirectory(directory).plan_file)
    ):
        raise RunDirectoryError(f"{path} is not a run directory: name one that `netwarp run` made")
    return directory
