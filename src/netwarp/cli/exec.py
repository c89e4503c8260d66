"""The command that runs any program, in virtual time, over a path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from netwarp.cli import options
from netwarp.cli.path_options import PathLevels, with_path_options

if TYPE_CHECKING:
    from netwarp.library import Run
    from netwarp.wire import Program, Record

SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a program."""


@with_path_options
def exec(  # noqa: A001 - what the command is called
    *,
    client: Annotated[
        list[str],
        typer.Argument(metavar="-- CLIENT [ARGUMENTS]…", help="The client's program."),
    ],
    server: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            help="The server, as a line for the shell.",
            metavar="CMD",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    ready: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="When the server is ready: listening (at any port), port:8080, line:REGEX that it"
            " prints, or file:/PATH. Default: listening.",
            metavar="WHEN",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    env: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            help="A variable for both programs, who have none of yours. Repeatable.",
            metavar="NAME=VALUE",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    congestion: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Congestion control of the hosts' TCP. Default: cubic.",
            metavar="NAME",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    path: PathLevels,
    out: options.Out = None,
    seed: options.Seed = None,
    set_: options.Set = None,
    as_json: options.Json = False,
) -> None:
    """Run a server and a client, any programs of this machine, over a path in virtual time.

    netwarp exec --rtt 100ms --loss 1% --server 'python3 -m http.server 80' -- curl -s server

    Each is on a host of its own; the names server and client resolve. They see this machine's
    files; what they write is thrown away. The client's output and exit status are netwarp's.
    """
    from netwarp.cli.terminal import console, print_json
    from netwarp.errors import InputError
    from netwarp.execution.program_output import following
    from netwarp.library import run
    from netwarp.plan import plan_study
    from netwarp.study.exec import study_from_exec

    if server is None:
        raise InputError(
            "exec: there is no server, and a client alone has nobody at the other end of the path:"
            " give one with --server 'CMD'"
        )
    study = study_from_exec(
        server=server, client=client, path=path, ready=ready, environment=env or [],
        congestion=congestion, seed=seed, overrides=set_ or [],
    )  # fmt: skip
    planned = plan_study(study)
    if len(planned) > 1:
        raise InputError(
            f"exec: {len(planned)} runs are planned, but one command is run once: leave factors and"
            ' replicates to a study with workload.kind = "command"'
        )
    place = out or _next_directory()
    sinks = None if as_json else (sys.stdout.buffer, sys.stderr.buffer)
    with following(place, planned[0].run, sinks):
        finished = run(study, out=place, command_line=["netwarp", *sys.argv[1:]])
    told = _told(finished)
    if as_json:
        print_json(told)
    else:
        console().print(_last_line(told), highlight=False, soft_wrap=True)
    raise typer.Exit(told["exit_status"])


def _next_directory() -> Path:
    """Name a directory that is not there: the files that programs read may have changed since."""
    from itertools import count

    from netwarp.pipeline import DEFAULT_PARENT

    return next(
        place for number in count(1) if not (place := DEFAULT_PARENT / f"exec-{number}").exists()
    )


def _told(finished: Run) -> dict[str, Any]:
    """Gather what came of the run."""
    ((name, result),) = ((each.run, each) for each in finished.data.results.runs)
    records = finished.data.records(name)
    client = _program(records, "client")
    status = 0 if result.reason is None else 1
    if client is not None and result.reason is not None:
        status = client.exit_status or (SIGNALLED + (client.signal or 0) if client.signal else 1)
    return {
        "exit_status": status,
        "failure": result.reason,
        "metrics": dict(result.metrics),
        "client": None if client is None else client.model_dump(mode="json"),
        "server": None if (server := _program(records, "server")) is None
        else server.model_dump(mode="json"),
        "virtual_s": finished.data.provenance["virtual_s"],
        "wall_s": finished.data.provenance["wall_s"],
        "out": str(finished.directory),
    }  # fmt: skip


def _last_line(told: dict[str, Any]) -> str:
    """Say what the run took and what the path did, or why it failed."""
    took = f"{told['virtual_s']:.6g} s on the run's clock, {told['wall_s']:.2g} s of yours"
    if told["failure"] is not None:
        return f"exec: {told['failure']} ({took}; {told['out']})"
    metrics = told["metrics"]
    carried = ", ".join(
        f"{metrics[f'wire_packets_{direction}']:.0f} packets {direction}"
        f" ({metrics[f'path_dropped_{direction}']:.0f} dropped)"
        for direction in ("down", "up")
    )
    return f"exec: {took}; {carried}; {told['out']}"


def _program(records: list[Record], side: str) -> Program | None:
    from netwarp.wire import Program

    programs = (each for each in records if isinstance(each, Program))
    return next((each for each in programs if each.side == side), None)
