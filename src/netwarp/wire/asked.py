"""Determines which features a job requires of its backend, from the job's fields. Pure.

Backends list the features that they support and refuse the rest, so a new field is refused by every
backend until it lists the field.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, get_type_hints

from netwarp.wire.base import DETAIL, INSIDE, Asks, Direction, Wire
from netwarp.wire.job import Job
from netwarp.wire.path import Impairments

SEVERAL_PATHS, SEVERAL_WORKLOADS = "paths", "workloads"
KIND = "kind"
"""Name of the field that distinguishes alternative models, such as kinds of loss."""
WAYS: dict[Direction, str] = {"down": "server to client", "up": "client to server"}
"""The two directions of a path, in words."""


class Asked(NamedTuple):
    """A feature that a job requires of its backend, such as a delay or random loss."""

    feature: str
    """The field that requires the feature, such as `delay_ns`, or `reorder.ratio` for a field of a
    nested object. A choice is part of it: `loss.gemodel`, `discipline.codel`.
    """
    words: str
    """The feature in words: "a delay"."""
    direction: Direction | None = None
    """The direction of a path whose packets the feature affects; None for features that affect no
    direction.
    """
    path: int | None = None
    """The number of the path, from 1, if the job has several; otherwise None."""

    def __str__(self) -> str:
        """Return the feature in words, with its direction and its path."""
        place = [f"path {self.path}"] if self.path is not None else []
        place += [WAYS[self.direction]] if self.direction is not None else []
        return f"{self.words} ({', '.join(place)})" if place else self.words


def asked(job: Job) -> list[Asked]:
    """Return all features that a job requires, except hosts, links, and the workload itself."""
    several = len(job.paths) > 1
    found: list[Asked] = []
    for number, path in enumerate(job.paths, 1):
        at = number if several else None
        for direction in WAYS:
            found += asked_of_direction(getattr(path, direction), direction, at)
        found += [
            Asked(feature, words, None, at)
            for feature, words in _features(path, leaving_out=tuple(WAYS))
        ]
    if several and job.network is None:
        found.append(Asked(SEVERAL_PATHS, "several paths"))
    if len(job.workloads) > 1:
        found.append(Asked(SEVERAL_WORKLOADS, "several workloads"))
    own = _features(job, leaving_out=(SEVERAL_PATHS, SEVERAL_WORKLOADS))
    return found + [Asked(feature, words) for feature, words in own]


def asked_of_direction(
    impairments: Impairments, direction: Direction, path: int | None = None
) -> list[Asked]:
    """Return the features that are required of one direction of a path."""
    return [Asked(feature, words, direction, path) for feature, words in _features(impairments)]


def _features(
    model: Wire, inside: str = "", words: str = "", leaving_out: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    """Return the features that an object in a job requires, each with its description in words.

    Args:
        model: the object, whose fields and nested objects are examined.
        inside: the prefix of the features' names.
        words: the words for the field that contains the object, for a choice that has no words
            itself.
        leaving_out: fields that the caller examines itself.
    """
    found = []
    for name, asks in _fields(type(model)):
        value = getattr(model, name)
        if not value or name in leaving_out:
            continue
        if name == KIND:
            if value != "none":
                found.append((f"{inside}{value}", asks.words or words))
            continue
        feature, said = f"{inside}{name}", asks.words or ""
        parts = value if isinstance(value, tuple) else (value,)
        held = [part for part in parts if isinstance(part, Wire)]
        if isinstance(value, str):
            if value != asks.neutral:
                found.append((f"{feature}.{value}", said))
        elif said and not any(KIND in type(part).model_fields for part in held):
            found.append((feature, said))
        for part in held:
            found += _features(part, f"{feature}.", said)
    return found


@cache
def _fields(model: type[Wire]) -> tuple[tuple[str, Asks], ...]:
    """Return the fields of a model that may require a feature, in their order."""
    hints = get_type_hints(model, include_extras=True)
    found = []
    for name in model.model_fields:
        marks = getattr(hints[name], "__metadata__", ())
        unmarked = INSIDE if name == KIND else Asks(name.replace("_", " "))
        asks = next((mark for mark in marks if isinstance(mark, Asks)), unmarked)
        if asks is not DETAIL:
            found.append((name, asks))
    return tuple(found)
