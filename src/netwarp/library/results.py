"""A study that was run, with its results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp import pipeline
from netwarp.backends.base import Backend
from netwarp.backends.kernels import environ_with_default
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import InputError
from netwarp.evaluation import RunData
from netwarp.execution import Observer
from netwarp.execution.local import LocalExecutor
from netwarp.library.backends import backend_for, bounds_of
from netwarp.results import CellResult, RunResult
from netwarp.results.comparisons import Comparisons
from netwarp.study import Study
from netwarp.verification import DEFAULT_RUNS, Verification, verify

if TYPE_CHECKING:
    import altair
    import polars

    from netwarp.claims import ClaimResult, ExpectationResult
    from netwarp.output.agreement import Agreement


class Run:
    """A study that was run, with its results. Each value is computed once, on first use."""

    def __init__(self, data: RunData) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<netwarp.Run {self.directory}: {len(self.data.results.runs)} runs>"

    @property
    def directory(self) -> Path:
        """The run directory, as an absolute path."""
        return self.data.kept.path

    @property
    def study(self) -> Study:
        """The study that was run."""
        return self.data.study

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """The runs in groups with the same levels: ``cell.estimate("completion_time_s").mean``."""
        return self.data.results.cells

    @property
    def failed(self) -> tuple[RunResult, ...]:
        """The runs that failed, each with its reason."""
        return self.data.results.failed

    @property
    def comparisons(self) -> Comparisons:
        """Comparisons of all contenders with the first one, condition by condition."""
        return self.data.comparisons

    @property
    def claims(self) -> list[ClaimResult]:
        """The verdicts on the study's claims."""
        return self.data.claims

    @property
    def expectations(self) -> list[ExpectationResult]:
        """The results of the study's expectations, condition by condition."""
        return self.data.expectations

    @property
    def damage(self) -> dict[Path, str]:
        """Files that could not be read and were left out, each with the reason."""
        return dict(self.data.damage)

    def frame(self) -> polars.DataFrame:
        """A table with one row per run and the columns of `results.parquet`; ``.to_pandas()``
        converts it for pandas.
        """
        from netwarp.results.parquet import to_frame

        return to_frame(self.data.results)

    def summary(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        from netwarp.output.summary import summary

        return summary(self.data)

    def figure(self, index: int = 0) -> altair.TopLevelMixin:
        """Return one of the study's figures, counted from 0, as a chart that a notebook displays.

        Raises:
            InputError: there is no such figure, or Altair is not installed.
        """
        try:
            import altair
        except ImportError:
            raise InputError("a figure in a notebook needs Altair: `pip install altair`") from None

        from netwarp.figures import draw_all

        charts = draw_all(self.study.figures, self.data.results, self.data)
        if not 0 <= index < len(charts):
            raise InputError(f"figure({index}): there are {len(charts)} figures, counted from 0")
        chart: altair.TopLevelMixin = altair.Chart.from_dict(charts[index].spec)
        return chart

    def verify(
        self,
        runs: int = DEFAULT_RUNS,
        *,
        jobs: int | None = None,
        kernel: str | None = None,
        observer: Observer | None = None,
    ) -> Verification:
        """Repeat a sample of the runs in virtual time, and compare their records.

        Args:
            runs: the number of runs to repeat, spread evenly over all that succeeded.
            jobs: number of runs at a time; None for one per CPU.
            kernel: the guest kernel for runs that name none: a version or name; None for the
                machine's default.
            observer: notified about every run.

        Raises:
            BackendError: the kernel is not built.
            InputError: the records are of real time, in which they never repeat.
            RunDirectoryError: the directory contains nothing that can be verified.
        """
        backend: Backend
        if kernel is None:
            backend = backend_for(self.study, "virtual")
        else:
            backend = VirtualBackend(bounds_of(self.study), environ_with_default(kernel))
        return verify(
            self.data, backend, runs=runs, executor=LocalExecutor(jobs), observer=observer
        )

    def verify_against(
        self,
        other: Run,
        *,
        filters: Sequence[str] = (),
        metric: str | None = None,
        relevant: float | None = None,
    ) -> Agreement:
        """Compare this study in virtual time with the same one in real time, cell by cell.

        Args:
            other: the run in real time, as :func:`run_in_real_time` returns it.
            filters: ``FACTOR=LEVEL`` each: compare only these cells.
            metric: the metric that is compared; None for the main one.
            relevant: the smallest relevant difference, as a share; None for the study's.

        Raises:
            InputError: they are not one run in virtual and one in real time, or not of one study.
        """
        from netwarp.output.agreement import agreement

        return agreement(self.data, other.data, filters=filters, metric=metric, relevant=relevant)

    @property
    def report_file(self) -> Path:
        """Path of the report, which `report` writes."""
        return self.data.kept.report_file

    def report(self) -> Path:
        """Write results, summary and report into the directory, unless they exist already.

        Returns:
            The path of the report.
        """
        pipeline.write_outputs(self.data)
        return self.report_file


class ProgramsRun(Run):
    """The results of a server and a client that were run, as by `netwarp exec`."""

    def __init__(self, data: RunData, summary: dict[str, Any]) -> None:
        super().__init__(data)
        self._summary = summary

    @property
    def exit_status(self) -> int:
        """The client's exit status, or 1 if the run failed for another reason."""
        return int(self._summary["exit_status"])

    def summary(self) -> dict[str, Any]:
        """The object that ``netwarp exec --json`` prints."""
        return self._summary
