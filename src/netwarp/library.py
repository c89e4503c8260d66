"""netwarp as a library: run or compare, and inspect the results.

The command line is built on it; in a notebook it is used like this::

    import netwarp

    run = netwarp.compare(transport=["tcp", "quic"], size="10MB", rtt="100ms", loss=["0%", "1%"])
    times = run.frame().select("transport", "path.loss", "completion_time_s")
    times.group_by("transport", "path.loss").mean()
    run.figure(0)
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp import pipeline
from netwarp.backends.registry import open_backend
from netwarp.backends.watch import Bounds
from netwarp.errors import InputError, one_line, show_value
from netwarp.evaluation import RunData, load
from netwarp.execution.local import LocalExecutor
from netwarp.execution.opening import LOCAL, open_executor
from netwarp.plan.without_ns3 import needs_ns3
from netwarp.plan.without_path import without_path
from netwarp.run_directory import RunDirectory
from netwarp.study import Study, load_study, study_from_mapping
from netwarp.study.compare import study_from_compare
from netwarp.transports import ON_ONE_PATH
from netwarp.verification import DEFAULT_RUNS, Verification, verify

if TYPE_CHECKING:
    import altair
    import polars

    from netwarp.backends.base import Backend
    from netwarp.claims import ClaimResult
    from netwarp.estimate.staging import Staging
    from netwarp.execution import Executor, Observer
    from netwarp.output.agreement import Agreement
    from netwarp.results import CellResult, RunResult
    from netwarp.results.comparisons import Comparisons

Levels = str | int | float | Sequence[str | int | float]
"""One level, or several, which make a factor."""
Name = str | PathLike[str]
"""The path of a file or folder."""


class Run:
    """A study that was run, with its results. Values are computed on first use, and once."""

    def __init__(self, data: RunData) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<netwarp.Run {self.directory}: {len(self.data.results.runs)} runs>"

    @property
    def directory(self) -> Path:
        """The run directory."""
        return self.data.directory

    @property
    def study(self) -> Study:
        """The study that was run."""
        return self.data.study

    @property
    def cells(self) -> tuple[CellResult, ...]:
        """The runs by combination of levels: ``cell.estimate("completion_time_s").mean``."""
        return self.data.results.cells

    @property
    def failed(self) -> tuple[RunResult, ...]:
        """The runs that failed, each with its reason."""
        return self.data.results.failed

    @property
    def comparisons(self) -> Comparisons:
        """All contenders against the first one, condition by condition."""
        return self.data.comparisons

    @property
    def claims(self) -> list[ClaimResult]:
        """The verdicts on the study's claims."""
        return self.data.claims

    @property
    def damage(self) -> dict[Path, str]:
        """Files that could not be read and were left out, with the reason."""
        return dict(self.data.damage)

    def frame(self) -> polars.DataFrame:
        """One row per run, columns as in `results.parquet`; ``.to_pandas()`` makes it pandas'."""
        from netwarp.results.parquet import to_frame

        return to_frame(self.data.results)

    def summary(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        from netwarp.output.summary import summary

        return summary(self.data)

    def figure(self, index: int = 0) -> altair.TopLevelMixin:
        """One of the study's figures, counted from 0, as a chart that shows itself in a notebook.

        Raises:
            InputError: there is no such figure, or no Altair.
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
        self, runs: int = DEFAULT_RUNS, *, jobs: int | None = None, observer: Observer | None = None
    ) -> Verification:
        """Carry out a sample of the runs again, in virtual time, and compare their records.

        Args:
            runs: how many, spread evenly over all that succeeded.
            jobs: runs at a time; None for one per CPU.
            observer: told of every run.

        Raises:
            InputError: the records are of real time, which never repeats.
            RunDirectoryError: nothing there can be verified.
        """
        backend = backend_for(self.study, "virtual")
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
        """Hold this study, of virtual time, against the same one in real time, cell by cell.

        Args:
            other: in real time, as :func:`run_in_real_time` makes it.
            filters: ``FACTOR=LEVEL`` each: only these cells.
            metric: what is compared; None for the main one.
            relevant: the smallest relevant difference, as a share; None for the study's.

        Raises:
            InputError: they are not of the two times, or of two studies.
        """
        from netwarp.output.agreement import agreement

        return agreement(self.data, other.data, filters=filters, metric=metric, relevant=relevant)

    @property
    def report_file(self) -> Path:
        """Path of the report, once it is written."""
        return RunDirectory(self.directory).report_file

    def report(self) -> Path:
        """Write results, summary and report into the directory, unless they are there already.

        Returns:
            Where the report is.
        """
        pipeline.write_outputs(self.data)
        return self.report_file


def run(
    study: Study | str | PathLike[str],
    backend: str | Backend | None = None,
    *,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    executor: str | Executor = LOCAL,
    filters: Sequence[str] = (),
    staging: Staging | None = None,
    command_line: Sequence[str] = (),
    observer: Observer | None = None,
    anew: bool = False,
) -> Run:
    """Run a study: what of it has not run yet, into a run directory.

    Args:
        study: or the file it is in.
        backend: ``virtual``, ``native``, ``replay:DIR``, or one that is open; None: the study's.
        out: the run directory; None for one named after what is run.
        jobs: runs at a time; None for one per CPU, or one where they would disturb each other.
        executor: on whose CPUs: ``local``, ``dask-local:N``, ``dask://HOST:PORT``, or one that is
            open.
        filters: ``FACTOR=LEVEL`` each: only these cells.
        staging: how replicates are added until something is decided; None: as many as it says.
        command_line: what the report gives as the command that made it.
        observer: told of every run.
        anew: whether all runs are carried out, in place of those that the directory has.

    Raises:
        InputError: before anything runs; the message says what is wrong and the remedy.
        Interrupted: on Ctrl-C; what had finished is kept, and the same call goes on from there.
    """
    loaded = study if isinstance(study, Study) else load_study(study)
    place = backend_for(loaded, backend, filters)
    with _executor_for(executor, jobs) as opened:
        return Run(
            pipeline.run(
                loaded,
                place,
                out=None if out is None else _path(out),
                executor=opened,
                filters=filters,
                staging=staging,
                command_line=command_line,
                observer=observer,
                anew=anew,
            )
        )


def run_in_real_time(
    virtual: Run,
    backend: str | Backend,
    *,
    out: str | PathLike[str] | None = None,
    replicates: int | None = None,
    filters: Sequence[str] = (),
    command_line: Sequence[str] = (),
    observer: Observer | None = None,
) -> Run:
    """Run the study of a directory of virtual time in real time: to hold the two side by side.

    Between two hosts the study goes without what it sets of the path, which is the hosts'.

    Args:
        virtual: the run of virtual time.
        backend: ``native``, ``remote:HOST:PORT``, or one that is open.
        out: the run directory; None for one beside that of `virtual`. What it has is kept.
        replicates: instead of the study's.
        filters: ``FACTOR=LEVEL`` each: only these cells.
        command_line: what the report gives as the command that made it.
        observer: told of every run.

    Raises:
        InputError: before anything runs; the message says what is wrong and the remedy.
        Interrupted: on Ctrl-C; what had finished is kept, and the same call goes on from there.
    """
    place = backend_for(virtual.study, backend)
    raw = dict(virtual.study.raw)
    if replicates is not None:
        raw["replicates"] = replicates
    study = study_from_mapping(raw, file=f"the study of {virtual.directory}")
    if not place.sets_path:
        study, filters = without_path(study, filters), ()
    beside = virtual.directory.with_name(virtual.directory.name + place.suffix)
    return run(
        study, place, out=out or beside, filters=filters, command_line=command_line,
        observer=observer,
    )  # fmt: skip


def compare(
    *,
    transport: Levels = ON_ONE_PATH,
    size: Levels | None = None,
    file: str | PathLike[str] | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    backend: str | Backend | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    executor: str | Executor = LOCAL,
    observer: Observer | None = None,
    **path: Levels,
) -> Run:
    """Race transports over paths; every list is a factor. See ``netwarp compare --help``.

    Args:
        transport: who races; the first is the one compared against.
        size: of the content, such as ``10MB``, the default; or:
        file: the file to send.
        replicates: runs of each cell; None for the default.
        seed: everything random follows from it; None for the default.
        overrides: ``KEY=VALUE`` each, any key of a study.
        backend: see :func:`run`.
        out: see :func:`run`.
        jobs: see :func:`run`.
        executor: see :func:`run`.
        observer: see :func:`run`.
        path: options of the path: ``rtt="100ms"``, ``loss=["0%", "1%"]``, ``rate="50mbit"``, ….

    Raises:
        InputError: before anything runs; the message says what is wrong and the remedy.
        Interrupted: on Ctrl-C; what had finished is kept, and the same call goes on from there.
    """
    study = study_from_compare(
        transports=_levels("transport", transport, "tcp"),
        path={key: _levels(key, levels) for key, levels in path.items()},
        sizes=[]
        if size is None and file
        else _levels("size", "10MB" if size is None else size, "10MB"),
        file=None if file is None else fspath(file),
        replicates=replicates,
        seed=seed,
        overrides=overrides,
    )
    return run(study, backend, out=out, jobs=jobs, executor=executor, observer=observer)


def open_run(directory: str | PathLike[str]) -> Run:
    """Open a run directory, finished or not.

    Raises:
        RunDirectoryError: it is none.
    """
    return Run(load(_path(directory)))


def backend_for(
    study: Study, backend: str | Backend | None = None, filters: Sequence[str] = ()
) -> Backend:
    """Open the place where a study is run.

    Args:
        study: validated.
        backend: see :func:`run`.
        filters: ``FACTOR=LEVEL`` each: the cells that are wanted; ns-3 is opened for these alone.

    Raises:
        StudyError: a filter that selects nothing.
        InputError: no such backend.
        BackendError: it lacks something.
    """
    if backend is not None and not isinstance(backend, str):
        return backend
    # One backend serves all cells: the most patient one sets when a run is given up.
    stall_cpu_s = max(cell.spec.limits.stall_cpu_s for cell in study.cells)
    bounds = Bounds(stall_cpu_s=stall_cpu_s)
    opened = open_backend(backend or study.backend, bounds)
    if not needs_ns3(study, filters):
        return opened
    from netwarp.backends.ns3 import Ns3Backend, WithNs3

    return WithNs3(opened, Ns3Backend())


def _executor_for(executor: str | Executor, jobs: int | None) -> AbstractContextManager[Executor]:
    return open_executor(executor, jobs) if isinstance(executor, str) else nullcontext(executor)


def _levels(name: str, levels: Levels, example: str = "100ms") -> list[str]:
    """List the levels of an argument as the texts that the command line would have."""
    several = list(levels) if isinstance(levels, Sequence) and not isinstance(levels, str) else None
    each = [levels] if several is None else several
    if not each or not all(isinstance(level, str | int | float) for level in each):
        raise InputError(
            f"{name}={show_value(levels)}: give a level such as {name}={example!r}, or a list of at"
            " least one"
        )
    return [str(level) for level in each]


def _path(name: Name) -> Path:
    text = fspath(name)
    if "\0" in text:
        raise InputError(f"{one_line(text)}: no path has a NUL in it")
    return Path(text)
