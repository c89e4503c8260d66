"""Factors and their levels, and the cells they span."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from netwarp.errors import StudyError
from netwarp.study.cells.association import refuse_lost_associations
from netwarp.study.cells.conditions import Conditions, LimitsSection
from netwarp.study.cells.sizing import buffer_bytes, limit_packets, shaper_queue_bytes
from netwarp.study.sections.diagnose import Display, did_you_mean, keys_of, study_error
from netwarp.study.sections.fields import KeyValueError, Section
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.timeline import (
    HandoversSection,
    OutagesSection,
    RedrawSection,
    TraceSection,
)
from netwarp.study.sections.transport import (
    KINDS,
    TransportOptions,
    TransportSection,
    merge_transport,
)
from netwarp.study.sections.workload import OF_ONE_RULE, WorkloadSection
from netwarp.wire import Direction

SECTIONS: Mapping[str, type[Section]] = {
    "path": PathSection,
    "transport": TransportSection,
    "workload": WorkloadSection,
    "limits": LimitsSection,
}
NESTED: Mapping[str, type[Section]] = {
    "path.second": SinglePath,
    "path.second.redraw": RedrawSection,
    "path.redraw": RedrawSection,
    "path.handovers": HandoversSection,
    "path.outages": OutagesSection,
    "path.trace": TraceSection,
    "path.second.trace": TraceSection,
}
"""Tables in a section whose keys can vary as well."""
DIRECTIONS: tuple[Direction, ...] = ("down", "up")
MOST_CELLS = 100_000


@dataclass(frozen=True)
class Level:
    """One value of a factor."""

    label: str
    """As the study writes it, or the label of a table."""
    value: Any
    """As the study has it: text, number or table."""


@dataclass(frozen=True)
class Factor:
    """What is varied, and its levels in the order of the study."""

    key: str
    levels: tuple[Level, ...]

    def find(self, value: Any) -> Level | None:
        """Find the level a user means: ``5%`` and ``5 %`` are the same."""
        wanted = _squeezed(value)
        return next((level for level in self.levels if _squeezed(level.label) == wanted), None)


@dataclass(frozen=True)
class Cell:
    """One combination of levels."""

    index: int
    """Place in the full study: filters do not change it."""
    levels: Mapping[str, str]
    """Label of each factor's level, by the factor's key."""
    conditions: Conditions


@dataclass(frozen=True)
class Design:
    """All factors and all cells of a study."""

    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]


def build_design(raw: Mapping[str, Any], file: str, display: Display = str) -> Design:
    """Build every cell of a study completely: what is wrong is said before anything runs.

    Args:
        raw: the study file's tables.
        file: for messages.
        display: translates dotted keys in messages.

    Raises:
        StudyError: a factor, level or combination that cannot be run.
    """
    levels = {
        key: _levels(key, values, file, display) for key, values in raw.get("factors", {}).items()
    }
    _refuse_unused_options(raw, levels, file)
    if math.prod(len(of_one) for of_one in levels.values()) > MOST_CELLS:
        raise StudyError(
            f"the factors make more than {MOST_CELLS} cells",
            file=file,
            key="factors",
            remedy="drop levels, or make two studies of it",
        )
    cells = []
    for index, combination in enumerate(itertools.product(*levels.values())):
        chosen = dict(zip(levels, combination, strict=True))
        conditions = _conditions(raw, chosen, file, display)
        labels = {key: level.label for key, level in chosen.items()}
        cells.append(Cell(index, labels, conditions))
    _refuse_unused_rules(raw, cells, file, display)
    factors = tuple(Factor(key, of_one) for key, of_one in levels.items())
    return Design(factors, tuple(cells))


def _levels(key: str, values: Any, file: str, display: Display) -> tuple[Level, ...]:
    shown = display(factor_key(key))
    _refuse_unknown_factor(key, shown, file)
    if not isinstance(values, list) or not values:
        raise StudyError(
            "a factor is a list of at least one level",
            file=file,
            key=shown,
            value=values,
            remedy='write a list, such as ["tcp", "quic"]',
        )
    levels = tuple(Level(_label(key, value, shown, file), value) for value in values)
    seen: set[str] = set()
    for level in levels:
        if _squeezed(level.label) in seen:
            raise StudyError(
                "the same level twice",
                file=file,
                key=shown,
                value=level.label,
                remedy='drop one, or tell tables apart with label = "…"',
            )
        seen.add(_squeezed(level.label))
    return levels


def _refuse_unknown_factor(key: str, shown: str, file: str) -> None:
    if key == "transport":
        return
    section, _, name = key.partition(".")
    known = [
        f"{table}.{option}"
        for table, model in {**SECTIONS, **NESTED}.items()
        for option in keys_of(model)
        if table != "limits" and option not in (*KINDS, "kind", "timeline", "step")
    ]
    known = [option for option in known if option not in NESTED]
    if section == "transport" and name.split(".")[0] in KINDS:
        remedy = 'vary one transport by levels: transport = [{ kind = "tcp", label = "…", … }]'
        raise StudyError(
            "an option of one transport cannot vary", file=file, key=shown, remedy=remedy
        )
    if key not in known:
        remedy = did_you_mean(key, ["transport", *known])
        raise StudyError(
            "there is nothing of this name to vary", file=file, key=shown, remedy=remedy
        )


def _label(key: str, value: Any, shown: str, file: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, dict):
        return str(value)
    label = value.get("label")
    if key != "transport" or (isinstance(label, str) and label):
        return str(label) if label else " ".join(f"{k} {v}" for k, v in value.items())
    raise StudyError(
        "a table as level needs a label",
        file=file,
        key=shown,
        value=value,
        remedy='add label = "…", the name in figures and tables',
    )


def _refuse_unused_options(
    raw: Mapping[str, Any], levels: Mapping[str, tuple[Level, ...]], file: str
) -> None:
    section = raw.get("transport", {})
    if not isinstance(section, Mapping):
        return
    named = [
        level.value.get("kind") if isinstance(level.value, dict) else level.value
        for level in levels.get("transport", ())
    ] or [section.get("kind")]
    used = {kind for kind in named if isinstance(kind, str)}
    for kind in KINDS:
        if kind in section and kind not in used:
            raise StudyError(
                f"the study does not use {kind}",
                file=file,
                key=f"transport.{kind}",
                value=section[kind],
                remedy="drop the table, or add the transport",
            )
        if kind in section:
            _validate_options(section[kind], f"transport.{kind}", file)


def _refuse_unused_rules(
    raw: Mapping[str, Any], cells: Sequence[Cell], file: str, display: Display
) -> None:
    used = {cell.conditions.workload.rule for cell in cells}
    for name, rule in OF_ONE_RULE.items():
        key = f"workload.{name}"
        value = raw.get("factors", {}).get(key, raw.get("workload", {}).get(name))
        if value is not None and rule not in used:
            raise StudyError(
                f"no rule of the study uses it ({', '.join(sorted(used))})",
                file=file,
                key=display(factor_key(key) if key in raw.get("factors", {}) else key),
                value=value,
                remedy=f'drop it, or choose rule = "{rule}"',
            )


def _validate_options(table: Any, key: str, file: str) -> None:
    def shown(option: str) -> str:
        return f"{key}.{option}" if option else key

    try:
        TransportOptions.model_validate(table)
    except ValidationError as error:
        raise study_error(error, TransportOptions, table, file, shown) from None


def _conditions(
    raw: Mapping[str, Any], chosen: Mapping[str, Level], file: str, display: Display
) -> Conditions:
    tables, transport_level, origins = _apply_levels(raw, chosen, file, display)

    def shown(key: str) -> str:
        return origins.get(key) or display(key)

    try:
        by_option = {
            key.removeprefix("transport."): origin
            for key, origin in origins.items()
            if key.startswith("transport.")
        }
        merged = merge_transport(tables["transport"], transport_level, by_option)
    except KeyValueError as error:
        wrong = KeyValueError(f"transport.{error.key}", error.value, error.reason, error.remedy)
        raise study_error(wrong, Conditions, tables, file, display) from None
    if "kind" not in merged.options:
        raise StudyError(
            "no transport is named",
            file=file,
            key=display("factors.transport"),
            remedy='add [factors] transport = ["tcp", "quic"], or [transport] kind = "tcp"',
        )
    tables["transport"] = dict(merged.options)
    for option, origin in merged.origins.items():
        origins.setdefault(f"transport.{option}", display(origin))
    try:
        conditions = Conditions.model_validate(tables)
        for index in range(len(conditions.paths)):
            for direction in DIRECTIONS:
                limit_packets(conditions, direction, index)
                shaper_queue_bytes(conditions, direction, index)
        buffer_bytes(conditions)
        refuse_lost_associations(conditions)
    except (ValidationError, KeyValueError) as error:
        raise study_error(error, Conditions, tables, file, shown) from None
    return conditions


def _apply_levels(
    raw: Mapping[str, Any], chosen: Mapping[str, Level], file: str, display: Display
) -> tuple[dict[str, dict[str, Any]], dict[str, Any], dict[str, str]]:
    """Give a cell's tables, the transport's level as a table, and where factors set keys."""
    tables: dict[str, dict[str, Any]] = {}
    for section in SECTIONS:
        table = raw.get(section, {})
        if not isinstance(table, Mapping):
            raise StudyError(
                "not a table", file=file, key=section, value=table, remedy=f"write [{section}]"
            )
        tables[section] = copy.deepcopy(dict(table))
    transport_level: dict[str, Any] = {}
    origins = {}
    for key, level in chosen.items():
        origin = display(factor_key(key))
        if key == "transport":
            value = level.value
            transport_level = value if isinstance(value, dict) else {"kind": value}
            origins["transport.kind"] = origin
            continue
        section, *parents, name = key.split(".")
        table = tables[section]
        for parent in parents:  # one of NESTED; anything else is no factor
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                above = key.rpartition(".")[0]
                raise StudyError(
                    "not a table", file=file, key=above, value=table, remedy=f"write [{above}]"
                )
        table[name] = level.value
        origins[key] = origin
    return tables, transport_level, origins


def factor_key(key: str) -> str:
    """Write a factor's key as it stands in the file."""
    return f'factors."{key}"' if "." in key else f"factors.{key}"


def flattened(factors: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Read ``path.loss = […]`` under [factors] like ``"path.loss" = […]``."""
    flat: dict[str, Any] = {}
    for key, value in factors.items():
        if isinstance(value, dict):
            flat |= flattened(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _squeezed(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(text.split())


def select_cells(cells: Sequence[Cell], wanted: Mapping[str, Sequence[str]]) -> Iterator[Cell]:
    """Give the cells whose level of each named factor is among those wanted."""
    for cell in cells:
        if all(cell.levels[key] in labels for key, labels in wanted.items()):
            yield cell
