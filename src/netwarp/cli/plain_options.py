"""Options whose text is their value, taken as they are.

typer has pydantic check every option that a command has, given or not: with the sixty of `compare`
that takes longer than to read a run directory.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup, TyperOption

from netwarp.errors import show_value

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter

_MOST_DIGITS = 19  # of a seed; every other number is smaller
_WHOLE_NUMBER = re.compile(rf"[+-]?[0-9]{{1,{_MOST_DIGITS}}}")


class _PlainOption(TyperOption):
    """An option that typer converts only where its value is not plain."""

    def process_value(self, ctx: Context, value: Any) -> Any:
        if self.required or not self._is_plain(value):
            return super().process_value(ctx, value)
        taken = self._taken(value)
        return taken if self.callback is None else self.callback(ctx, self, taken)

    def _is_plain(self, value: Any) -> bool:
        """Whether typer would take the value for what it says; it words what is wrong with it."""
        annotation = self.type_descriptor.annotation
        if value is None:
            return True
        if self.multiple:
            return annotation == list[str] and all(isinstance(each, str) for each in value)
        if not isinstance(value, str):
            return False
        if annotation is int:
            return why_no_whole_number(value, self) is None
        return annotation in (str, Path)

    def _taken(self, value: Any) -> Any:
        if self.multiple:
            return [] if value is None else list(value)
        if value is None or self.type_descriptor.annotation is str:
            return value
        return self.type_descriptor.annotation(value)


def why_no_whole_number(text: str, parameter: Any) -> str | None:
    """Say why a text is no whole number that an option takes; None where it is one."""
    if not _WHOLE_NUMBER.fullmatch(text):
        return f"{show_value(text)} is not a whole number of at most {_MOST_DIGITS} digits"
    least, most = parameter.min, parameter.max
    if (least is None or int(text) >= least) and (most is None or int(text) <= most):
        return None
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    return f"{text} is not a whole number {bounds}"


def _taken_as_they_are(parameters: list[Parameter]) -> list[Parameter]:
    for parameter in parameters:
        if type(parameter) is TyperOption:  # made by typer, which lets nobody choose the class
            parameter.__class__ = _PlainOption
    return parameters


class PlainGroup(TyperGroup):
    """A group of commands with plain options."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Give the group's options and arguments."""
        return _taken_as_they_are(super().get_params(ctx))


class PlainCommand(TyperCommand):
    """A command with plain options."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Give the command's options and arguments."""
        return _taken_as_they_are(super().get_params(ctx))
