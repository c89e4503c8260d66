"""The functions run, compare and exec; each has the options of the command of the same name."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, TypeVar, Unpack

from netwarp import pipeline
from netwarp.backends.base import Backend
from netwarp.errors import InputError, one_line
from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.staging import Staging
from netwarp.estimate.unseen import LEAST, least_different
from netwarp.evaluation import load as load_run
from netwarp.execution import Executor, Observer
from netwarp.execution.opening import LOCAL, open_executor
from netwarp.library.backends import backend_at, backend_for
from netwarp.library.results import ProgramsRun, Run
from netwarp.library.staging import staging_of
from netwarp.options import COMPARE, EXEC, RUN, Option
from netwarp.options.keywords import CompareOptions, ExecOptions, RunOptions
from netwarp.plan import plan_study
from netwarp.plan.without import without_path
from netwarp.study import Study, load_study, study_from_mapping
from netwarp.study.compare import given_of, study_from_compare
from netwarp.study.exec import study_from_exec
from netwarp.study.expecting import expecting
from netwarp.study.overrides import listed, overrides_of
from netwarp.verification import verify

Call = TypeVar("Call", bound=Callable[..., Any])


def documented(rows: Sequence[Option]) -> Callable[[Call], Call]:
    """Return a decorator that adds the help of each option to a function's documentation."""

    def with_options(call: Call) -> Call:
        lines = (f"        {row.name}: {row.help}" for row in rows)
        call.__doc__ = "\n".join((call.__doc__ or "", "    Options:", *lines, ""))
        return call

    return with_options


def divided(
    command: str, rows: Sequence[Option], given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide options into those that change the study, and those that determine how it is run.

    Raises:
        StudyError: there is no such option.
    """
    given = given_of(given, rows, command)
    of_study = {row.name for row in rows if row.defines_study}
    return (
        {name: value for name, value in given.items() if name in of_study},
        {name: value for name, value in given.items() if name not in of_study},
    )


@documented(RUN)
def run(
    study: Study | str | PathLike[str],
    backend: str | Backend | None = None,
    *,
    executor: str | Executor = LOCAL,
    staging: Staging | None = None,
    command_line: Sequence[str] = (),
    observer: Observer | None = None,
    anew: bool = False,
    **options: Unpack[RunOptions],
) -> Run:
    """Run a study into a run directory, as `netwarp run` does; runs that the directory already has
    are not repeated.

    Args:
        study: a study, or the file that contains it.
        backend: ``virtual``, ``native``, ``replay:DIR``, or an open backend; None for the study's.
        executor: where runs are carried out: ``local``, ``dask-local:N``, ``dask://HOST:PORT``, or
            an open executor.
        staging: how replicates are added until the comparisons are decided; None to follow
            ``precision`` or ``decide``.
        command_line: the command line that the report names as its origin.
        observer: notified about every run.
        anew: whether to repeat all runs, including those that the directory has.
        options: the options of the command, by the same names; those that change the study require
            its file.

    Raises:
        InputError: raised before anything runs; the message states the problem and the remedy.
        Interrupted: on Ctrl-C; finished runs are kept, and the same call continues from there.
    """
    of_study, how = divided("run", RUN, {**options})
    if isinstance(study, Study):
        if of_study:
            name = next(iter(of_study))
            raise InputError(f"run: {name}= changes a study in a file; load_study takes the same")
        loaded = study
    else:
        loaded = load(study, **of_study)
    loaded = expecting(loaded, listed(how.get("expect", ()), "expect"))
    filters = listed(how.get("filter", ()), "filter")
    place = backend_for(loaded, backend_at(backend, how.get("server")), filters)
    if staging is None:
        staging = staging_of(how.get("precision"), how.get("decide", False), how.get("max_time"))
    with _executor_for(executor, how.get("jobs")) as opened:
        return Run(
            pipeline.run(
                loaded,
                place,
                out=None if how.get("out") is None else _path(how["out"]),
                executor=opened,
                filters=filters,
                staging=staging,
                command_line=command_line,
                observer=observer,
                anew=anew,
            )
        )


def expected(
    study: Study,
    *,
    backend: str | Backend | None = None,
    executor: str | Executor = LOCAL,
    **options: Unpack[RunOptions],
) -> dict[str, Any]:
    """Return what :func:`run` would run for a study, and about how long that takes, without running
    anything.

    Args:
        study: a loaded study.
        backend: see :func:`run`.
        executor: see :func:`run`.
        options: see :func:`run`.

    Returns:
        ``out``, ``runs``, ``kept`` (runs of an earlier execution), ``cpus``, ``cpu_s`` and
            ``wall_s`` (both None in real time), ``adds`` (whether replicates may be added, which
            takes up to eight times as long) and ``text``, a sentence with all of these.

    Raises:
        InputError: :func:`run` would refuse it.
    """
    study = expecting(study, listed(options.get("expect", ()), "expect"))
    filters = listed(options.get("filter", ()), "filter")
    place = backend_for(study, backend_at(backend, options.get("server")), filters)
    adding = options.get("precision"), options.get("decide", False), options.get("max_time")
    adds = staging_of(*adding) is not None
    out = options.get("out")
    with _executor_for(executor, options.get("jobs")) as opened:
        cost, directory = pipeline.expected(
            study, place, out=None if out is None else _path(out), executor=opened, filters=filters
        )
        cpus = opened.at_a_time(place)
    found = {"out": str(directory), "runs": cost.runs, "kept": cost.kept, "cpus": cpus}
    if place.cpu_is_free:
        times: dict[str, Any] = {"cpu_s": cost.cpu_s, "wall_s": cost.wall_s(cpus)}
        text = cost.text(cpus, adds=adds)
    else:
        times = {"cpu_s": None, "wall_s": None}
        text = f"{cost.runs} runs ({cost.kept} of them kept), whose time is not known beforehand"
    return found | times | {"adds": adds, "text": f"{text}; into {one_line(str(directory))}"}


def load(
    study: str | PathLike[str],
    *,
    seed: int | None = None,
    replicates: int | None = None,
    quick: bool = False,
    **changes: Any,
) -> Study:
    """Load a study from its file, with the changes that options of `netwarp run` make.

    Args:
        study: the study's file.
        seed: replaces the study's seed.
        replicates: replaces the study's number of replicates.
        quick: whether to apply the study's ``[quick]`` table.
        changes: ``set``, ``metric``, ``against`` and ``relevant``, as for the command.

    Raises:
        StudyError: the study is not valid; the message names key and line.
        InputError: ``against`` is not FACTOR=LEVEL.
    """
    overrides = overrides_of(changes)
    return load_study(study, overrides=overrides, replicates=replicates, seed=seed, quick=quick)


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
    """Repeat in real time the study of a run directory of virtual time, in order to compare the
    two.

    Between two hosts the real path is used; the study's settings of `[path]` are ignored.

    Args:
        virtual: the run in virtual time.
        backend: ``native``, ``remote:HOST:PORT``, or an open backend.
        out: the run directory; None for one beside that of `virtual`. Runs that it already has are
            kept.
        replicates: replaces the study's number of replicates.
        filters: ``FACTOR=LEVEL`` each: run only these cells.
        command_line: the command line that the report names as its origin.
        observer: notified about every run.

    Raises:
        InputError: raised before anything runs; the message states the problem and the remedy.
        Interrupted: on Ctrl-C; finished runs are kept, and the same call continues from there.
    """
    place = backend_for(virtual.study, backend)
    raw = dict(virtual.study.raw)
    if replicates is not None:
        raw["replicates"] = replicates
    study = study_from_mapping(raw, file=f"the study of {virtual.directory}")
    if not place.sets_path:
        study, filters = without_path(study, filters), []
    # Use the path as the caller wrote it, unless the program has changed its working directory
    # since.
    named = virtual.data.directory
    whole = named if named.absolute() == virtual.directory else virtual.directory
    beside = whole.with_name(whole.name + place.suffix)
    return run(
        study, place, out=out or beside, filter=filters, command_line=command_line,
        observer=observer,
    )  # fmt: skip


@documented(COMPARE)
def compare(
    *,
    backend: str | Backend | None = None,
    executor: str | Executor = LOCAL,
    staging: Staging | None = None,
    command_line: Sequence[str] = (),
    observer: Observer | None = None,
    **options: Unpack[CompareOptions],
) -> Run:
    """Race transport protocols over paths, as `netwarp compare` does; every list is a factor.

    Args:
        backend: see :func:`run`.
        executor: see :func:`run`.
        staging: see :func:`run`.
        command_line: see :func:`run`.
        observer: see :func:`run`.
        options: the options of the command, by the same names: ``rtt="100ms"``, ``loss=["0%",
            "1%"]``, ….

    Raises:
        InputError: raised before anything runs; the message states the problem and the remedy.
        Interrupted: on Ctrl-C; finished runs are kept, and the same call continues from there.
    """
    of_study, how = divided("compare", COMPARE, {**options})
    study = study_from_compare(**of_study)
    return run(
        study, backend, executor=executor, staging=staging, command_line=command_line,
        observer=observer, **how,
    )  # fmt: skip


@documented(EXEC)
def exec(  # noqa: A001 - what the command is called
    client: str | Sequence[str],
    *,
    backend: str | Backend | None = None,
    sinks: tuple[IO[bytes], IO[bytes]] | None = None,
    command_line: Sequence[str] = (),
    observer: Observer | None = None,
    **options: Unpack[ExecOptions],
) -> ProgramsRun:
    """Run a server and a client, any programs of this machine, over a path in virtual time.

    Args:
        client: a line for the shell, or a program and its arguments.
        backend: see :func:`run`.
        sinks: files that receive the client's standard output and standard error while it runs.
        command_line: see :func:`run`.
        observer: see :func:`run`.
        options: the options of the command, by the same names: ``server="python3 -m http.server
            80"``, ….

    Raises:
        InputError: raised before anything runs; the message states the problem and the remedy.
        Interrupted: on Ctrl-C.
    """
    from netwarp.execution.program_output import following
    from netwarp.output.program_runs import askers, program_runs

    if backend == "remote":
        raise InputError(
            "exec --backend remote: on which host? --server is its command here, so name the host"
            " as --backend remote:HOST:PORT"
        )
    of_study, how = divided("exec", EXEC, {**options})
    study = expecting(study_from_exec(client, **of_study), listed(how.get("expect", ()), "expect"))
    if study.expectations and study.replicates < LEAST:
        raise InputError(
            f"exec --expect: fewer than {LEAST} runs of programs decide nothing; give"
            f" --replicates {least_different(ALPHA / len(study.expectations))}"
        )
    planned = plan_study(study)
    if len(study.cells) > 1 or (len(planned) > 1 and "replicates" not in of_study):
        raise InputError(
            f"exec: {len(planned)} runs are planned, but one command is run once, or with"
            ' --replicates: leave factors to a study with workload.kind = "command"'
        )
    out = pipeline.unused_directory("exec") if how.get("out") is None else _path(how["out"])
    opened = backend_for(study, backend)
    with following(out, planned[0].run, sinks):
        # Files that the programs read may have changed since an earlier run, so its result is not
        # reused.
        done = run(study, opened, out=out, command_line=command_line, observer=observer, anew=True)
    summary = program_runs(done.data)
    if study.expectations:
        summary["expectations"] = [result.to_json() for result in done.data.expectations]
    if "replicates" in of_study and summary["failure"] is None and opened.clock == "virtual":
        (again,) = verify(done.data, opened, runs=1).runs
        summary |= {"repeatable": again.is_identical, "difference": again.difference_text}
        summary["asks_of_the_cpu"] = {} if again.is_identical else askers(planned[0].job)
    return ProgramsRun(done.data, summary)


def open_run(directory: str | PathLike[str]) -> Run:
    """Open a run directory, finished or not.

    Raises:
        RunDirectoryError: it is not a run directory.
    """
    return Run(load_run(_path(directory)))


def _executor_for(executor: str | Executor, jobs: int | None) -> AbstractContextManager[Executor]:
    return open_executor(executor, jobs) if isinstance(executor, str) else nullcontext(executor)


def _path(name: str | PathLike[str]) -> Path:
    text = fspath(name)
    if "\0" in text:
        raise InputError(f"{one_line(text)}: no path has a NUL in it")
    return Path(text)
