"""The exceptions that netwarp raises, as a tree.

    NetwarpError                exit status 1
    ├── InputError              exit status 2: the user can mend it, nothing was run
    │   ├── StudyError          a study file or option that cannot be run
    │   ├── BackendError        a place to run that is not ready, or cannot do what a job asks
    │   └── RunDirectoryError   a run directory that cannot be written, or is in use
    ├── RecordError             a job or record file that is not in the wire format
    └── ResultError             a table of results that cannot be read or written

The command line prints the message of any of them as one line and exits with its status.
"""

import json
import unicodedata
from functools import partial
from typing import Any

MOST_CHARACTERS = 500
"""Maximum number of characters of each part of an error message, so that it fits a screen."""
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control characters, of signs that change the direction of text, and of line
separators.
"""


class NetwarpError(Exception):
    """Base of all errors of netwarp, with a message for the user."""

    exit_status = 1


class InputError(NetwarpError):
    """The user's input is invalid or impossible; nothing was run."""

    exit_status = 2


class StudyError(InputError):
    """A study that cannot be run; the error has file, line, key, value, reason and remedy."""

    def __init__(
        self,
        reason: str,
        *,
        file: str,
        line: int | None = None,
        key: str | None = None,
        value: Any = None,
        remedy: str | None = None,
        missing: str | None = None,
    ) -> None:
        self.file = file
        """The study's file, or the command that was given the option."""
        self.line = line
        """Line in the file, from 1; None if unknown, or if there is no file."""
        self.key = key
        """Dotted key or option with the error; None if there is none."""
        self.value = value
        """The value of the key; None if the key is missing."""
        self.reason = reason
        """The reason why the value is refused."""
        self.remedy = remedy
        """What would be valid."""
        self.missing = missing
        """Dotted key or option that would have to be given, too; None if there is none."""
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copying and pickling with all attributes, which a process pool needs for
        errors.
        """
        where: dict[str, Any] = {"file": self.file, "line": self.line, "key": self.key}
        told = {"value": self.value, "remedy": self.remedy, "missing": self.missing}
        return partial(type(self), **where, **told), (self.reason,)

    def __str__(self) -> str:
        file = one_line(self.file)
        where = file if self.line is None else f"{file}:{self.line}"
        if self.key is not None:
            where += f": {one_line(self.key)}"
            if self.value is not None:
                where += f" = {show_value(self.value)}"
        remedy = f"; {one_line(self.remedy)}" if self.remedy else ""
        return f"{where}: {one_line(self.reason)}{remedy}"


class BackendError(InputError):
    """A backend is not ready, or cannot do what a job asks for."""


class RecordError(NetwarpError):
    """A job or record file is not in the wire format."""


class RunDirectoryError(InputError):
    """A run directory cannot be written, or is in use."""


class ResultError(NetwarpError):
    """A table of results cannot be read or written."""


def show_value(value: Any) -> str:
    """Return a value as text in the form of a study file, cut to a readable length."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    # a number of thousands of digits, or a value that contains itself
    except (ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return one_line(text, 80)


def one_line(text: str, most_characters: int = MOST_CHARACTERS) -> str:
    """Return a text as one line that a terminal can show: cut, with control characters escaped."""
    shown = text[: most_characters + 1]
    if not shown.isprintable():
        shown = "".join(
            each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown
        )
    return shown if len(shown) <= most_characters else shown[: most_characters - 3] + "…"


def without_controls(text: str) -> str:
    """Return a text in which control characters, except line ends, are escaped, so that a terminal
    shows them.
    """
    if text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode()
        if each != "\n" and unicodedata.category(each) in _UNSHOWN
        else each
        for each in text
    )
