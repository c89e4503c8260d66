"""Converts errors to messages: a line for users, and the fields of `{"error": …}` for scripts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from netwarp.errors import NetwarpError, StudyError
from netwarp.suggestions import nearest


@dataclass(frozen=True)
class Refusal:
    """The reason why a command failed."""

    message: str
    """The complete message, in one line."""
    key: str | None = None
    """Key of the study, or option, that caused the error; None if there is none."""
    remedy: str | None = None
    """What the user can do about it, if the message does not contain that; else None."""

    def to_json(self) -> dict[str, Any]:
        """Return the object that is printed on standard output with ``--json``."""
        return {"error": asdict(self)}


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether the command line asks for one JSON object; arguments after `--` belong to
    another program.
    """
    own = list(arguments)
    return "--json" in own[: own.index("--") if "--" in own else len(own)]


def of_netwarp(error: NetwarpError) -> Refusal:
    """Return the message for an error that netwarp raised."""
    if isinstance(error, StudyError):
        return Refusal(str(error), error.key, error.remedy)
    return Refusal(str(error))


def of_usage(error: click.ClickException) -> Refusal:
    """Return the message for an error of the command line, with the option or command that the user
    probably meant.
    """
    reason = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "netwarp"
    word, known = _unknown_word(error, context)
    if word is not None:
        reason = f"no such {'option' if word.startswith('-') else 'command'}: {word}"
    near = nearest(word, known) if word is not None else None
    meant = _alternative(word) or (f'did you mean "{near}"? ' if near else "")
    remedy = f"{meant}see `{command} --help`"
    message = f"{command}: {reason[0].lower()}{reason[1:]}; {remedy}"
    return Refusal(message, word or _parameter(error), remedy)


OTHERWISE = {
    "--ecn": "--set transport.ecn=true",
    "--mss": "--set transport.mss=1200",
    "--buffer": "--set transport.buffer=1MB",
    "--stack": "--set transport.stack=NAME",
    "--initial-window": "--set transport.initial_window=10",
    "--ipv6": "--ip 6",
    "-6": "--ip 6",
}
"""Options that users look for but that do not exist, each with what to use instead."""


def _alternative(word: str | None) -> str:
    """Return what to use instead of an unknown option; "" if that is not known."""
    return f"write {OTHERWISE[word]}; " if word in OTHERWISE else ""


def _unknown_word(error: click.ClickException, context: Any) -> tuple[str | None, list[str]]:
    """Return the unknown option or command, and a list of those that exist."""
    if isinstance(error, click.NoSuchOption) and context is not None:
        return error.option_name, [each for param in context.command.params for each in param.opts]
    if isinstance(error, click.exceptions.NoSuchCommand) and context is not None:
        return error.command_name, context.command.list_commands(context)
    return None, []


def _parameter(error: click.ClickException) -> str | None:
    """Return the name of the option whose value was refused."""
    options = getattr(getattr(error, "param", None), "opts", None)
    return str(max(options, key=len)) if options else None
