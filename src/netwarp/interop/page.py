"""The interop grid as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netwarp.interop.grid import Field, Grid
from netwarp.interop.runner_json import details
from netwarp.interop.wording import ABBREVIATIONS, facts, repeat_command
from netwarp.interop_cases import CASES, NOT_CARRIED_OUT
from netwarp.report.templates import render_page

MARKS = {"succeeded": "✓", "failed": "✕", "unsupported": "?"}
"""Marks with which the QUIC interop runner shows the outcome of a test."""


def render(grid: Grid, out: Path, changed: Sequence[tuple[Field, str]]) -> str:
    """Return the grid as an HTML page.

    Args:
        grid: the grid.
        out: the directory with the runs, for the commands that repeat one of them.
        changed: the fields that were different in an earlier grid, with the result there.
    """
    asked = grid.asked
    return render_page(
        "interop.html",
        has_charts=False,
        facts=facts(grid),
        clients=asked.clients,
        servers=asked.servers,
        rows=[
            (client, [_fields(grid, client, server) for server in asked.servers])
            for client in asked.clients
        ],
        cases=[(CASES[name].abbreviation, name, CASES[name].shows) for name in asked.cases],
        left_out=[(short, name, why) for name, (short, why) in NOT_CARRIED_OUT.items()],
        failures=[_failure(field, out, grid) for field in _wrong(grid)],
        unsupported=_unsupported(grid),
        changed=[(field, was) for field, was in changed],
    )  # fmt: skip


def _fields(grid: Grid, client: str, server: str) -> list[dict[str, Any]]:
    """Return what the page shows of a pair's fields, one for each case, as values for its
    template.
    """
    return [
        {
            "id": _id(field),
            "mark": MARKS[field.result],
            "result": field.result,
            "short": ABBREVIATIONS[field.case],
            "title": f"{field.case}: {field.reason or details(field) or field.result}",
            "share": field.share if field.failed and len(field.runs) > 1 else None,
        }
        for field in (grid.field(client, server, case) for case in grid.asked.cases)
    ]


def _id(field: Field) -> str:
    return f"{field.client}-{field.server}-{field.case}"


def _wrong(grid: Grid) -> list[Field]:
    return [field for field in grid.fields.values() if field.result == "failed"]


def _failure(field: Field, out: Path, grid: Grid) -> dict[str, Any]:
    """Return what the page shows of a failed field, with the command that repeats it, as values for
    its template.
    """
    return {
        "id": _id(field),
        "client": field.client,
        "server": field.server,
        "case": field.case,
        "reason": field.reason,
        "command": repeat_command(field, out, grid.asked) if field.failed else None,
    }


def _unsupported(grid: Grid) -> list[tuple[str, str]]:
    """Return the reasons why fields are not supported, each with its fields as text."""
    by_reason: dict[str, list[str]] = {}
    for field in grid.fields.values():
        if field.result == "unsupported":
            pair = f"{field.case} ({field.client} to {field.server})"
            by_reason.setdefault(str(field.reason), []).append(pair)
    return [(reason, ", ".join(fields)) for reason, fields in by_reason.items()]
