"""The command line: arguments → calls. No logic lives here.

Commands are imported when they are called, and import what draws and computes when they need it, so
that `--help` and a refused option answer at once.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from netwarp.cli.commands import Commands
from netwarp.cli.interruption import interruption
from netwarp.cli.terminal import accept_any_encoding, print_error
from netwarp.errors import InputError, NetwarpError, one_line
from netwarp.regular_files import is_utf8
from netwarp.version import __version__

app = typer.Typer(
    name="netwarp",
    cls=Commands,
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `netwarp demo`; `netwarp COMMAND --help` explains a command.",
)


@app.callback()
def netwarp(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Race transport protocols over a real Linux kernel in virtual time."""
    if version:
        typer.echo(f"netwarp {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run the program; the one place that prints errors."""
    interruption.listen()
    accept_any_encoding()
    try:
        _refuse_bytes(sys.argv[1:])
        # The exit status of `typer.Exit`, and None of a command that returned.
        status = app(standalone_mode=False) or 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except typer.TyperException as error:
        status = error.exit_code
        _print_usage_error(error)
    except NetwarpError as error:
        print_error(str(error))
        status = error.exit_status
    except Exception as error:  # noqa: BLE001 - the last resort: nobody is shown a traceback
        from netwarp.cli.last_resort import UNEXPECTED_STATUS, unexpected

        status = UNEXPECTED_STATUS
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EPIPE):
            status = 1
            print_error(f"cannot write: {error.strerror}; send the output elsewhere, or make room")
        elif not interruption.requested:
            print_error(unexpected(error, sys.argv[1:]))
    finally:
        # Also where the interruption has become another exception on its way.
        if interruption.requested:
            interruption.leave()
    interruption.end_process(status)


def _print_usage_error(error: typer.TyperException) -> None:
    """Print why a command line is none: one line that names the command and where its help is."""
    reason = error.format_message().strip().rstrip(".")
    if not reason:
        return  # a command without arguments: its help has been printed
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "netwarp"
    print_error(f"{command}: {reason[0].lower()}{reason[1:]}; see `{command} --help`")


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not text: neither a job nor a report could name them."""
    for argument in arguments:
        if not is_utf8(argument):
            raise InputError(f"{one_line(argument)}: not UTF-8; use names that are")
