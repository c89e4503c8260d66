"""Adds to the errors in a study the file, the line, and the key as the user wrote it.

Functions that read a study raise `KeyValueError`, which has the full, dotted key and no file.
`Refusals` turns it into a `StudyError` with file, line, and the key as the user wrote it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.study.toml_lines import line_of

Display = Callable[[str], str]
"""A function that converts a dotted key to what the user wrote: ``path.loss`` to ``--loss``."""


@dataclass(frozen=True)
class Refusals:
    """Converts the errors found in one study into `StudyError`s with file, line and key."""

    file: str
    """The study's file, or the command whose options define the study."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line of each dotted key, if the study came from a file; see :mod:`.toml_lines`."""
    display: Display = str

    @contextmanager
    def as_study_errors(self) -> Iterator[None]:
        """Context manager: convert a `KeyValueError` that is raised in the block to a
        `StudyError`.
        """
        try:
            yield
        except KeyValueError as error:
            raise self.study_error(error) from None

    def study_error(self, error: KeyValueError) -> StudyError:
        """Return a `StudyError` with file, line, and the key as the user wrote it."""
        return StudyError(
            error.reason,
            file=self.file,
            line=line_of(self.lines, error.key or ""),
            key=None if error.key is None else self.display(error.key),
            value=error.value,
            remedy=error.remedy,
            missing=None if error.missing is None else self.display(error.missing),
        )
