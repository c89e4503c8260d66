"""Options whose text is their value, taken as they are.

typer has pydantic check every option that a command has, given or not: with the sixty of `compare`
that takes longer than to read a run directory.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter

_PLAIN_NUMBER = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
"""A number that is written in one way only; the others are typer's to read."""


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
        if annotation is int:
            return isinstance(value, str) and self._is_in_range(value)
        return isinstance(value, str) and annotation in (str, Path)

    def _is_in_range(self, text: str) -> bool:
        given = self.type_descriptor.parameter_info
        if _PLAIN_NUMBER.fullmatch(text) is None:
            return False
        return (given.min is None or given.min <= int(text)) and (
            given.max is None or int(text) <= given.max
        )

    def _taken(self, value: Any) -> Any:
        if self.multiple:
            return [] if value is None else list(value)
        if value is None or self.type_descriptor.annotation is str:
            return value
        return self.type_descriptor.annotation(value)


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
