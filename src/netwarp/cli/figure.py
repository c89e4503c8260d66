"""The command that draws one figure of a run directory into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer


def figure(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    number: Annotated[
        Optional[int],  # noqa: UP045 - typer reads the annotation at run time
        typer.Argument(metavar="N", help="Which, as the report counts them. Default: list them."),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--out", "-o", metavar="FILE",
            help="Where to: .svg, .png, .pdf, or .json for Vega-Lite with its data."
            " Default: figures/NAME.svg in the directory.",
        ),
    ] = None,
    theme: Annotated[
        str,
        typer.Option(help="screen, or paper: one column of a paper, without title.",
                     metavar="screen|paper"),
    ] = "screen",
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Vega-Lite configuration laid over the theme's, as JSON.",
                     metavar="FILE.json"),
    ] = None,
) -> None:  # fmt: skip
    """Draw a figure of the report into a file, or list the figures there are."""
    from netwarp.cli.terminal import escaped
    from netwarp.report.figure_file import draw_figure, figures_of

    if number is not None:
        typer.echo(draw_figure(directory, number, out, theme=theme, config=config))
        return
    for place, chart in enumerate(figures_of(directory), start=1):
        typer.echo(f"{place:2}  {escaped(chart.title)}  ({chart.name})")
