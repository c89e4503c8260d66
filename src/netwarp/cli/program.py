"""The program: its commands, and the only place that prints errors."""

import contextlib
import os
import sys
from collections.abc import Sequence

import click

from netwarp.cli.commands import Commands
from netwarp.cli.interruption import interruption
from netwarp.cli.refusals import Refusal, of_netwarp, of_usage, wants_json
from netwarp.cli.surroundings import is_panic, is_unread, why_refused
from netwarp.cli.terminal import accept_any_encoding, answer, print_error, print_json
from netwarp.errors import InputError, NetwarpError, one_line
from netwarp.utf8 import is_utf8
from netwarp.version import __version__

_COMPLETE = "_NETWARP_COMPLETE"
"""Environment variable with which a shell asks for completions."""


def _version(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    del parameter
    if asked:
        click.echo(f"netwarp {__version__}")
        ctx.exit()


def _completion(ctx: click.Context, parameter: click.Parameter, shell: str | None) -> None:
    """Print the script with which a shell completes command lines."""
    del parameter
    if shell is None:
        return
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is not None:
        click.echo(found(ctx.command, {}, "netwarp", _COMPLETE).source())
        ctx.exit()


app = Commands(
    "netwarp",
    help="Race transport protocols over a real Linux kernel in virtual time.",
    epilog="Start with `netwarp demo`; `netwarp COMMAND --help` explains a command.",
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version,
            help="Print the version and exit.",
        ),
        click.Option(
            ["--completion"], type=click.Choice(["bash", "zsh", "fish"]), is_eager=True,
            expose_value=False, callback=_completion, metavar="bash|zsh|fish",
            help='Print a script that completes commands: eval "$(netwarp --completion bash)".',
        ),
    ],
)  # fmt: skip


def run_program() -> int:
    """Run the command line, print errors, and return the exit status."""
    accept_any_encoding()
    try:
        _refuse_bytes(sys.argv[1:])
        return _invoke(sys.argv[1:])
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except click.ClickException as error:
        _print_refusal(of_usage(error))
        return error.exit_code
    except NetwarpError as error:
        _print_refusal(of_netwarp(error))
        return error.exit_status
    except BaseException as error:  # no error may reach the user as a traceback
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        # The reader of the output has closed it, because it has what it wanted.
        if is_unread(error):
            return 1
        reason = why_refused(error)
        if reason is not None:
            _print_refusal(Refusal(reason))
            return 1
        from netwarp.cli.last_resort import UNEXPECTED_STATUS, unexpected

        if not interruption.requested:
            _print_refusal(Refusal(unexpected(error, sys.argv[1:])))
        return UNEXPECTED_STATUS


def _invoke(arguments: list[str]) -> int:
    """Run a command, or complete it for a shell, and return the exit status.

    click's own function is not used, because it would print a further line on Ctrl-C.
    """
    asked = os.environ.get(_COMPLETE)
    if asked is not None:
        from click.shell_completion import shell_complete

        return shell_complete(app, {}, app.name or "", _COMPLETE, asked)
    try:
        with app.make_context("netwarp", arguments) as ctx:
            app.invoke(ctx)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return 0


def _print_refusal(refusal: Refusal) -> None:
    """Print why the command failed, as a line for users and, if asked for, as JSON for scripts."""
    print_error(refusal.message)
    if wants_json(sys.argv[1:]) and not answer.is_given:
        with contextlib.suppress(OSError):  # standard output may be what failed
            print_json(refusal.to_json())


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not valid text, because neither a job nor a report could contain
    them.
    """
    for argument in arguments:
        if not is_utf8(argument):
            raise InputError(f"{one_line(argument)}: not UTF-8; use names that are")
