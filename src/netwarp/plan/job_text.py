"""The jobs of a cell's runs, written fast: one text, and what each run puts into it.

Runs of a cell differ in name, seeds and random times alone, and a study may have a hundred thousand
of them. So a job is made JSON once for each cell, with slots, and a run fills them. Cells have most
of their jobs in common, too: what is the same object in several is made JSON once.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from typing import Any

from netwarp import wire
from netwarp.fields import DIRECTIONS
from netwarp.once import Once
from netwarp.plan.seeds import numbered
from netwarp.wire import Job
from netwarp.wire.base import Wire

NAME = "name"
EVENTS = "events"
START = "start"
# No text of a job can look like a slot once it is JSON: a backslash of its own is written as two.
_SLOT = re.compile(r'"\\ud800([^"]*)"')
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class JobText:
    """A cell's job as canonical JSON with slots, see `wire.job_to_json`."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        """Take the JSON of the job's keys, in order, for `%`: a slot is written ``%(name)s``."""
        self._fields = fields

    def job_json(self, run: str, values: Mapping[str, int | str]) -> str:
        """Write the job of a run; equal to `wire.job_to_json` of it."""
        return _object(self._fields) % {**values, NAME: json.dumps(run)} + "\n"

    def job_sha256(self, values: Mapping[str, int | str]) -> str:
        """Hash what a run does; equal to `wire.job_sha256` of its job."""
        return sha256((self._measured % values).encode()).hexdigest()

    @cached_property
    def _measured(self) -> str:
        """The job without its name, put together when the first of its runs is hashed."""
        return _object({key: written for key, written in self._fields.items() if key != "run"})


class JobWriter:
    """Writes the jobs of a study's cells."""

    def __init__(self) -> None:
        self._written: Once[str] = Once()
        """Parts of jobs as JSON, which many cells have in common."""

    def text(
        self, template: Job, drawn: Collection[str] = (), places: Sequence[int] = (0,)
    ) -> JobText:
        """Make slots for the name, the seeds, and what `random_times.drawn_slots` names.

        Args:
            template: the job, without what differs from run to run.
            drawn: slots of random times.
            places: of the job's workloads in the study, by which they are seeded.
        """
        timeline, random = template.timeline, EVENTS in drawn
        sampling = template.sampling
        own = {
            "run": f"%({NAME})s",
            "seed": "%(run)s",
            "paths": f"[{','.join(map(self._path, itertools.count(), template.paths))}]",
            "sampling": "null" if sampling is None else _object(self._fields(sampling, {})),
            "timeline": self._written.get(timeline, random, lambda each: _timeline(each, random)),
        }
        if START in drawn:
            own["start_ns"] = f"%({START})s"
        if places[0]:
            own["workload"] = _with_content(template.workload, places[0])
        if template.competing:
            others = zip(template.competing, places[1:], strict=True)
            written = (
                self._competing(each, place, numbered(START, index), drawn)
                for index, (each, place) in enumerate(others, start=1)
            )
            own["competing"] = f"[{','.join(written)}]"
        return JobText(self._fields(template, own))

    def _competing(
        self, one: wire.Competing, place: int, start: str, drawn: Collection[str]
    ) -> str:
        own = {"workload": _with_content(one.workload, place)}
        if start in drawn:
            own["start_ns"] = f"%({start})s"
        return _object(self._fields(one, own))

    def _path(self, index: int, path: wire.Path) -> str:
        own: dict[str, str] = {
            direction: _object(
                self._fields(getattr(path, direction), {"seed": f"%(path{index}{direction})s"})
            )
            for direction in DIRECTIONS
        }
        return _object(self._fields(path, own))

    def _fields(self, table: Wire, own: Mapping[str, str]) -> dict[str, str]:
        """Write a table key by key; of some keys it is given what is written there."""
        values, find = vars(table), self._written.get
        return {
            key: own[key]
            if key in own
            else str(value)  # which takes no longer than to find it
            if type(value := values[key]) is int
            else find(value, None, _with_content)
            for key in _keys(type(table))
        }


@cache
def _keys(table: type[Wire]) -> list[str]:
    return sorted(table.model_fields)


def _object(fields: Mapping[str, str]) -> str:
    written = ",".join([f'"{key}":{value}' for key, value in fields.items()])
    return f"{{{written}}}"


def _timeline(timeline: wire.Timeline, random: bool) -> str:
    table = timeline.model_dump(mode="json")
    if random:
        table["events"] = _slot(EVENTS)
    for redraw in table["redraws"]:
        redraw["seed"] = _slot(f"redraw{redraw['path']}")
    return _with_slots(table)


def _with_content(part: Wire | tuple[()] | str | float | None, place: int = 0) -> str:
    """Write a part of a job; whatever the workload at a place draws is its content."""
    if not isinstance(part, Wire):
        return _with_slots(part)
    table = part.model_dump(mode="json")
    for seeded in _with_seed(table):
        seeded["seed"] = _slot(numbered("content", place))
    return _with_slots(table)


def _with_seed(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "seed" in table:
        yield table
    for value in table.values():
        if isinstance(value, dict):
            yield from _with_seed(value)


def _slot(name: str) -> str:
    return f"\ud800{name}"


def _with_slots(value: object) -> str:
    """Write JSON for `%`, with slots where `_slot` made some."""
    return _SLOT.sub(r"%(\1)s", _canonical(value).replace("%", "%%"))
