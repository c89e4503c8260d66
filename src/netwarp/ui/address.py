"""Converts the address of a page to options of `netwarp compare`, and these to a command.

Pure.
"""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from netwarp.errors import InputError
from netwarp.options import Takes
from netwarp.options.typed import checked_levels, whole_number
from netwarp.suggestions import did_you_mean
from netwarp.ui.knobs import OPTIONS

COMMAND = "compare"
MOST_CHARACTERS = 4000
"""Maximum number of characters that all values of an address have together."""


def options_of(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the options in an address, given as pairs of name and value; an empty value counts as
    not given.

    Raises:
        InputError: there is no option of a name, or a value is too long. Values are checked by the
            study.
    """
    given: dict[str, Any] = {}
    left = MOST_CHARACTERS
    for name, value in pairs:
        if name not in OPTIONS:
            # The page is served before studies are imported.
            from netwarp.study.compare import option_of

            raise InputError(f"{option_of(name)}: unknown; {did_you_mean(name, OPTIONS)}")
        left -= len(value)
        if left < 0:
            raise InputError(f"the address has more than {MOST_CHARACTERS} characters of values")
        if value.strip():
            _add_option(given, name, value.strip())
    return given


def _add_option(given: dict[str, Any], name: str, value: str) -> None:
    """Add a pair of an address to the options, with its value converted to the option's type."""
    match OPTIONS[name].takes:
        case Takes.LEVELS:
            given[name] = checked_levels(OPTIONS[name], value, COMMAND)
        case Takes.TEXTS:
            given.setdefault(name, []).append(value)
        case Takes.WHOLE:
            row = OPTIONS[name]
            try:
                given[name] = whole_number(value, row.least, row.most)
            except ValueError as error:
                raise InputError(f"{row.on_command_line[0]}: {error}") from None
        case Takes.FLAG:
            given[name] = value != "no"
        case _:
            given[name] = value


def command_of(given: Mapping[str, Any]) -> str:
    """Return options as the command that does the same in a shell."""
    words = ["netwarp", "compare"]
    for name, value in given.items():
        on, _, off = OPTIONS[name].on_command_line[0].partition("/")
        match OPTIONS[name].takes:
            case Takes.LEVELS:
                words += [on, ",".join(value)]
            case Takes.TEXTS:
                words += [word for each in value for word in (on, each)]
            case Takes.FLAG:
                words += [on if value else off]
            case _:
                words += [on, str(value)]
    return shlex.join(words)
