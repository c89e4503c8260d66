"""Replaces the names of rate trace files in a study's tables by the rates in the files.

From here on a study no longer needs the files: the tables alone make the same study.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netwarp.errors import StudyError
from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.regular_files import UnreadableFileError, located, read_regular_file
from netwarp.study.sections.mahimahi import TraceError, parse_trace
from netwarp.study.sections.timeline import DEFAULT_STEP_NS
from netwarp.units import UnitError, parse_duration_ns

MOST_BYTES = 64 << 20
"""Largest trace file that is read, in bytes: ten million opportunities, an hour at 30 Mbit/s."""


def with_traces(tables: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Read the traces named in ``path.trace``, ``path.second.trace`` and factors.

    Args:
        tables: the study's tables, changed in place.
        folder: folder that relative names start from; None leaves them relative.

    Raises:
        KeyValueError: a file that cannot be read.
        StudyError: a file that is not a trace; the error names the file and the line.
    """
    path = tables.get("path")
    if not isinstance(path, dict):
        return tables
    second = path.get("second")
    steps_ns = {"path.trace": _step_ns(path, DEFAULT_STEP_NS)}
    steps_ns["path.second.trace"] = _step_ns(second, steps_ns["path.trace"])
    for prefix, owner in (("path.trace", path), ("path.second.trace", second)):
        trace = _table(owner, "trace")
        for direction in DIRECTIONS:
            name = trace.get(direction)
            if isinstance(name, str):
                key = f"{prefix}.{direction}"
                trace[direction] = _read(name, steps_ns[prefix], key, folder)
    factors = _table(tables, "factors")
    for key, levels in factors.items():
        prefix, _, name = key.rpartition(".")
        if prefix in steps_ns and name in DIRECTIONS and isinstance(levels, list):
            factors[key] = [
                _read(level, steps_ns[prefix], f'factors."{key}"', folder)
                if isinstance(level, str)
                else level
                for level in levels
            ]
    return tables


def _read(name: str, step_ns: int, key: str, folder: Path | None) -> dict[str, Any]:
    try:
        path = located(name, folder)
        content = read_regular_file(Path(path), MOST_BYTES)
    except UnreadableFileError as error:
        raise KeyValueError(key, name, error.reason, "name a trace file") from None
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


def _table(owner: Any, key: str) -> dict[str, Any]:
    """Give the table at a key, or an empty one."""
    table = owner.get(key) if isinstance(owner, dict) else None
    return table if isinstance(table, dict) else {}


def _step_ns(owner: Any, default_ns: int) -> int:
    """Give a trace's step in ns; a value that is not a duration is refused later, with its key."""
    try:
        step_ns = parse_duration_ns(_table(owner, "trace")["step"])
    except KeyError:
        return default_ns
    except UnitError:
        return default_ns
    return step_ns or default_ns
