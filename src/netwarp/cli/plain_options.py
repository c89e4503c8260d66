"""Options whose text is their value, taken as they are.

typer has pydantic check every option that a command has, given or not: with the sixty of `compare`
that takes longer than to read a run directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter


class _PlainOption(TyperOption):
    """An option that is converted only where there is something to convert."""

    def process_value(self, ctx: Context, value: Any) -> Any:
        is_plain = value is None or (
            isinstance(value, str) and self.type_descriptor.annotation is str
        )
        if not is_plain or self.multiple or self.required:
            return super().process_value(ctx, value)
        return value if self.callback is None else self.callback(ctx, self, value)


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
