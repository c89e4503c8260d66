"""Commands that run studies: demo, run, reproduce; and how every command carries one out."""

from __future__ import annotations

import json
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.console import Console

from netwarp.backends.guest_files import find_kernel
from netwarp.backends.registry import open_backend
from netwarp.backends.watch import Bounds
from netwarp.cli import options
from netwarp.cli.interruption import interruption
from netwarp.cli.progress import ProgressBar
from netwarp.cli.terminal import console, print_json, tell
from netwarp.study import Study, load_study

if TYPE_CHECKING:
    from netwarp.estimate.staging import Staging
    from netwarp.pipeline import Request, StudyRun


def demo(
    out: options.Out = None,
    jobs: options.Jobs = None,
    replicates: options.Replicates = None,
    seed: options.Seed = None,
    file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="The file to send. Default: the guest kernel itself.", metavar="PATH"),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Send a real file over TCP, TLS, SCTP and QUIC; show table, chart and report."""
    content = file or find_kernel().linux
    with as_file(files("netwarp") / "demo.toml") as path:
        study = load_study(
            path,
            overrides=[f"workload.file={json.dumps(str(content.absolute()))}"],
            replicates=replicates,
            seed=seed,
        )
        run_and_print(study, "virtual", out, jobs, [], as_json)


def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study to run.")],
    backend: options.Backend = None,
    out: options.Out = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replicates: options.Replicates = None,
    set_: options.Set = None,
    filter_: options.Filter = None,
    relevant: options.Relevant = None,
    precision: options.Precision = None,
    decide: options.Decide = False,
    as_json: options.Json = False,
) -> None:
    """Run a study: all its cells and replicates, then table, figures and report."""
    overrides = [*(set_ or []), *options.relevant_override(relevant)]
    with console().status("planning"):  # seconds, where cells are tens of thousands
        loaded = load_study(study, overrides=overrides, replicates=replicates, seed=seed)
    staging = options.staging(precision, decide)
    run_and_print(loaded, backend, out, jobs, filter_ or [], as_json, staging)


def reproduce(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE|all", help="Source documents: park-2008, or a folder such as ./mine."
        ),
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Smaller versions of the studies, in a few minutes."),
    ] = False,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="Where to; for several sources, a folder each. Default: netwarp-out/reproduce.",
            metavar="DIR",
            rich_help_panel=options.RUNNING,
        ),
    ] = None,
    backend: options.Backend = None,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
) -> None:
    """Do a source document's experiments again, and say of each conclusion whether it holds.

    Replicates are added until every verdict is decided, or there are eight times as many; with
    --quick there are as many as the studies say, and verdicts are provisional.
    """
    from netwarp.estimate.staging import Staging
    from netwarp.pipeline import run_study
    from netwarp.sources import load_sources
    from netwarp.sources.reproduce import SCORECARD_HTML, reproduce_document, to_json
    from netwarp.sources.scorecard import print_scorecard

    sources = load_sources(source)
    observer = observed()
    done = []
    for each in sources:
        place = out / each.name if out and len(sources) > 1 else out

        def carry(study: Study, directory: Path) -> StudyRun:
            # --jobs is for the studies whose runs can go side by side.
            at_a_time = None if study.backend == "native" else jobs
            staging = None if quick else Staging()
            request = request_for(study, backend, directory, at_a_time, [], staging)
            return run_study(study, request, observer)

        done.append(reproduce_document(each, carry, out=place, quick=quick))
        if not as_json:
            print_scorecard(done[-1], Console())
            page = done[-1].directory / SCORECARD_HTML
            Console().print(f"scorecard: {page}", soft_wrap=True)
    if as_json:
        print_json(to_json(done))
    if not all(each.succeeded for each in done):
        raise typer.Exit(1)


def run_and_print(
    study: Study,
    backend: str | None,
    out: Path | None,
    jobs: int | None,
    filters: list[str],
    as_json: bool,
    staging: Staging | None = None,
) -> None:
    """Carry a study out and print what came of it."""
    from netwarp.pipeline import run_study

    request = request_for(study, backend, out, jobs, filters, staging)
    tell(run_study(study, request, observed()), as_json)


def observed() -> ProgressBar:
    """Make the progress bar, which knows what an interruption leaves."""
    bar = ProgressBar(console())
    interruption.kept_text = bar.kept_text
    return bar


def request_for(
    study: Study,
    backend: str | None,
    out: Path | None,
    jobs: int | None,
    filters: list[str],
    staging: Staging | None = None,
) -> Request:
    """Say how a study is to be carried out.

    Raises:
        InputError: no such backend, or more runs at a time than it can do.
        BackendError: the backend lacks something.
    """
    from netwarp.pipeline import Request, jobs_for

    place = open_backend(backend or study.backend, bounds(study))
    return Request(
        backend=place,
        out=out,
        jobs=jobs_for(place, jobs),
        filters=filters,
        command_line=["netwarp", *sys.argv[1:]],
        staging=staging,
    )


def bounds(study: Study) -> Bounds:
    """Give the most patient bounds of a study's cells."""
    return Bounds(
        stall_cpu_s=max(cell.spec.limits.stall_cpu_s for cell in study.cells),
    )
