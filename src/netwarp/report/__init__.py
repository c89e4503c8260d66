"""Figures, tables, claims → one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.figures import draw_all, write_chart
from netwarp.report.page import render
from netwarp.results.rundata import load
from netwarp.run_directory import write_text

if TYPE_CHECKING:
    from pathlib import Path

REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"


def write_figures(directory: Path, ending: str = ".svg") -> list[Path]:
    """Draw the figures of a run directory into its folder `figures`.

    Raises:
        RunDirectoryError: something is missing there.
        ResultError: something there cannot be read.
    """
    data = load(directory)
    folder = directory / FIGURES_FOLDER
    folder.mkdir(exist_ok=True)
    paths = []
    for chart in draw_all(data.study.figures, data.results, data):
        paths.append(folder / f"{chart.name}{ending}")
        write_chart(chart, paths[-1])
    return paths


def write_report(directory: Path) -> Path:
    """Write `report.html` of a run directory whose `results.parquet` is written.

    Returns:
        Where the report is.

    Raises:
        RunDirectoryError: something is missing there.
        ResultError: something there cannot be read.
    """
    data = load(directory)
    path = directory / REPORT_FILE
    write_text(path, render(data, draw_all(data.study.figures, data.results, data)))
    return path
