"""The command that draws one figure of a run directory into a file."""

from __future__ import annotations

from pathlib import Path

import click

from netwarp.cli.command import Argument, Whole, command
from netwarp.options import Option, Takes


@command(
    Argument("directory", "DIR", "A run directory.", type=Path),
    Argument(
        "number", "[N]", "Which, as the report counts them. Default: list them.", type=Whole(),
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
        help="Vega-Lite configuration laid over the theme's, as JSON.",
    ),
)  # fmt: skip
def figure(
    directory: Path,
    number: int | None = None,
    out: Path | None = None,
    theme: str = "screen",
    config: Path | None = None,
) -> None:
    """Draw a figure of the report into a file, or list the figures there are."""
    from netwarp.cli.terminal import escaped
    from netwarp.report.figure_file import draw_figure, figures_of

    if number is not None:
        click.echo(draw_figure(directory, number, out, theme=theme, config=config))
        return
    for place, chart in enumerate(figures_of(directory), start=1):
        click.echo(f"{place:2}  {escaped(chart.title)}  ({chart.name})")
