"""The whole of netwarp as one flow: study → cells → jobs → backend → records → results → report."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from pathlib import Path

from netwarp.backends.base import Backend
from netwarp.backends.cpus import cpu_times
from netwarp.errors import ResultError, RunDirectoryError
from netwarp.estimate.staging import Look, Staging, TimeLimit
from netwarp.evaluation import RunData, load
from netwarp.execution import (
    Executor,
    Interrupted,
    LocalExecutor,
    Observer,
    Outcome,
    Unobserved,
    execute,
    kept_outcomes,
    refuse_jobs,
)
from netwarp.execution.cost import Expected, expected_of
from netwarp.execution.earlier_runs import (
    measured_before,
    refuse_another_study,
    refuse_other_files,
)
from netwarp.execution.files_read import FilesRead, files_read
from netwarp.execution.provenance import provenance
from netwarp.execution.time_limits import is_over
from netwarp.execution_description import describe, is_described, note_time_limit, note_times
from netwarp.plan import PlannedRun, plan_study
from netwarp.plan.interleaving import interleaved
from netwarp.regular_files import is_there
from netwarp.run_directory import RunDirectory
from netwarp.run_files import remove, write_json, write_text
from netwarp.study import Study
from netwarp.version import __version__

NO_OTHER_RUNS = ("replicates", "metrics", "against", "expect")
"""Keys of a study that do not change what a run does, only the number of runs and how they are
evaluated.
"""
DEFAULT_PARENT = Path("netwarp-out")


def run(
    study: Study,
    backend: Backend,
    *,
    out: Path | None = None,
    executor: Executor | None = None,
    filters: Sequence[str] = (),
    staging: Staging | None = None,
    command_line: Sequence[str] = (),
    observer: Observer | None = None,
    anew: bool = False,
) -> RunData:
    """Plan a study, carry out the runs that are not kept from earlier, and read the results.

    Args:
        study: the study, with all overrides applied.
        backend: the backend that carries out the runs.
        out: the run directory; None for one named after the study and the backend.
        executor: the executor, which determines the CPUs; None for this machine's CPUs, with one
            for each run.
        filters: ``FACTOR=LEVEL`` each: run only these cells.
        staging: how replicates are added until the comparisons are decided; None to run the study's
            number of replicates.
        command_line: the command line that the report names as its origin.
        observer: notified about every run.
        anew: whether to repeat all runs, including those that are kept.

    Raises:
        StudyError: the study cannot be run; raised before anything runs.
        BackendError: the backend is not ready or refuses a job; raised before anything runs.
        RunDirectoryError: the directory cannot be used; raised before anything runs, or when a
            write fails.
        Interrupted: on Ctrl-C; finished runs are kept.
    """
    observer = observer or Unobserved()
    executor = executor or LocalExecutor()
    plan, files, directory = _planned(study, backend, out, executor, filters, anew=anew)
    with directory.locked():
        refuse_another_study(plan, directory)
        if anew:
            directory.discard_runs()
        refuse_other_files(files, directory)
        kept = kept_outcomes(plan, directory)
        executed = _Executed(study, backend, directory, executor, filters, observer)
        looks = () if staging is None else executed.looks(staging)
        # Stages may add runs, even if all of the plan are kept.
        is_measuring = len(kept) < len(plan) or staging is not None
        if is_measuring or not is_described(study, plan, directory):
            kernels = {run.cell.template.kernel for run in plan} if is_measuring else set()
            now = provenance(study, backend, executor, command_line, filter(None, kernels))
            if looks:
                now["looks"] = len(looks)
                now["look_sizes"] = [look.replicates for look in looks]
                now["look_shares"] = [look.share for look in looks]
            describe(study, plan, now, backend, directory, is_measuring=is_measuring)
            if files is not None and files.unknown is None:
                write_json(directory.files_file, dict(files.digests))
        started_s, cpus_before = time.monotonic(), cpu_times()
        if backend.cpu_is_free and len(kept) < len(plan):
            cpus = executor.at_a_time(backend)
            observer.expected(expected_of(plan, kept), cpus, adds=staging is not None)
        observer.planned(len(plan), backend.clock)
        try:
            executed.execute(plan, kept)
            if staging is not None and not executed.add_replicates(plan, staging, looks):
                note_time_limit(directory, staging.limit, executed.left_by_limit)
        except Interrupted:
            note_times(directory, time.monotonic() - started_s, cpus_before)
            raise
        finally:
            observer.ended()
        if is_measuring:
            note_times(directory, time.monotonic() - started_s, cpus_before)
        return load(directory.path, executed.outcomes, study)


def expected(
    study: Study,
    backend: Backend,
    *,
    out: Path | None = None,
    executor: Executor | None = None,
    filters: Sequence[str] = (),
) -> tuple[Expected, Path]:
    """Return the expected cost of what `run` would run, and its run directory; nothing is changed.

    Args:
        study: the study, with all overrides applied.
        backend: the backend on which it would be run.
        out: the run directory; None for one named after what is run.
        executor: the executor, which determines the CPUs; None for this machine's.
        filters: ``FACTOR=LEVEL`` each: run only these cells.

    Raises:
        StudyError: as for `run`.
        BackendError: as for `run`.
        RunDirectoryError: the directory has runs of another study, or cannot be written to.
    """
    executor = executor or LocalExecutor()
    plan, files, directory = _planned(study, backend, out, executor, filters)
    directory.refuse_unwritable()
    refuse_jobs(plan, backend)
    refuse_another_study(plan, directory)
    refuse_other_files(files, directory)
    return expected_of(plan, directory.kept_runs()), directory.path


def _planned(
    study: Study,
    backend: Backend,
    out: Path | None,
    executor: Executor,
    filters: Sequence[str],
    *,
    anew: bool = False,
) -> tuple[list[PlannedRun], FilesRead | None, RunDirectory]:
    """Plan a study, and refuse what is wrong before a directory is created. Return the planned
    runs, the files that programs read, and the run directory.
    """
    executor.at_a_time(backend)  # raises if the executor cannot run so many
    plan = plan_study(study, filters=filters)
    files = None if anew else files_read([cell.template for cell in study.cells], backend)
    directory = RunDirectory(out or default_directory(study, plan, backend, files))
    if not is_there(directory.path):  # a refused study leaves no directory behind
        refuse_jobs(plan, backend)
        executor.check(backend, len(plan))
        backend.provenance()
    return plan, files, directory


def write_outputs(data: RunData, *, anew: bool = False) -> None:
    """Write results, summary and report into a run directory, unless they are up to date.

    Args:
        data: the contents of the run directory.
        anew: whether to write them even if they are up to date.

    Raises:
        RunDirectoryError: no run has finished yet.
        ResultError: a file cannot be written.
        StudyError: this version cannot read the study in the directory.
    """
    directory = data.kept
    if directory.is_drawn_by(__version__) and not anew:
        return
    # Imported only here: the modules that draw and write files take as long to import as a table
    # takes to print.
    from netwarp.output.summary import summary
    from netwarp.report import write_report
    from netwarp.results.parquet import write_packets, write_results

    if not data.results.runs:
        raise RunDirectoryError(
            f"no run has finished yet in {directory.path}: the command that made it goes on"
        )
    try:
        remove(directory.drawn_file)
        write_results(data.results, directory.results_file)
        write_packets(data.results, directory)
        write_json(directory.summary_file, summary(data))
        write_report(data)
        write_text(directory.drawn_file, directory.drawn(__version__))
    except OSError as error:
        raise ResultError(
            f"cannot write {error.filename2 or error.filename} ({error.strerror}): make room for it"
            " or move away what is in its place, then `netwarp report` draws it"
        ) from None


@dataclass
class _Executed:
    """The runs of a study that have been executed so far, in several stages if replicates are
    added.
    """

    study: Study
    backend: Backend
    directory: RunDirectory
    executor: Executor
    filters: Sequence[str]
    observer: Observer
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    left_by_limit: tuple[str, ...] = ()
    """Names of the replicates that were not added because of a time limit."""

    def execute(self, plan: Sequence[PlannedRun], kept: Mapping[str, Outcome]) -> None:
        """Carry out the runs of a plan that are not kept."""
        self.outcomes |= execute(
            self._in_order(plan),
            kept,
            self.backend,
            self.directory,
            executor=self.executor,
            observer=self.observer,
        )

    def add_replicates(
        self, plan: Sequence[PlannedRun], staging: Staging, looks: Sequence[Look]
    ) -> bool:
        """Add replicates to the cells that need them, stage by stage, until no cell does.

        Args:
            plan: the runs until the first look, which have been carried out.
            staging: how replicates are added.
            looks: the looks at the samples, as `looks` returns them.

        Returns:
            Whether all stages were completed: False if the time limit ended them.
        """
        from netwarp.claims.open_questions import cells_to_repeat

        limit = staging.limit

        def is_in_time() -> bool:
            return limit is None or not is_over(limit)

        done = list(plan)
        for look in looks[1:]:
            results = load(self.directory.path, self.outcomes, self.study).results
            wanted = cells_to_repeat(self.study, results, staging)
            if not wanted:
                return True
            there = {run.run for run in done}
            whole = replace(self.study, replicates=look.replicates)
            more = [
                run
                for run in plan_study(whole, filters=self.filters)
                if run.cell.index in wanted and run.run not in there
            ]
            if limit is not None and not is_in_time():
                self._note_left(more, limit)
                return False
            self._write_plan([*done, *more])
            self.observer.added(len(more))
            self.outcomes |= execute(
                self._in_order(more), kept_outcomes(more, self.directory), self.backend,
                self.directory,
                executor=self.executor, observer=self.observer, goes_on=is_in_time,
            )  # fmt: skip
            left = [run for run in more if run.run not in self.outcomes]
            done += [run for run in more if run.run in self.outcomes]
            if left and limit is not None:
                self._write_plan(done)
                self.observer.added(-len(left))
                self._note_left(left, limit)
                return False
        return True

    def looks(self, staging: Staging) -> tuple[Look, ...]:
        """Return the looks (interim tests) at the samples, which follow from the plan."""
        from netwarp.claims.too_few import questions_of

        in_real_time = self.backend.clock == "real"
        questions = questions_of(self.study, self.filters, in_real_time=in_real_time)
        return staging.looks(self.study.replicates, questions)

    def _note_left(self, left: Sequence[PlannedRun], limit: TimeLimit) -> None:
        self.left_by_limit = tuple(run.run for run in left)
        self.observer.limited(limit)

    def _in_order(self, runs: Sequence[PlannedRun]) -> Sequence[PlannedRun]:
        """Return runs in the order that the backend needs."""
        if not self.backend.interleaved:
            return runs
        return interleaved(runs, self.study.seed, next(iter(self.study.against), None))

    def _write_plan(self, runs: Sequence[PlannedRun]) -> None:
        planned = [run.to_json() for run in runs]
        self.directory.write_plan([*planned, *measured_before(self.directory, planned)])


def default_directory(
    study: Study, plan: Sequence[PlannedRun], backend: Backend, files: FilesRead | None = None
) -> Path:
    """Return the path of the default run directory. Its name is made of the study, the selected
    cells, the backend and the files that programs read, so the same command finds it again.

    If it is unknown whether files that programs read have changed, the path is a new one.
    """
    # More replicates of the same study go to the same directory, and other questions are answered
    # from its results.
    raw = {key: value for key, value in study.raw.items() if key not in NO_OTHER_RUNS}
    read = [] if files is None else [files.sha256]
    what = json.dumps([raw, sorted({run.cell.index for run in plan}), *read], sort_keys=True)
    digest = sha256(what.encode()).hexdigest()[:8]
    name = f"{Path(study.file).stem}-{digest}{backend.suffix}"
    if files is None or files.unknown is None:
        return DEFAULT_PARENT / name
    return unused_directory(name)


def unused_directory(name: str) -> Path:
    """Return a path that consists of this name and a number, at which nothing exists yet."""
    return next(
        place for number in count(1) if not (place := DEFAULT_PARENT / f"{name}-{number}").exists()
    )
