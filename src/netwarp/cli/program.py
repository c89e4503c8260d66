"""The program: its commands, and the one place that prints errors."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from netwarp.cli.commands import Commands
from netwarp.cli.interruption import interruption
from netwarp.cli.refusals import Refusal, of_netwarp, of_usage, wants_json
from netwarp.cli.surroundings import why_refused
from netwarp.cli.terminal import accept_any_encoding, answer, print_error, print_json
from netwarp.errors import InputError, NetwarpError, one_line
from netwarp.regular_files import is_utf8
from netwarp.version import __version__

app = typer.Typer(
    name="netwarp",
    cls=Commands,
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the list of commands answers without the time that rich takes
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `netwarp demo`; `netwarp COMMAND --help` explains a command.",
)


@app.callback()
def netwarp(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Race transport protocols over a real Linux kernel in virtual time."""
    if version:
        typer.echo(f"netwarp {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def run_program() -> int:
    """Run the command that was typed, print what is wrong with it, and give the exit status."""
    accept_any_encoding()
    try:
        _refuse_bytes(sys.argv[1:])
        # The exit status of `typer.Exit`, and None of a command that returned.
        return app(standalone_mode=False) or 0
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except typer.TyperException as error:
        refusal = of_usage(error)
        if refusal is not None:
            _tell(refusal)
        return error.exit_code
    except NetwarpError as error:
        _tell(of_netwarp(error))
        return error.exit_status
    except Exception as error:  # noqa: BLE001 - the last resort: nobody is shown a traceback
        reason = why_refused(error)
        if reason is not None:
            _tell(Refusal(reason))
            return 1
        from netwarp.cli.last_resort import UNEXPECTED_STATUS, unexpected

        if not interruption.requested:
            _tell(Refusal(unexpected(error, sys.argv[1:])))
        return UNEXPECTED_STATUS


def _tell(refusal: Refusal) -> None:
    """Print why nothing came of the command, for people and, if asked to, for scripts."""
    print_error(refusal.message)
    if wants_json(sys.argv[1:]) and not answer.is_given:
        with contextlib.suppress(OSError):  # standard output may be what gave out
            print_json(refusal.to_json())


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not text: neither a job nor a report could name them."""
    for argument in arguments:
        if not is_utf8(argument):
            raise InputError(f"{one_line(argument)}: not UTF-8; use names that are")
