"""The interop grid in the format of the QUIC interop runner (`interop.py`, `_export_results`), and
what changed since an earlier grid.

Each field has a key `netwarp` in addition, with its reason, its loss patterns, and the runs that
failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from netwarp.errors import InputError
from netwarp.interop.grid import Field, Grid
from netwarp.interop_cases import CASES, CaseName
from netwarp.regular_files import UnreadableFileError, read_regular_file
from netwarp.version import __version__

QUIC_VERSION = "0x1"
MEASUREMENTS: frozenset[CaseName] = frozenset({"goodput"})
"""The cases that the runner lists as measurements."""
MOST_BYTES = 64 << 20


def runner_json(grid: Grid, log_dir: Path) -> dict[str, Any]:
    """Return the grid in the interop runner's format.

    Args:
        grid: the grid.
        log_dir: the directory with the runs, whose files have the times at which the first run
            began and the last was judged.
    """
    asked = grid.asked
    times_s = [each.stat().st_mtime for each in log_dir.glob("*/provenance.json")]
    ends_s = [each.stat().st_mtime for each in log_dir.glob("*.json")]
    tests = [case for case in asked.cases if case not in MEASUREMENTS]
    measured = [case for case in asked.cases if case in MEASUREMENTS]
    return {
        "start_time": min(times_s, default=0.0),
        "end_time": max(ends_s, default=0.0),
        "log_dir": str(log_dir),
        "servers": list(asked.servers),
        "clients": list(asked.clients),
        "urls": dict.fromkeys(dict.fromkeys((*asked.clients, *asked.servers)), ""),
        "tests": {
            CASES[case].abbreviation: {"name": case, "desc": CASES[case].shows}
            for case in asked.cases
        },
        "quic_version": QUIC_VERSION,
        "results": [[_entry(grid.field(*pair, case)) for case in tests] for pair in asked.pairs],
        "measurements": [
            [_measurement(grid.field(*pair, case)) for case in measured] for pair in asked.pairs
        ],
        "netwarp": {
            "version": __version__,
            "seed": asked.seed,
            "seeds": asked.seeds,
            "versions": {name: stack.version for name, stack in asked.stacks.items()},
        },
    }


def _entry(field: Field) -> dict[str, Any]:
    """Return one field in the interop runner's format, with what netwarp adds to it."""
    return {
        "abbr": CASES[field.case].abbreviation,
        "name": field.case,
        "result": field.result,
        "netwarp": {
            "reason": field.reason,
            "patterns": len(field.runs),
            "failed": [
                {"pattern": run.pattern, "run": run.run, "reason": run.wrong}
                for run in field.failed
            ],
        },
    }


def _measurement(field: Field) -> dict[str, Any]:
    return {**_entry(field), "details": details(field)}


def details(field: Field) -> str:
    """Return the mean goodput and its deviation as text in the interop runner's format; "" if there
    is none.
    """
    values = field.kbit_s
    if not values:
        return ""
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return f"{mean:.0f} (± {deviation:.0f}) kbps"


def read_results(path: Path) -> dict[tuple[str, str, str], str]:
    """Return the results of a grid, the runner's own or netwarp's, by client, server and case.

    Raises:
        InputError: the file cannot be read, or is not such a grid.
    """
    try:
        text = read_regular_file(path, MOST_BYTES).decode()
        found = json.loads(text)
        return dict(_results(found))
    except UnreadableFileError as error:
        raise InputError(f"{path}: {error.reason}") from None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{path}: not a result of the interop runner: {error!r}") from None


def _results(found: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield the results in the interop runner's JSON, each by client, server and test case."""
    clients, servers = found["clients"], found["servers"]
    pairs = [(client, server) for client in clients for server in servers]
    for kind in ("results", "measurements"):
        for (client, server), entries in zip(pairs, found[kind], strict=True):
            for entry in entries:
                if entry["result"] is not None:
                    yield (client, server, entry["name"]), entry["result"]


def changes(before: Mapping[tuple[str, str, str], str], grid: Grid) -> list[tuple[Field, str]]:
    """Return the fields whose result is different from that in an earlier grid, each with the
    earlier result. Fields that the earlier grid does not have are left out.
    """
    return [
        (field, was)
        for key, field in grid.fields.items()
        if (was := before.get(key)) is not None and was != field.result
    ]
