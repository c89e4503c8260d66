"""The jobs of a cell's runs, written fast: one text, and what each run puts into it.

Runs of a cell differ in name, seeds and random times alone, and a study may have a hundred thousand
of them. So a job is made JSON once for each cell, with slots, and a run fills them. Cells have most
of their jobs in common, too: what is the same object in several is made JSON once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from netwarp import wire
from netwarp.once import Once
from netwarp.wire import Job
from netwarp.wire.base import Wire

NAME = "name"
EVENTS = "events"
START = "start"
# No text of a job can look like a slot once it is JSON: a backslash of its own is written as two.
_SLOT = re.compile(r'"\\ud800([^"]*)"')
_KEYS = sorted(Job.model_fields)
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class JobText:
    """A cell's job as canonical JSON with slots, see `wire.job_to_json`."""

    def __init__(self, text: str) -> None:
        """Take the JSON, in which slots are strings that `_slot` made."""
        self._job = tuple(_SLOT.split(text))
        self._measured = _without_name(self._job)

    def job_json(self, run: str, values: Mapping[str, int | str]) -> str:
        """Write the job of a run; equal to `wire.job_to_json` of it."""
        return _filled(self._job, {**values, NAME: json.dumps(run)}) + "\n"

    def job_sha256(self, values: Mapping[str, int | str]) -> str:
        """Hash what a run does; equal to `wire.job_sha256` of its job."""
        return sha256(_filled(self._measured, values).encode()).hexdigest()


class JobWriter:
    """Writes the jobs of a study's cells."""

    def __init__(self) -> None:
        self._written: Once[str] = Once()
        """Parts of jobs as JSON, which many cells have in common."""

    def text(self, template: Job, drawn: Collection[str] = ()) -> JobText:
        """Make slots for the name, the seeds, and what `random_times.drawn_slots` names."""
        slots = {"run": NAME, "seed": "run"}
        if START in drawn:
            slots["start_ns"] = START
        fields = []
        for key in _KEYS:
            value = getattr(template, key)
            if key in slots:
                written = f'"\\ud800{slots[key]}"'
            elif key == "paths":
                written = f"[{','.join(map(_path, range(len(value)), value))}]"
            elif key == "timeline":
                random = EVENTS in drawn
                written = self._written.get(value, random, partial(_timeline, value, random))
            else:
                written = self._written.get(value, None, partial(_with_content, value))
            fields.append(f'"{key}":{written}')
        return JobText(f"{{{','.join(fields)}}}")


def _slot(name: str) -> str:
    return f"\ud800{name}"


def _path(index: int, path: wire.Path) -> str:
    table = path.model_dump(mode="json")
    for direction in ("down", "up"):
        table[direction]["seed"] = _slot(f"path{index}{direction}")
    return _canonical(table)


def _timeline(timeline: wire.Timeline, random: bool) -> str:
    table = timeline.model_dump(mode="json")
    if random:
        table["events"] = _slot(EVENTS)
    for redraw in table["redraws"]:
        redraw["seed"] = _slot(f"redraw{redraw['path']}")
    return _canonical(table)


def _with_content(part: Wire | bool | int) -> str:
    """Write a part of a job; whatever a workload draws is its content."""
    if not isinstance(part, Wire):
        return _canonical(part)
    table = part.model_dump(mode="json")
    for seeded in _with_seed(table):
        seeded["seed"] = _slot("content")
    return _canonical(table)


def _with_seed(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "seed" in table:
        yield table
    for value in table.values():
        if isinstance(value, dict):
            yield from _with_seed(value)


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
