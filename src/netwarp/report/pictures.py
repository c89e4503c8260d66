"""Draws a figure of a run directory, or one of its runs over time, and writes it to a file."""

import json
from pathlib import Path
from typing import Any

from netwarp.errors import InputError, ResultError, RunDirectoryError
from netwarp.evaluation import load
from netwarp.figures import draw_all, write_chart
from netwarp.figures.chart import Chart
from netwarp.figures.figures import require_ending
from netwarp.figures.over_time.figure import run_chart
from netwarp.figures.style import PAPER, SCREEN, THEMES, Theme
from netwarp.kept_runs import KeptRuns
from netwarp.regular_files import UnreadableFileError, read_regular_file
from netwarp.results import RunResult
from netwarp.run_directory import RunDirectory
from netwarp.run_files import make_folder
from netwarp.suggestions import did_you_mean

MOST_CONFIG_BYTES = 1 << 20


def figures_of(directory: Path, theme: Theme = SCREEN) -> list[Chart]:
    """Return the figures of a run directory, in the order of its report.

    Raises:
        RunDirectoryError: it is not a run directory, or has no results.
        ResultError: a file in the directory cannot be read.
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
    """Draw one figure, and write it to a file.

    Args:
        directory: the run directory.
        number: number of the figure, from 1.
        out: the file to write; its extension determines the format. Default: `figures/NAME.svg`.
        theme: name of one of `THEMES`.
        config: a JSON file with a Vega-Lite configuration that is merged over the theme's.

    Returns:
        The path of the picture.

    Raises:
        RunDirectoryError: it is not a run directory, or has no results.
        InputError: there is no such figure, theme, format or configuration.
        ResultError: the picture cannot be written.
    """
    if theme not in THEMES:
        raise InputError(f"--theme {theme}: unknown; choose one of {', '.join(THEMES)}")
    if out is not None:
        require_ending(out)
    laid_over = _config(config) if config else {}
    charts = figures_of(directory, THEMES[theme])
    if not 1 <= number <= len(charts):
        known = f"it has figures 1 to {len(charts)}" if charts else "it has none"
        raise InputError(f"{directory} has no figure {number}: {known}")
    chart = charts[number - 1].restyled(laid_over)
    if theme == PAPER.name:
        chart = chart.of_width(PAPER.width)
    path = out or RunDirectory(directory).figures / f"{chart.name}.svg"
    return _written(chart, path, makes_folder=out is None)


def _config(path: Path) -> dict[str, Any]:
    """Read a Vega-Lite configuration from a file."""
    try:
        content = json.loads(read_regular_file(path, MOST_CONFIG_BYTES))
    except (UnreadableFileError, ValueError, RecursionError) as error:
        raise InputError(f"--config {path}: no JSON ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f'--config {path}: not an object such as {{"font": "Times"}}')
    return content


def draw_run(
    directory: RunDirectory, run: str, out: Path | None = None, link: str | None = None
) -> Path:
    """Draw a run over time, or one link of its network. A failed run is drawn up to its last
    record.

    Args:
        directory: the run directory.
        run: the run's name, such as `c003-r01`.
        out: the file to write; its extension determines the format. Default: `figures/RUN.svg` in
            the directory, and `figures/RUN-LINK.svg` of a link.
        link: the name of the link, as in metrics.

    Returns:
        The path of the picture.

    Raises:
        RunDirectoryError: it is not a run directory.
        InputError: there is no such run, format or link, or it recorded nothing over time.
        ResultError: the picture cannot be written.
    """
    if out is not None:
        require_ending(out)
    planned = _planned(directory, run)
    path = out or directory.figures / f"{run if link is None else f'{run}-{link}'}.svg"
    chart = run_chart(planned, KeptRuns(directory.runs), link=link)
    if chart is None:
        raise InputError(
            f"{run} recorded nothing over time: runs in ns-3 do not, nor those with sampling ="
            ' "off" on a path that stays as it is (nor any once its directory is gone)'
        )
    return _written(chart, path, makes_folder=True)


def _written(chart: Chart, path: Path, *, makes_folder: bool) -> Path:
    """Write a chart to a file; raise ResultError if that fails."""
    try:
        if makes_folder:
            make_folder(path.parent)
        write_chart(chart, path)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from None
    return path


def _planned(directory: RunDirectory, run: str) -> RunResult:
    """Return a planned run that has ended; raise InputError if there is none of this name."""
    lines = {line["run"]: line for line in directory.plan_lines()}
    if not lines:
        raise RunDirectoryError(
            f"{directory.path} is not a run directory (no {directory.plan_file.name} with runs in"
            " it): name one that `netwarp run` made"
        )
    status = directory.status(run)
    if run not in lines or status is None:
        ended = [name for name in lines if directory.status(name) is not None]
        raise InputError(f"{directory.path} has no run {run}: {did_you_mean(run, ended[:12])}")
    line = lines[run]
    factors = {factor: str(level) for factor, level in line["factors"].items()}
    return RunResult(
        run, line["cell"], line["replicate"], line["seed"], factors, status.outcome, status.reason,
        metrics={},
    )  # fmt: skip
