"""The jobs of a cell's runs, written fast: one text, and what each run puts into it.

Runs of a cell differ in name, seeds and random times alone, and a study may have a hundred thousand
of them. So a job is made JSON once for each cell, with slots, and a run fills them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from typing import Any

from netwarp.wire import Job

# No text of a job can look like a slot once it is JSON: a backslash of its own is written as two.
_SLOT = '"\\ud800{}"'
NAME = "name"
EVENTS = "events"
START = "start"


class JobText:
    """A cell's job as canonical JSON with slots, see `wire.job_to_json`."""

    def __init__(self, template: Job, drawn: Collection[str] = ()) -> None:
        """Make slots for the name, the seeds, and what `random_times.drawn_slots` names."""
        content = template.model_dump(mode="json")
        if EVENTS in drawn:
            content["timeline"]["events"] = f"\ud800{EVENTS}"
        if START in drawn:
            content["start_ns"] = f"\ud800{START}"
        for slot, table in _seeds(content):
            table["seed"] = f"\ud800{slot}"
        content["run"] = f"\ud800{NAME}"
        self._job = _split(content)
        self._measured = _without_name(self._job)

    def job_json(self, run: str, values: Mapping[str, int | str]) -> str:
        """Write the job of a run; equal to `wire.job_to_json` of it."""
        return _filled(self._job, {**values, NAME: json.dumps(run)}) + "\n"

    def job_sha256(self, values: Mapping[str, int | str]) -> str:
        """Hash what a run does; equal to `wire.job_sha256` of its job."""
        return sha256(_filled(self._measured, values).encode()).hexdigest()


def _seeds(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Find the tables that have a seed, and name their slots as `replicate_seeds` does."""
    yield "run", content
    for index, path in enumerate(content["paths"]):
        yield f"path{index}down", path["down"]
        yield f"path{index}up", path["up"]
    for redraw in content["timeline"]["redraws"]:
        yield f"redraw{redraw['path']}", redraw
    # Whatever a workload draws is its content.
    yield from (("content", table) for table in _with_seed(content["workload"]))


def _with_seed(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "seed" in table:
        yield table
    for value in table.values():
        if isinstance(value, dict):
            yield from _with_seed(value)


def _split(content: dict[str, Any]) -> tuple[str, ...]:
    """Write canonical JSON, cut at its slots: text, slot, text, …, text."""
    rest = json.dumps(content, sort_keys=True, separators=(",", ":"))
    opening, closing = _SLOT.split("{}")
    parts = []
    while opening in rest:
        before, _, rest = rest.partition(opening)
        slot, _, rest = rest.partition(closing)
        parts += [before, slot]
    return (*parts, rest)


def _without_name(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the key `run` with its slot; it is never the last key, so a comma follows."""
    at = parts.index(NAME)
    before, after = parts[at - 1], parts[at + 1]
    joined = before.removesuffix('"run":') + after.removeprefix(",")
    return (*parts[: at - 1], joined, *parts[at + 2 :])


def _filled(parts: tuple[str, ...], values: Mapping[str, int | str]) -> str:
    filled = list(parts)
    filled[1::2] = [str(values[slot]) for slot in parts[1::2]]
    return "".join(filled)
