"""Draws a figure of a run directory to a file, in a theme, with the user's own configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from netwarp.errors import InputError, ResultError
from netwarp.evaluation import load
from netwarp.figures import draw_all, write_chart
from netwarp.figures.chart import Chart
from netwarp.figures.figures import WRITERS
from netwarp.figures.style import PAPER, SCREEN, THEMES, Theme
from netwarp.regular_files import UnreadableFileError, read_regular_file
from netwarp.run_directory import RunDirectory
from netwarp.run_files import make_folder

MOST_CONFIG_BYTES = 1 << 20


def figures_of(directory: Path, theme: Theme = SCREEN) -> list[Chart]:
    """Give the figures of a run directory, in the order of its report.

    Raises:
        RunDirectoryError: it is no run directory, or has no results.
        ResultError: something there cannot be read.
    """
    data = load(directory)
    return draw_all(data.study.figures, data.results, data, theme)


def draw_figure(
    directory: Path,
    number: int,
    out: Path | None = None,
    *,
    theme: str = SCREEN.name,
    config: Path | None = None,
) -> Path:
    """Draw one figure into a file.

    Args:
        directory: the run directory.
        number: number of the figure, from 1.
        out: where to; its ending says in which format. Default: `figures/NAME.svg`.
        theme: name of one of `THEMES`.
        config: a JSON file with a Vega-Lite configuration, laid over the theme's.

    Returns:
        Path of the picture.

    Raises:
        RunDirectoryError: it is no run directory, or has no results.
        InputError: there is no such figure, theme, format or configuration.
        ResultError: the picture cannot be written.
    """
    if theme not in THEMES:
        raise InputError(f"--theme {theme}: unknown; choose one of {', '.join(THEMES)}")
    if out is not None and out.suffix not in WRITERS:
        raise InputError(f"-o {out}: unknown ending; choose one of {', '.join(WRITERS)}")
    laid_over = _config(config) if config else {}
    charts = figures_of(directory, THEMES[theme])
    if not 1 <= number <= len(charts):
        known = f"it has figures 1 to {len(charts)}" if charts else "it has none"
        raise InputError(f"{directory} has no figure {number}: {known}")
    chart = charts[number - 1].restyled(laid_over)
    if theme == PAPER.name:
        chart = chart.of_width(PAPER.width)
    path = out or RunDirectory(directory).figures / f"{chart.name}.svg"
    try:
        if out is None:
            make_folder(path.parent)
        write_chart(chart, path)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from None
    return path


def _config(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular_file(path, MOST_CONFIG_BYTES))
    except (UnreadableFileError, ValueError, RecursionError) as error:
        raise InputError(f"--config {path}: no JSON ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f'--config {path}: not an object such as {{"font": "Times"}}')
    return content
