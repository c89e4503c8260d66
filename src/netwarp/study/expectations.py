"""The expectations of a study: bounds that its results must meet, each read from one line."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pydantic import Field

from netwarp.fields import KeyValueError, Section
from netwarp.metrics import METRICS, metric_named, possible_metrics
from netwarp.study.cells.design import Cell
from netwarp.study.cells.factors import Factor
from netwarp.study.figures import Levels, refuse_unknown_metric, resolve_levels
from netwarp.suggestions import did_you_mean
from netwarp.units import UnitError, parse_value

Relation = Literal["<", "<=", ">", ">="]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
_SPELLED = {"≤": "<=", "≥": ">="}
_COMPARED = re.compile(r"(.*?)(<=|>=|≤|≥|<|>)(.*)", re.DOTALL)
_EXAMPLES = "such as tcp.completion_time_s < 2.5 s, or quic / tcp: completion_time_s <= 1.1"


class Expect(Section):
    """A bound that the results have to keep in every condition. `that` is one line:
    `tcp.completion_time_s < 2.5 s` bounds the mean of the cells that have a level (without one, of
    all cells), `quic / tcp: completion_time_s <= 1.1` the ratio of two. It holds, does not hold or
    is undecided, and the exit status says which ([expectations](testing.md#expectations)).
    """

    that: str
    """The bound: `[LEVEL.]METRIC RELATION VALUE`, or `LEVEL / LEVEL: METRIC RELATION RATIO`, and
    after it `where FACTOR=LEVEL, …`. A level is `tcp` or `path.loss=1%`; a relation is one of `<`,
    `<=`, `>`, `>=`; a value has its unit."""
    where: Levels = Field(default_factory=dict)
    """Levels of the cells to which the bound applies, by factor, as after `where` in the line. The
    bound must hold in every combination of the other factors' levels."""


@dataclass(frozen=True)
class Expectation:
    """A bound on a metric's mean, or on the ratio of two cells, in every condition."""

    text: str
    """The expectation as it was written, in one line."""
    metric: str
    of: Mapping[str, str]
    """Levels of the cells to which the bound applies, by factor; empty for all cells."""
    against: Mapping[str, str] | None
    """For a ratio, the levels of the cells in the denominator, of the same factors."""
    relation: Relation
    bound: float
    """The bound in the metric's unit; for a ratio, a plain number."""
    where: Mapping[str, str]
    """Levels that all cells must have to which the expectation applies."""
    place: str
    """The key of the study, or the option, that has the expectation."""

    @property
    def is_upper(self) -> bool:
        """Whether values must be below the bound."""
        return self.relation in ("<", "<=")

    @property
    def is_strict(self) -> bool:
        """Whether a value equal to the bound violates it."""
        return self.relation in ("<", ">")


def checked_expectations(
    written: Sequence[Expect],
    factors: Sequence[Factor],
    own_metrics: Collection[str] = (),
    cells: Sequence[Cell] = (),
) -> tuple[Expectation, ...]:
    """Check and return the expectations of a study file.

    Args:
        written: the expectations in the order of the file.
        factors: the study's factors.
        own_metrics: metrics that the study itself defines.
        cells: the study's cells.

    Raises:
        KeyValueError: one cannot be read, or names something that the study does not have.
    """
    found = []
    for index, each in enumerate(written):
        key = f"expect.{index}"
        read = parse_expectation(each.that, factors, own_metrics, f"{key}.that")
        where = resolve_levels(each.where, factors, f"{key}.where")
        _refuse_twice(where, {**read.of, **read.where}, f"{key}.where")
        text = read.text + (_where_text(where, read) if where else "")
        whole = replace(read, text=text, where={**read.where, **where})
        refuse_impossible_metric(whole, cells)
        found.append(whole)
    return tuple(found)


def refuse_impossible_metric(said: Expectation, cells: Sequence[Cell]) -> None:
    """Refuse an expectation on a metric that none of its cells can have; for a ratio, none of the
    cells on one side.

    Raises:
        KeyValueError: no cell can have the metric, so that no run could meet the expectation.
    """
    for side in (said.of, *(() if said.against is None else (said.against,))):
        wanted = {**said.where, **side}
        named = [cell for cell in cells if wanted.items() <= cell.levels.items()]
        if named and not any(said.metric in possible_metrics(cell.template) for cell in named):
            there = dict.fromkeys(
                name for cell in named for name in possible_metrics(cell.template)
            )
            of = ", ".join(f"{factor}={level}" for factor, level in wanted.items())
            reason = f"no run{f' of {of}' if of else ''} can have {said.metric}"
            raise KeyValueError(said.place, said.text, reason, f"there are: {', '.join(there)}")


def parse_expectation(
    text: str, factors: Sequence[Factor], own_metrics: Collection[str], key: str
) -> Expectation:
    """Parse an expectation, which is one line of text.

    Args:
        text: see :class:`Expect`.
        factors: the study's factors.
        own_metrics: metrics that the study itself defines.
        key: where it was written.

    Raises:
        KeyValueError: the line is not an expectation, or names something that the study does not
            have.
    """
    text = " ".join(text.split())
    said, _, selection = text.partition(" where ")
    compared = _COMPARED.fullmatch(said)
    if compared is None:
        reason = "there is no <, <=, > or >=, so nothing is bounded"
        raise KeyValueError(key, text, reason, _EXAMPLES)
    left, sign, value = (part.strip() for part in compared.groups())
    relation = next(each for each in RELATIONS if each == _SPELLED.get(sign, sign))
    names, colon, metric = (part.strip() for part in left.rpartition(":"))
    against = None
    if colon:
        refuse_unknown_metric(metric, key, own_metrics)
        of, against = _two_levels(names, factors, key)
    else:
        of, metric = _level_and_metric(left, factors, own_metrics, key)
    where = _selection(selection, factors, key)
    _refuse_twice(where, of, key)
    bound = _value(value, "" if colon else metric_named(metric).unit, key, text)
    if colon and bound <= 0:
        raise KeyValueError(key, text, "a ratio is above 0", "such as <= 1.1, or <= 110 %")
    return Expectation(text, metric, of, against, relation, bound, where, key)


def _level_and_metric(
    left: str, factors: Sequence[Factor], own_metrics: Collection[str], key: str
) -> tuple[Mapping[str, str], str]:
    """Split ``tcp.completion_time_s`` into level and metric; both may contain dots."""
    if left in METRICS or left in own_metrics:
        return {}, left
    for dot in (at for at, each in enumerate(left) if each == "."):
        level, metric = left[:dot].strip(), left[dot + 1 :].strip()
        if metric in METRICS or metric in own_metrics:
            return _level(level, factors, key), metric
    if re.search(r"\s/\s", left):
        reason = "a ratio has a colon before its metric"
        raise KeyValueError(key, left, reason, "such as quic / tcp: completion_time_s")
    level, _, metric = left.rpartition(".")
    refuse_unknown_metric(metric, key, own_metrics)
    raise KeyValueError(key, left, "not a metric of this study", did_you_mean(metric, own_metrics))


def _two_levels(
    text: str, factors: Sequence[Factor], key: str
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    names = [part.strip() for part in re.split(r"\s+/\s+", text)]
    if len(names) != 2:
        names = [part.strip() for part in text.split("/")]
    if len(names) != 2 or not all(names):
        raise KeyValueError(key, text, "a ratio is of two levels", "such as quic / tcp")
    first, second = (_level(name, factors, key) for name in names)
    if set(first) != set(second):
        named = " and ".join(factor for each in (first, second) for factor in each)
        raise KeyValueError(key, text, f"levels of two factors: {named}", "compare two of one")
    if first == second:
        raise KeyValueError(key, text, "both are the same level", "such as quic / tcp")
    return first, second


def _level(name: str, factors: Sequence[Factor], key: str) -> Mapping[str, str]:
    """Return the factor and the level that a text names: ``tcp``, or ``path.loss=1%``."""
    factor, equals, level = (part.strip() for part in name.partition("="))
    if equals:
        return resolve_levels({factor: level}, factors, key)
    found = {each.key: known.label for each in factors if (known := each.find(name)) is not None}
    if len(found) > 1:
        reason = f"{name} is a level of {' and '.join(found)}"
        raise KeyValueError(key, name, reason, f"write {next(iter(found))}={name}")
    if not found:
        labels = [level.label for each in factors for level in each.levels]
        remedy = did_you_mean(name, labels) if labels else "write the metric alone"
        raise KeyValueError(key, name, "not a level of any factor of this study", remedy)
    return found


def _selection(text: str, factors: Sequence[Factor], key: str) -> Mapping[str, str]:
    """Parse the levels after ``where``."""
    found: dict[str, str] = {}
    for part in text.split(",") if text else ():
        factor, equals, level = (each.strip() for each in part.partition("="))
        if not equals:
            reason = f"{part.strip()} is not FACTOR=LEVEL"
            raise KeyValueError(key, text, reason, "such as where path.loss=1%, path.rtt=100ms")
        levels = resolve_levels({factor: level}, factors, key)
        _refuse_twice(levels, found, key)
        found |= levels
    return found


def _refuse_twice(where: Mapping[str, str], named: Mapping[str, str], key: str) -> None:
    if both := where.keys() & named.keys():
        reason = f"{min(both)} is said twice"
        raise KeyValueError(key, dict(where), reason, "keep it in one place")


def _where_text(where: Mapping[str, str], read: Expectation) -> str:
    listed = ", ".join(f"{factor}={level}" for factor, level in where.items())
    return f"{', ' if read.where else ' where '}{listed}"


def _value(text: str, unit: str, key: str, whole: str) -> float:
    """Parse the bound. For a ratio it has no unit, and may be a percentage."""
    try:
        if not unit and text.endswith("%"):
            return parse_value(text, "ratio")
        return parse_value(text, unit)
    except UnitError as error:
        reason = f"the bound {json.dumps(text, ensure_ascii=False)} cannot be read: {error.reason}"
        raise KeyValueError(key, whole, reason, error.remedy) from None
