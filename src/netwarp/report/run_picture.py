"""Draws a run of a run directory over time, as a picture."""

from __future__ import annotations

from pathlib import Path

from netwarp.errors import InputError, ResultError, RunDirectoryError
from netwarp.evaluation import KeptRuns
from netwarp.figures import write_chart
from netwarp.figures.figures import WRITERS
from netwarp.figures.over_time.figure import run_chart
from netwarp.results import RunResult
from netwarp.run_directory import RunDirectory
from netwarp.run_files import make_folder
from netwarp.suggestions import did_you_mean


def draw_run(directory: RunDirectory, run: str, out: Path | None = None) -> Path:
    """Draw a run over time; a failed run up to its last record.

    Args:
        directory: the run directory.
        run: its name, such as `c003-r01`.
        out: where to; its ending says in which format. Default: `figures/RUN.svg` in the directory.

    Returns:
        Where the picture is.

    Raises:
        RunDirectoryError: it is no run directory.
        InputError: there is no such run or format, or it recorded nothing over time.
        ResultError: the picture cannot be written.
    """
    path = out or directory.figures / f"{run}.svg"
    if path.suffix not in WRITERS:
        raise InputError(f"-o {path}: unknown ending; choose one of {', '.join(WRITERS)}")
    chart = run_chart(_planned(directory, run), KeptRuns(directory.runs))
    if chart is None:
        raise InputError(
            f"{run} recorded nothing over time: runs in ns-3 do not, nor those with sampling ="
            ' "off" on a path that stays as it is (nor any once its directory is gone)'
        )
    try:
        make_folder(path.parent)
        write_chart(chart, path)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from None
    return path


def _planned(directory: RunDirectory, run: str) -> RunResult:
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
