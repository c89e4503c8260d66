"""Writes the report: figures, tables and claims in one self-contained HTML file.

`page.py` renders the report from `answer.py`, `numbers.py`, `trust.py`, `calibration.py`,
`cause_table.py`, `median_runs.py` and `network_drawing.py` with the templates of `templates.py`.
`pictures.py` draws one figure, or one run.

Invariant: the file needs no other file, and loads nothing from other hosts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.figures import draw_all, write_chart
from netwarp.report.page import render
from netwarp.run_files import make_folder, write_text

if TYPE_CHECKING:
    from netwarp.evaluation import RunData


def write_figures(data: RunData, ending: str = ".svg") -> list[Path]:
    """Draw the figures of a run directory, and write them to its folder `figures`.

    Raises:
        ResultError: a file in the directory cannot be read.
        OSError: a file in the directory cannot be written.
    """
    folder = data.kept.figures
    make_folder(folder)
    paths = []
    for chart in draw_all(data.study.figures, data.results, data):
        paths.append(folder / f"{chart.name}{ending}")
        write_chart(chart, paths[-1])
    return paths


def write_report(data: RunData) -> Path:
    """Write the file `report.html` of a run directory.

    Returns:
        Path of the report.

    Raises:
        ResultError: a file in the directory cannot be read.
        OSError: a file in the directory cannot be written.
    """
    path = data.kept.report_file
    write_text(path, render(data, draw_all(data.study.figures, data.results, data)))
    return path
