"""The command that runs any program over a path, in virtual time or between real hosts."""

import sys
from typing import Any

import click

from netwarp.cli.command import Argument, command
from netwarp.options import EXEC
from netwarp.options.running import JSON


@command(
    Argument(
        "client",
        "-- CLIENT [ARGUMENTS]…",
        "The client's program.",
        nargs=-1,
        required=True,
        type=click.UNPROCESSED,
    ),
    *EXEC,
    JSON,
)
def exec(*, client: tuple[str, ...], as_json: bool = False, **given: Any) -> None:  # noqa: A001
    """Run a server and a client, any programs of this machine, over a path in virtual time.

    netwarp exec --rtt 100ms --loss 1% --server 'python3 -m http.server 80' -- curl -s server

    Each is on a host of its own; the names server and client resolve. They see this machine's
    files; what they write is thrown away. The client's output and exit status are netwarp's.

    With --backend remote:HOST:PORT the server runs on that host, in real time, if its owner allows
    it: `netwarp serve --allow-exec`.
    """
    from netwarp import library
    from netwarp.cli.checks import status_of
    from netwarp.cli.printing import print_expectations
    from netwarp.cli.running import command_line
    from netwarp.cli.terminal import console, print_json
    from netwarp.output.program_runs import in_one_line

    sinks = None if as_json else (sys.stdout.buffer, sys.stderr.buffer)
    done = library.exec(client, sinks=sinks, command_line=command_line(), **given)
    if as_json:
        print_json(done.summary())
    else:
        console().print(in_one_line(done.data, done.summary()), highlight=False, soft_wrap=True)
        print_expectations(done.data, console())
    raise click.exceptions.Exit(done.exit_status or status_of(done.data, None))
