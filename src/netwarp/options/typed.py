"""Checks what the user typed for an option before the models of a study are imported.

That import takes longer than everything else before a mistyped quantity is refused. The models
refuse the same values with the same messages.
"""

import re
from collections.abc import Callable, Mapping

from netwarp.errors import StudyError, show_value
from netwarp.options.readiness import read_ready
from netwarp.options.row import Option, levels_in
from netwarp.units import (
    UnitError,
    loss_model,
    parse_duration_ns,
    parse_queue,
    parse_rate_bit_s,
    parse_ratio,
    parse_size_bytes,
)

_MOST_DIGITS = 19  # the digits of a seed; every other number is smaller
_WHOLE_NUMBER = re.compile(rf"[+-]?[0-9]{{1,{_MOST_DIGITS}}}")


def _refuse_bad_share(text: str) -> None:
    """Refuse a percentage that is not valid; a loss model is checked later, together with the
    study.
    """
    if loss_model(text)[0] is None:
        parse_ratio(text)


READERS: Mapping[str, Callable[[str], object]] = {
    "DurationNs": parse_duration_ns,
    "RateBitS": parse_rate_bit_s,
    "RatioField": parse_ratio,
    "SizeBytes": parse_size_bytes,
    "Queue": parse_queue,
    "LossField": _refuse_bad_share,
    "ReorderField": parse_ratio,
    "Ready": read_ready,
}
"""Functions that check a level, by the name of its type."""


def checked_levels(row: Option, text: str, command: str, option: str | None = None) -> list[str]:
    """Return the levels in a list; each is checked if `READERS` has a function for its type.

    Args:
        row: the option.
        text: what the user typed for it.
        command: the command to which the option belongs, for messages.
        option: spelling of the option there, for messages; None for the usual one.

    Raises:
        StudyError: a level is not of the option's type.
    """
    levels = levels_in(text)
    for level in levels:
        checked_text(row, level, command, option)
    return levels


def checked_text(row: Option, text: str, command: str, option: str | None = None) -> str:
    """Return one level; it is checked if `READERS` has a function for the option's type.

    Args:
        row: the option.
        text: the level.
        command: see :func:`checked_levels`.
        option: see :func:`checked_levels`.

    Raises:
        StudyError: it is not of the option's type.
    """
    if row.type in READERS:
        try:
            READERS[row.type](text)
        except UnitError as error:
            raise StudyError(
                error.reason, file=command, key=option or row.on_command_line[0], value=text,
                remedy=error.remedy,
            ) from None  # fmt: skip
    return text


def whole_number(text: str, least: int | None = None, most: int | None = None) -> int:
    """Parse a whole number in ASCII digits.

    Raises:
        ValueError: it is not one, or out of bounds; the message says which.
    """
    if not _WHOLE_NUMBER.fullmatch(text):
        reason = f"{show_value(text)} is not a whole number of at most {_MOST_DIGITS} digits"
        raise ValueError(reason)
    if (least is not None and int(text) < least) or (most is not None and int(text) > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        reason = f"{text} is not a whole number {bounds}"
        raise ValueError(reason)
    return int(text)
