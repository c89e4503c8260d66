"""Commands that run studies: demo, run, reproduce; and the function with which every command runs a
study.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netwarp.cli.checks import NO_CHECKS, Checks
from netwarp.cli.command import Argument, command
from netwarp.cli.interruption import interruption
from netwarp.errors import InputError
from netwarp.options import CHECKS, REPRODUCE, RUN, Option, Takes
from netwarp.options.running import DRY_RUN, JOBS, JSON, OUT, REPLICATES, SEED

if TYPE_CHECKING:
    from netwarp.cli.progress import ProgressBar
    from netwarp.estimate.staging import Staging
    from netwarp.evaluation import RunData
    from netwarp.run_directory import Clock
    from netwarp.sources.preparation import Prepared
    from netwarp.study import Study


REPRODUCE_MAX_TIME = "1h"


@command(
    OUT, JOBS, REPLICATES, SEED,
    Option(
        name="file", help="The file to send. Default: the guest kernel itself.", metavar="PATH",
        takes=Takes.PATH,
    ),
    JSON,
)  # fmt: skip
def demo(
    *,
    file: Path | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    as_json: bool = False,
    **how: Any,
) -> None:
    """Send a real file over TCP, TLS, SCTP and QUIC; show table, chart and report."""
    from importlib.resources import as_file, files

    from netwarp.backends.guest_files import find_kernel
    from netwarp.study import load_study

    content = file or find_kernel().linux
    with as_file(files("netwarp") / "demo.toml") as path:
        study = load_study(
            path,
            overrides=[f"workload.file={json.dumps(str(content.absolute()))}"],
            replicates=replicates,
            seed=seed,
        )
        run_and_print(study, {"backend": "virtual", **how}, as_json=as_json)


@command(
    Argument(
        "study", "STUDY", "The study to run: a file, or a name of `netwarp studies`.", type=Path
    ),
    *RUN,
    DRY_RUN,
    *CHECKS,
    JSON,
)
def run(study: Path, *, dry_run: bool = False, as_json: bool = False, **given: Any) -> None:
    """Run a study: all its cells and replicates, then table, figures and report."""
    from netwarp.cli.terminal import planning
    from netwarp.library import divided, load
    from netwarp.sources.shipped import study_named

    checks = Checks.taken_from(given)
    of_study, how = divided("run", RUN, given)
    study = study_named(study)
    with planning():
        loaded = load(study, **of_study)
    if dry_run:
        say_what_would_run(loaded, how, as_json=as_json)
        return
    run_and_print(loaded, how, as_json=as_json, checks=checks)


@command(
    Argument(
        "source", "SOURCE|all", "Source documents: park-2008, or a folder such as ./mine.",
        nargs=-1, required=True,
    ),
    *REPRODUCE,
    DRY_RUN,
    JSON,
)  # fmt: skip
def reproduce(
    source: Sequence[str],
    *,
    quick: bool = False,
    out: Path | None = None,
    backend: str | None = None,
    jobs: int | None = None,
    executor: str | None = None,
    max_time: str | None = None,
    seed: int | None = None,
    seeds: int = 0,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Repeat a source document's experiments, and report which conclusions hold.

    Replicates are added until every verdict is decided, there are eight times as many, or
    --max-time is over (an hour for each source unless it says otherwise); with --quick there are as
    many as the studies say, and verdicts are provisional. With --seeds the studies are run with
    other seeds too; the same command again keeps what is there.
    """
    from netwarp.cli.preparing import install, preparations, warn_of_too_few_replicates
    from netwarp.cli.printing import print_scorecard
    from netwarp.cli.terminal import answer_console, console, print_json
    from netwarp.execution.opening import LOCAL, open_executor
    from netwarp.library import backend_for, run, time_limit
    from netwarp.plan.without import kernel_filters, needs_ns3
    from netwarp.sources import load_sources
    from netwarp.sources.preparation import SCORECARD_HTML, expected, prepare
    from netwarp.sources.reproduce import reproduce_document, to_json, write_all
    from netwarp.sources.scorecard import expected_text, total_text

    sources = load_sources(list(source))
    if quick and max_time is not None:
        raise InputError("--max-time beside --quick: no replicates are added; drop one of them")
    several = len(sources) > 1
    prepared = [
        prepare(
            each,
            out=out / each.name if out and several else out,
            quick=quick,
            seed=seed,
            other_seeds=seeds,
        )
        for each in sources
    ]
    on_whose_cpus = LOCAL if executor is None else executor
    at_once = (jobs or len(os.sched_getaffinity(0))) if on_whose_cpus == LOCAL else None
    cost = expected(prepared)
    text = "\n".join([expected_text(cost, at_once, quick=quick), *preparations(prepared)])
    if dry_run:
        if as_json:
            print_json({**asdict(cost), "cpus": at_once, "adds": not quick, "text": text})
        else:
            answer_console(highlight=False, soft_wrap=True).print(text)
        return
    console().print(text, highlight=False)
    warn_of_too_few_replicates(prepared)
    ns3_missing, lacking = install(prepared)
    observer = progress_bar()
    done = []
    with open_executor(on_whose_cpus, jobs) as side_by_side:

        def run_into(
            source: Prepared, study: Study, directory: Path, staging: Staging | None
        ) -> tuple[RunData, str | None]:
            filters: list[str] = []
            left_out = None
            observer.study(source.name_of(directory))
            if ns3_missing is not None and needs_ns3(study):
                filters = kernel_filters(study) or []
                if not filters:
                    raise ns3_missing
                left_out = f"its cells in ns-3. {ns3_missing}"
            opened = backend_for(study, backend, filters)
            # Runs that would disturb each other are carried out one at a time, on this machine.
            on = side_by_side if opened.parallel else LOCAL
            finished = run(
                study, opened, out=directory, executor=on, filter=filters, staging=staging,
                command_line=command_line(), observer=observer,
            )  # fmt: skip
            finished.report()
            return finished.data, left_out

        for each in prepared:
            # Other seeds get the same time again, for each seed.
            limit = None if quick else time_limit(max_time or REPRODUCE_MAX_TIME, 1 + seeds)
            done.append(reproduce_document(each, partial(run_into, each), limit))
            if not as_json:
                print_scorecard(done[-1], answer_console())
                scorecard = done[-1].directory / SCORECARD_HTML
                answer_console().print(f"scorecard: {scorecard}", soft_wrap=True)
    page = write_all(done, out) if several else None
    if as_json:
        print_json(to_json(done))
    elif page is not None:
        answer_console().print(total_text(done), highlight=False)
        answer_console().print(f"all of it on one page: {page}", soft_wrap=True)
    console().print(observer.command_text(), highlight=False)
    console().print(*lacking, sep="\n", end="\n" * bool(lacking), soft_wrap=True)
    if not all(each.succeeded for each in done):
        raise click.exceptions.Exit(1)


def say_what_would_run(study: Study, how: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a command would run, and about how long that would take, for `--dry-run`."""
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.library import expected

    found = expected(study, **how)
    if as_json:
        print_json(found)
    else:
        answer_console(highlight=False, soft_wrap=True, markup=False).print(found["text"])


def run_and_print(
    study: Study,
    how: Mapping[str, Any],
    *,
    as_json: bool,
    warning: str | None = None,
    checks: Checks = NO_CHECKS,
) -> None:
    """Run a study and print its results.

    Args:
        study: the study, with all changes by options.
        how: the options that say where and how it is run.
        as_json: whether to print one JSON object (`--json`).
        warning: printed before anything runs.
        checks: the checks of the results, and the files to which they are written.
    """
    from netwarp.cli.terminal import print_and_end
    from netwarp.library import run, staging_of
    from netwarp.study.expecting import expecting

    how = dict(how)
    study = expecting(study, how.pop("expect", ()))
    staging = staging_of(how.get("precision"), how.get("decide", False), how.get("max_time"))

    def warnings(clock: Clock) -> Iterator[str]:
        from netwarp.claims.too_few import too_few_as_planned

        if warning is not None:
            yield warning
        if study.controls or study.sensitivities:
            from netwarp.sources.variants import not_run_text

            yield not_run_text(study)
        filters = how.get("filter", ())
        for few in too_few_as_planned(study, staging, filters, in_real_time=clock == "real"):
            yield few.text

    finished = run(
        study, staging=staging, command_line=command_line(), observer=progress_bar(warnings), **how
    )
    print_and_end(finished, as_json, checks=checks)


def progress_bar(warnings: Callable[[Clock], Iterable[str]] | None = None) -> ProgressBar:
    """Return the progress bar, which also knows which runs are kept after an interruption.

    Args:
        warnings: returns, for the backend's clock, warnings about questions that a study cannot
            answer.
    """
    from netwarp.cli.progress import ProgressBar
    from netwarp.cli.terminal import console

    bar = ProgressBar(console(), warnings)
    interruption.kept_text = bar.kept_text
    return bar


def command_line() -> list[str]:
    """Return the command line that is shown in the report."""
    return ["netwarp", *sys.argv[1:]]
