"""Refuses an option at the sight of its text, before the models of a study are imported.

Importing pydantic and building the models takes longer than all else that a mistyped quantity
needs. What is refused here is refused there too, with the same words; the rest of what can be wrong
with an option is found there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from netwarp.cli.options import levels
from netwarp.cli.plain_options import PlainCommand, why_no_whole_number
from netwarp.errors import StudyError
from netwarp.path_properties import BY_KEY, options
from netwarp.units import (
    UnitError,
    parse_duration_ns,
    parse_queue,
    parse_rate_bit_s,
    parse_ratio,
)

if TYPE_CHECKING:
    from typer._click.core import Context


def _refuse_bad_share(text: str) -> None:
    """Read a percentage; a model of loss in words of its own is read with the study."""
    if not text.lower().startswith("gemodel"):
        parse_ratio(text)


READERS: Mapping[str, Callable[[str], object]] = {
    "DurationNs": parse_duration_ns,
    "RateBitS": parse_rate_bit_s,
    "RatioField": parse_ratio,
    "Queue": parse_queue,
    "LossField": _refuse_bad_share,
    "ReorderField": parse_ratio,
}
"""What reads a level of a path's property on the command line, by the name of its type."""

_PATH_KEYS = {key for key, _ in options()}


class CheckedCommand(PlainCommand):
    """A command whose options' texts are looked at before any of them is converted."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read a command line.

        Raises:
            StudyError: a level of a property of the path is none.
            typer.BadParameter: an option or argument is not what it takes.
        """
        try:
            given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        except typer.TyperException as error:
            error.ctx = ctx  # type: ignore[attr-defined]  # so that it names the command
            raise
        if not given.get("help") and not ctx.resilient_parsing:
            for parameter in self.get_params(ctx):
                text = given.get(str(parameter.name))
                if isinstance(text, str):
                    _refuse_bad_text(ctx, parameter, text)
        return super().parse_args(ctx, args)


def _refuse_bad_text(ctx: Context, parameter: Any, text: str) -> None:
    """Refuse an option or argument whose text cannot be what it takes.

    Raises:
        StudyError: it is no level of the path's property.
        typer.BadParameter: it is no whole number, or one out of bounds.
    """
    name = str(parameter.name)
    if name in _PATH_KEYS:
        _refuse_bad_levels(str(ctx.info_name), name, text)
    elif _takes_whole_number(parameter) and (reason := why_no_whole_number(text, parameter)):
        raise typer.BadParameter(reason, ctx=ctx, param=parameter)


def _takes_whole_number(parameter: Any) -> bool:
    return parameter.type_descriptor.annotation is int


def _refuse_bad_levels(command: str, name: str, text: str) -> None:
    reader = READERS.get(BY_KEY[name.removesuffix("_down").removesuffix("_up")].type)
    if reader is None:
        return
    for level in levels(text):
        try:
            reader(level)
        except UnitError as error:
            raise StudyError(
                error.reason,
                file=command,
                key=f"--{name.replace('_', '-')}",
                value=level,
                remedy=error.remedy,
            ) from None
