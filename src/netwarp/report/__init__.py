"""Figures, tables, claims → one HTML file that needs nothing else, and the figures beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.figures import draw_all, write_charts
from netwarp.report.page import render
from netwarp.results.rundata import load
from netwarp.run_directory import write_text

if TYPE_CHECKING:
    from pathlib import Path

REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"


def write_report(directory: Path) -> Path:
    """Write `report.html` and `figures/` of a run directory whose `results.parquet` is written.

    Returns:
        Where the report is.

    Raises:
        RunDirectoryError: something is missing there.
        ResultError: something there cannot be read.
    """
    data = load(directory)
    charts = draw_all(data.study.figures, data.results, data)
    write_charts(charts, directory / FIGURES_FOLDER)
    path = directory / REPORT_FILE
    write_text(path, render(data, charts))
    return path
