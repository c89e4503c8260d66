"""What is wrong with a study: said by key where it is found, given file and line in one place.

Whatever reads a study raises `KeyValueError`, which knows the key in the long, dotted form and
nothing of files. `Refusals` makes a `StudyError` of it, with what the user calls the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.study.toml_lines import line_of

Display = Callable[[str], str]
"""Gives the key under which the user wrote a dotted key: ``--loss`` for ``path.loss``."""


@dataclass(frozen=True)
class Refusals:
    """Turns the errors found in one study into `StudyError`s with file, line and key."""

    file: str
    """The study's file, or the command that it was given to."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Where its keys stand in the file, if it came from one; see :mod:`.toml_lines`."""
    display: Display = str

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turn what is raised within into a `StudyError`."""
        try:
            yield
        except KeyValueError as error:
            raise self.study_error(error) from None

    def study_error(self, error: KeyValueError) -> StudyError:
        """Describe an error with file, line, and the key as the user wrote it."""
        return StudyError(
            error.reason,
            file=self.file,
            line=line_of(self.lines, error.key or ""),
            key=None if error.key is None else self.display(error.key),
            value=error.value,
            remedy=error.remedy,
        )
