"""Reads and writes the file of a baseline: sorted JSON with a line for each cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from netwarp.errors import InputError, ResultError, one_line
from netwarp.metrics import metric_named
from netwarp.output.baseline import Baseline, BaselineCell
from netwarp.regular_files import UnreadableFileError, read_regular_file
from netwarp.run_files import write_text
from netwarp.version import __version__

FORMAT = 1
MOST_BYTES = 64 << 20
"""Maximum size of a baseline file in bytes: some hundred thousand cells."""


_Value = Annotated[FiniteFloat, Field(ge=-1e30, le=1e30)]
"""A value in a baseline. It lies within bounds that no metric exceeds, so that differences stay
finite."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Cell(_Part):
    factors: dict[str, str]
    records_sha256: str | None
    random: list[str] | None
    values: dict[str, list[_Value | None]]


class _File(_Part):
    netwarp_baseline: Literal[1]
    netwarp: str
    study: str
    conditions: dict[str, str]
    relevant: Annotated[FiniteFloat, Field(ge=0)]
    metrics: Annotated[list[str], Field(min_length=1)]
    seeds: list[int]
    cells: Annotated[list[_Cell], Field(min_length=1)]


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline to a file; an earlier file is replaced.

    Raises:
        ResultError: the file cannot be written.
    """
    try:
        write_text(path, baseline_text(baseline))
    except OSError as error:
        raise ResultError(f"cannot write the baseline {path}: {error.strerror}") from None


def baseline_text(baseline: Baseline) -> str:
    """Return a baseline as text: a head, then a line for each cell in the order of its levels."""
    head = {
        "netwarp_baseline": FORMAT,
        "netwarp": __version__,
        "study": baseline.study,
        "metrics": list(baseline.metrics),
        "relevant": baseline.relevant,
        "conditions": dict(sorted(baseline.conditions.items())),
        "seeds": list(baseline.seeds),
    }
    lines = [f" {_json(key)}: {_json(value)}," for key, value in head.items()]
    cells = [
        _json(
            {
                "factors": dict(cell.factors),
                "values": {metric: list(cell.values[metric]) for metric in baseline.metrics},
                "random": None if cell.random is None else list(cell.random),
                "records_sha256": cell.records_sha256,
            }
        )
        for cell in baseline.cells
    ]
    return "\n".join(["{", *lines, ' "cells": [', ",\n".join(f"  {each}" for each in cells),
                      " ]", "}", ""])  # fmt: skip


def read_baseline(path: Path) -> Baseline:
    """Read a baseline from a file.

    Raises:
        InputError: there is no such file, or this version cannot read it.
    """
    try:
        raw = json.loads(read_regular_file(path, MOST_BYTES))
    except UnreadableFileError as error:
        raise InputError(
            f"--baseline {path}: {error.reason}; `netwarp baseline save {path}` makes one"
        ) from None
    except (ValueError, RecursionError) as error:
        raise _no_baseline(path, f"no JSON ({error})") from None
    version = raw.get("netwarp_baseline") if isinstance(raw, dict) else None
    if isinstance(version, int) and version != FORMAT:
        raise InputError(
            f"--baseline {path}: it has format {version}, and this version reads {FORMAT}: save it"
            " anew"
        )
    try:
        return _baseline(_File.model_validate(raw))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _no_baseline(path, f"{where}: {first['msg']}") from None
    except ValueError as error:
        raise _no_baseline(path, str(error)) from None


def _baseline(read: _File) -> Baseline:
    """Convert a baseline from the file's model; raise ValueError if it names an unknown metric."""
    for metric in read.metrics:
        try:
            metric_named(metric)
        except KeyError:
            raise ValueError(f"metrics: there is no {one_line(metric)}") from None
    cells = tuple(
        BaselineCell(
            cell.factors,
            cell.records_sha256,
            None if cell.random is None else tuple(cell.random),
            cell.values,
        )
        for cell in read.cells
    )
    for index, cell in enumerate(cells):
        lengths = {len(values) for values in cell.values.values()}
        if set(cell.values) != set(read.metrics) or len(lengths) != 1:
            raise ValueError(f"cells.{index}: not the same replicates of every metric")
        if not 1 <= lengths.pop() <= len(read.seeds):
            raise ValueError(f"cells.{index}: not as many values as there are seeds")
    if len({frozenset(cell.factors.items()) for cell in cells}) < len(cells):
        raise ValueError("cells: a cell is there twice")
    return Baseline(
        read.study, read.conditions, read.relevant, tuple(read.metrics), tuple(read.seeds), cells
    )


def _no_baseline(path: Path, reason: str) -> InputError:
    return InputError(f"--baseline {path}: not a baseline: {reason}; save it anew")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
