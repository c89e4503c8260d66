"""Reads the rate traces that a study names."""

from __future__ import annotations

from pathlib import Path

from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.regular_files import UnreadableFileError, located, read_regular_file
from netwarp.study.sections.mahimahi import TraceError, parse_trace
from netwarp.study.tables import Written
from netwarp.units import UnitError, parse_duration_ns

MOST_BYTES = 64 << 20
"""Largest trace file that is read, in bytes: ten million opportunities, an hour at 30 Mbit/s."""


def read_trace(written: Written, step_ns: int, folder: Path | None) -> object:
    """Give the rates of a trace in place of its file's name; other values stay as they are.

    Args:
        written: the file's name, and where it was written.
        step_ns: longest time in ns for which a rate holds.
        folder: folder that relative names start from; None leaves them relative.

    Raises:
        KeyValueError: a file that cannot be read.
        StudyError: a file that is not a trace; the error names the file and the line.
    """
    name = written.value
    if not isinstance(name, str):
        return name
    try:
        path = located(name, folder)
        content = read_regular_file(Path(path), MOST_BYTES)
    except UnreadableFileError as error:
        raise KeyValueError(written.place, name, error.reason, "name a trace file") from None
    try:
        trace = parse_trace(content.decode("utf-8", errors="replace"), step_ns, path)
    except TraceError as error:
        raise StudyError(error.reason, file=path, line=error.line, remedy=error.remedy) from None
    return {
        "label": name,
        "file": path,
        "step_ns": trace.step_ns,
        "rates_bit_s": list(trace.rates_bit_s),
    }


def step_ns(written: Written, default_ns: int) -> int:
    """Give a trace's step in ns; a value that is not a duration is refused later, with its key."""
    try:
        return parse_duration_ns(written.value) or default_ns
    except UnitError:
        return default_ns
