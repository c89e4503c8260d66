"""Makes the jobs of a cell's runs as JSON: one text with slots for the cell, and values for each
run.

Runs of a cell differ only in name, seeds and random times, and a study may have a hundred thousand
of them. So a job is serialised once for each cell, with slots that each run fills. Most parts of a
job are the same object in several cells; such a part is serialised once, too.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from typing import Any

from netwarp import wire
from netwarp.fields import DIRECTIONS
from netwarp.plan.seeds import numbered
from netwarp.shared_values import SharedValues
from netwarp.wire import Job
from netwarp.wire.base import Wire

NAME = "name"
EVENTS = "events"
START = "start"
# No text in a job can look like a slot in its JSON: JSON writes a backslash in a text as two.
_SLOT = re.compile(r'"\\ud800([^"]*)"')
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class JobText:
    """A cell's job as canonical JSON (`wire.job_to_json`), with slots for values that differ from
    run to run.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        """Store the JSON of each key's value as a format for `%`, in which a slot is
        ``%(name)s``.
        """
        self._fields = fields

    def job_json(self, run: str, values: Mapping[str, int | str]) -> str:
        """Return the job of a run as text, which equals `wire.job_to_json` of the job."""
        return _object(self._fields) % {**values, NAME: json.dumps(run)} + "\n"

    def job_sha256(self, values: Mapping[str, int | str]) -> str:
        """Return the hash of a run's job without its name, which equals `wire.job_sha256` of the
        job.
        """
        return sha256((self._measured % values).encode()).hexdigest()

    @cached_property
    def _measured(self) -> str:
        """The job's text without the run's name, from which `job_sha256` is computed."""
        return _object({key: written for key, written in self._fields.items() if key != "run"})


class JobWriter:
    """Makes the jobs of a study's cells as texts."""

    def __init__(self) -> None:
        self._written: SharedValues[str] = SharedValues()
        """JSON of the parts of jobs that several cells share."""

    def text(
        self, template: Job, drawn: Collection[str] = (), places: Sequence[int] = (0,)
    ) -> JobText:
        """Return a job as text with slots for the name, the seeds, and the random times.

        Args:
            template: the cell's job, without the values that differ from run to run.
            drawn: names of the slots for random times, as `random_times.drawn_slots` returns them.
            places: index in the study of each of the job's workloads, on which their seeds depend.
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
        exchanges = enumerate(zip(template.workloads, places, strict=True))
        written = (
            self._exchange(each, place, numbered(START, index), drawn)
            for index, (each, place) in exchanges
        )
        own["workloads"] = f"[{','.join(written)}]"
        return JobText(self._fields(template, own))

    def _exchange(self, one: wire.Exchange, place: int, start: str, drawn: Collection[str]) -> str:
        own = {"workload": _with_content(one.workload, place)} if place else {}
        if start in drawn:
            own["start_ns"] = f"%({start})s"
        return _object(self._fields(one, own))

    def _path(self, index: int, path: wire.Path) -> str:
        """Return a path as JSON, with a slot for the seed of each direction."""
        own: dict[str, str] = {
            direction: _object(
                self._fields(getattr(path, direction), {"seed": f"%(path{index}{direction})s"})
            )
            for direction in DIRECTIONS
        }
        return _object(self._fields(path, own))

    def _fields(self, table: Wire, own: Mapping[str, str]) -> dict[str, str]:
        """Return the values of a table as JSON, by key; for the keys in `own`, their text there."""
        values, find = vars(table), self._written.get
        return {
            key: own[key]
            if key in own
            else str(value)  # as fast as looking it up
            if type(value := values[key]) is int
            else find(value, None, _with_content)
            for key, usual in _keys(type(table))
            if values[key] != usual
        }


@cache
def _keys(table: type[Wire]) -> list[tuple[str, object]]:
    """Return a table's keys, each with the default value at which it is left out of a job; for a
    key without one, an object that equals no value.
    """
    fields = sorted(table.model_fields.items())
    return [(key, object() if each.is_required() else each.default) for key, each in fields]


def _object(fields: Mapping[str, str]) -> str:
    written = ",".join([f'"{key}":{value}' for key, value in fields.items()])
    return f"{{{written}}}"


def _timeline(timeline: wire.Timeline, random: bool) -> str:
    """Return a timeline as JSON, with slots for what is random in it."""
    table = timeline.to_json()
    if random:
        table["events"] = _slot(EVENTS)
    for redraw in table["redraws"]:
        redraw["seed"] = _slot(f"redraw{redraw['path']}")
    return _with_slots(table)


def _with_content(part: Wire | tuple[()] | str | float | None, place: int = 0) -> str:
    """Return a part of a job as JSON, with a slot for the content seed of the workload with index
    `place`.
    """
    if not isinstance(part, Wire):
        return _with_slots(part)
    table = part.to_json()
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
    """Return a value as JSON that is a format for `%`, with the slots that `_slot` marked."""
    return _SLOT.sub(r"%(\1)s", _canonical(value).replace("%", "%%"))
