"""Reads in which way a server says that it is ready, without the models of a study."""

import re
from dataclasses import dataclass
from typing import Literal

from netwarp.units import UnitError

_PORT = re.compile(r"port:([0-9]{1,5})")
_NOT_LINEAR = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?<?[=!]|\(\?P=|\\[1-9])")
"""Look-around and back-references in a regular expression, for which a search may take long."""


@dataclass(frozen=True)
class Readiness:
    """The condition under which a server counts as ready."""

    way: Literal["listening", "line", "file"]
    port: int | None = None
    """The port at which a socket listens; None for any."""
    text: str = ""
    """The pattern of the line, or the path of the file."""


def read_ready(text: str) -> Readiness:
    """Read the condition under which a server counts as ready.

    Raises:
        UnitError: it is none of the known conditions.
    """
    port = _PORT.fullmatch(text)
    if text == "listening":
        return Readiness("listening")
    if port and int(port[1]) in range(1, 2**16):
        return Readiness("listening", port=int(port[1]))
    way, _, rest = text.partition(":")
    if way == "line" and rest:
        return Readiness("line", text=_line_pattern(rest))
    if way == "file" and rest.startswith("/"):
        return Readiness("file", text=rest)
    reason = "not a way in which a server says that it is ready"
    remedy = "listening, port:8080, line:REGEX, or file:/ABSOLUTE/PATH"
    raise UnitError(reason, remedy)


def _line_pattern(pattern: str) -> str:
    """Check the pattern for a line of output. The endpoint searches in linear time, by Rust's
    regular expressions, which have no look-around and no back-references.
    """
    try:
        re.compile(pattern)
    except re.error as error:
        remedy = r"a character that stands for itself is written with a backslash, such as \("
        raise UnitError(f"{pattern!r} is not a regular expression: {error}", remedy) from None
    if (found := _NOT_LINEAR.search(pattern)) is not None:
        reason = f"{found[0]!r} in {pattern!r}: look-around and back-references cannot be had"
        raise UnitError(reason, "match a shorter part of the line")
    return pattern
