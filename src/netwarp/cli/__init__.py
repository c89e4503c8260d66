"""The command line: arguments → calls. No logic lives here.

Commands are imported when they are called, and import what draws and computes when they need it, so
that `--help` and a refused option answer at once.
"""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from netwarp.cli.commands import Commands
from netwarp.cli.interruption import interruption
from netwarp.cli.refusals import Refusal, of_netwarp, of_usage, wants_json
from netwarp.cli.terminal import accept_any_encoding, answer, print_error, print_json
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
        refusal = of_usage(error)
        if refusal is not None:
            _tell(refusal)
    except NetwarpError as error:
        _tell(of_netwarp(error))
        status = error.exit_status
    except Exception as error:  # noqa: BLE001 - the last resort: nobody is shown a traceback
        from netwarp.cli.last_resort import UNEXPECTED_STATUS, unexpected

        status = UNEXPECTED_STATUS
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EPIPE):
            status = 1
            text = f"cannot write: {error.strerror}; send the output elsewhere, or make room"
            _tell(Refusal(text))
        elif not interruption.requested:
            _tell(Refusal(unexpected(error, sys.argv[1:])))
    finally:
        # Also where the interruption has become another exception on its way.
        if interruption.requested:
            interruption.leave()
    interruption.end_process(status)


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
