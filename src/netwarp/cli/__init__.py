"""The command line: arguments → calls. No logic lives here.

Modules that draw and compute are imported by the commands that need them, so that `--help` and a
refused option answer at once.
"""

from __future__ import annotations

from importlib import metadata
from typing import Annotated, NoReturn

import typer

from netwarp.cli import compare, inspect, machine, running
from netwarp.cli.interruption import interruption
from netwarp.cli.terminal import console, escaped
from netwarp.errors import NetwarpError

app = typer.Typer(
    name="netwarp",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `netwarp demo`; `netwarp COMMAND --help` explains a command.",
)
for command in (
    running.demo,
    running.run,
    compare.compare,
    running.reproduce,
    inspect.show,
    inspect.report,
    inspect.timeline,
    inspect.export,
    machine.doctor,
):
    app.command()(command)
app.add_typer(machine.kernel_app, name="kernel")


@app.callback()
def netwarp(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Race transport protocols over a real Linux kernel in virtual time."""
    if version:
        typer.echo(f"netwarp {metadata.version('netwarp')}")
        raise typer.Exit


def main() -> NoReturn:
    """Run the program; the one place that prints errors."""
    interruption.listen()
    try:
        app(standalone_mode=True)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except NetwarpError as error:
        console().print(f"[bold red]error:[/] {escaped(str(error))}", soft_wrap=True)
        status = error.exit_status
    finally:
        # Also where the interruption has become another exception on its way.
        if interruption.requested:
            interruption.leave()
    interruption.end_process(status)
