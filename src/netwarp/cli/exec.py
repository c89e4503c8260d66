"""The command that runs any program over a path, in virtual time or between real hosts."""

from __future__ import annotations

import sys
from typing import Annotated, Optional

import typer

from netwarp.cli import options
from netwarp.cli.path_options import PathLevels, with_one_path


@with_one_path
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
    memory: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Memory of the programs and of the files they write. Default: 1GiB.",
            metavar="SIZE",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    start_date: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="The date, in UTC, at which programs start in virtual time. Default: 2027-01-01.",
            metavar="DATE",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            help="Let both hosts see the files that either writes, and its Unix sockets. Default:"
            " each has its own, and only the path connects them.",
            rich_help_panel=options.STUDY,
        ),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help="Keep what the programs write, in written/ of each run's directory.",
            rich_help_panel=options.STUDY,
        ),
    ] = False,
    congestion: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Congestion control of the hosts' TCP. Default: cubic.",
            metavar="NAME",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    path: PathLevels,
    backend: options.Backend = None,
    out: options.Out = None,
    seed: options.Seed = None,
    replicates: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=2,
            help="Run so often, each time with another seed; in virtual time the first seed twice:"
            " programs that then differ are called not repeatable.",
            metavar="N",
            rich_help_panel=options.RUNNING,
        ),
    ] = None,
    set_: options.Set = None,
    as_json: options.Json = False,
) -> None:
    """Run a server and a client, any programs of this machine, over a path in virtual time.

    netwarp exec --rtt 100ms --loss 1% --server 'python3 -m http.server 80' -- curl -s server

    Each is on a host of its own; the names server and client resolve. They see this machine's
    files; what they write is thrown away. The client's output and exit status are netwarp's.

    With --backend remote:HOST:PORT the server runs on that host, in real time, if its owner allows
    it: `netwarp serve --allow-exec`.
    """
    from netwarp.cli.terminal import console, print_json
    from netwarp.errors import InputError
    from netwarp.execution.program_output import following
    from netwarp.library import backend_for, run
    from netwarp.output.program_runs import askers, in_one_line, program_runs
    from netwarp.pipeline import unused_directory
    from netwarp.plan import plan_study
    from netwarp.study.exec import study_from_exec
    from netwarp.verification import verify

    if server is None:
        raise InputError(
            "exec: there is no server, and a client alone has nobody at the other end of the path:"
            " give one with --server 'CMD'"
        )
    if backend == "remote":
        raise InputError(
            "exec --backend remote: on which host? --server is its command here, so name the host"
            " as --backend remote:HOST:PORT"
        )
    study = study_from_exec(
        server=server, client=client, path=path, ready=ready, environment=env or [],
        memory=memory, start_date=start_date, shared=shared, keep=keep, congestion=congestion,
        seed=seed, replicates=replicates, overrides=set_ or [],
    )  # fmt: skip
    planned = plan_study(study)
    if len(study.cells) > 1 or (len(planned) > 1 and replicates is None):
        raise InputError(
            f"exec: {len(planned)} runs are planned, but one command is run once, or with"
            ' --replicates: leave factors to a study with workload.kind = "command"'
        )
    place = out or unused_directory("exec")
    opened = backend_for(study, backend)
    sinks = None if as_json else (sys.stdout.buffer, sys.stderr.buffer)
    with following(place, planned[0].run, sinks):
        # Files that the programs read may have changed since: an earlier answer is none to this.
        command_line = ["netwarp", *sys.argv[1:]]
        finished = run(study, opened, out=place, command_line=command_line, anew=True)
    told = program_runs(finished.data)
    if replicates is not None and told["failure"] is None and opened.clock == "virtual":
        (again,) = verify(finished.data, opened, runs=1).runs
        told |= {"repeatable": again.is_identical, "difference": again.difference_text}
        told["asks_of_the_cpu"] = {} if again.is_identical else askers(planned[0].job)
    if as_json:
        print_json(told)
    else:
        console().print(in_one_line(finished.data, told), highlight=False, soft_wrap=True)
    raise typer.Exit(told["exit_status"])
