"""Factors × sections → cells, each with the job that its runs share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from netwarp.fields import KeyValueError, Section, parse_sampling
from netwarp.study.cells.factors import Factor, Level, factor_key, read_factors, word_of
from netwarp.study.cells.spec import CellSpec, LimitsSection
from netwarp.study.cells.template import JobTemplates
from netwarp.study.cells.transport import CellTransport
from netwarp.study.sections.diagnose import key_value_error, with_value
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.transport import TransportOptions, merge_transport
from netwarp.transports import TRANSPORTS, with_two_paths_in_words
from netwarp.wire import Job, TransportKind
from netwarp.workloads import WORKLOADS, WorkloadSection, section_model

MOST_CELLS = 100_000
_MODELS: Mapping[str, type[Section]] = {
    "path": PathSection,
    "transport": CellTransport,
    "limits": LimitsSection,
}
_SECTIONS = (*_MODELS, "workload")
"""The sections of a cell; a workload's model depends on its kind."""


@dataclass(frozen=True)
class Cell:
    """One combination of levels."""

    index: int
    """Place in the full study: filters do not change it."""
    levels: Mapping[str, str]
    """Label of each factor's level, by the factor's key."""
    spec: CellSpec
    """The sections of the study with the cell's levels."""
    template: Job
    """The job of its runs, without what differs from run to run; see `JobTemplates`."""


@dataclass(frozen=True)
class Design:
    """All factors and all cells of a study."""

    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]


def build_design(raw: Mapping[str, Any]) -> Design:
    """Build every cell of a study completely: what is wrong is said before anything runs.

    Args:
        raw: the study file's tables.

    Raises:
        KeyValueError: a factor, level or combination that cannot be run.
    """
    factors = read_factors(raw.get("factors", {}))
    _refuse_options_that_are_none(raw)
    if math.prod(len(factor.levels) for factor in factors) > MOST_CELLS:
        raise KeyValueError(
            "factors",
            None,
            f"the factors make more than {MOST_CELLS} cells",
            "drop levels, or make two studies of it",
        )
    cells = tuple(_Builder(raw, factors).cells())
    _refuse_unused_options(raw, cells)
    _refuse_unused_keys(raw, cells)
    _refuse_an_unused_path(cells)
    return Design(factors, cells)


def select_cells(cells: Sequence[Cell], wanted: Mapping[str, Sequence[str]]) -> Iterator[Cell]:
    """Give the cells whose level of each named factor is among those wanted."""
    sets = {key: frozenset(labels) for key, labels in wanted.items()}
    for cell in cells:
        if all(cell.levels[key] in labels for key, labels in sets.items()):
            yield cell


@dataclass(frozen=True)
class _Table:
    """A section's table in one cell."""

    content: Mapping[str, Any]
    origins: Mapping[str, str]
    """Where its keys were found, if elsewhere than in the section; both dotted, from the top."""


class _Builder:
    """Builds cells. A section is validated once for all cells that have it the same."""

    def __init__(self, raw: Mapping[str, Any], factors: Sequence[Factor]) -> None:
        self._raw = raw
        self._factors = factors
        self._keys = {
            name: [each.key for each in factors if _section_of(each.key) == name]
            for name in _SECTIONS
        }
        """The factors that vary a section, by its name."""
        self._templates = JobTemplates(
            capture=raw.get("capture") is not None,
            sampling=parse_sampling(raw.get("sampling", "auto")),
        )
        self._sections: dict[tuple[str | None, ...], tuple[Section, _Table]] = {}

    def cells(self) -> Iterator[Cell]:
        keys = [factor.key for factor in self._factors]
        combinations = itertools.product(*(factor.levels for factor in self._factors))
        for index, combination in enumerate(combinations):
            chosen = dict(zip(keys, combination, strict=True))
            spec, template = self._build(chosen)
            labels = {key: level.label for key, level in chosen.items()}
            yield Cell(index, labels, spec, template)

    def _build(self, chosen: Mapping[str, Level]) -> tuple[CellSpec, Job]:
        workload, _ = self._section("workload", chosen)
        usual = workload.usual_transport if isinstance(workload, WorkloadSection) else None
        found = {name: self._section(name, chosen, usual) for name in _SECTIONS}
        try:
            sections: dict[str, Any] = {name: section for name, (section, _) in found.items()}
            spec = CellSpec(**sections)
            return spec, self._templates.template(spec)
        except KeyValueError as error:
            tables = {name: table for name, (_, table) in found.items()}
            contents = {name: table.content for name, table in tables.items()}
            raise _where_written(with_value(error, contents), tables.values()) from None

    def _section(
        self, name: str, chosen: Mapping[str, Level], usual: TransportKind | None = None
    ) -> tuple[Section, _Table]:
        """Validate a section, once for each combination of its own levels.

        Args:
            name: of the section.
            chosen: the cell's levels.
            usual: the transport where the study names none.
        """
        kind = usual if name == "transport" else None
        known = (name, kind, *[chosen[key].label for key in self._keys[name]])
        section = self._sections.get(known)
        if section is None:
            own = {key: chosen[key] for key in self._keys[name]}
            table = _table(self._raw, name, own, usual)
            try:
                section = self._sections[known] = _validated(name, table.content), table
            except KeyValueError as error:
                raise _where_written(error, [table]) from None
        return section


def _section_of(key: str) -> str:
    """Name the section that a factor varies: words of commands are the workload's."""
    return "workload" if word_of(key) else key.partition(".")[0]


def _validated(name: str, content: Mapping[str, Any]) -> Section:
    """Validate a section; a workload's model depends on its kind."""
    try:
        model = section_model(content) if name == "workload" else _MODELS[name]
    except KeyValueError as error:
        raise error.within(name) from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise key_value_error(error, model, content, name) from None


def _where_written(error: KeyValueError, tables: Iterable[_Table]) -> KeyValueError:
    """Name the key at which the user wrote what an error is about."""
    origins = {key: origin for table in tables for key, origin in table.origins.items()}
    key = origins.get(error.key or "", error.key)
    return KeyValueError(key, error.value, error.reason, error.remedy)


def _table(
    raw: Mapping[str, Any], section: str, own: Mapping[str, Level], usual: TransportKind | None
) -> _Table:
    """Give the table of a section in a cell: the study's, with the levels of its factors."""
    content = raw.get(section, {})
    if not isinstance(content, Mapping):
        raise KeyValueError(section, content, "not a table", f"write [{section}]")
    origins = {}
    level: Mapping[str, Any] = {}
    for key, chosen in own.items():
        if key == "transport":
            level = chosen.value if isinstance(chosen.value, dict) else {"kind": chosen.value}
            origins["transport.kind"] = factor_key(key)
        else:
            word = word_of(key)
            path = f"workload.words.{word}" if word else key
            content = _with_level(content, path, chosen.value)
            origins[path] = factor_key(key)
            if word:  # which only one workload has
                origins["workload.words"] = factor_key(key)
    if section != "transport":
        return _Table(content, origins)
    if usual is not None:
        content = {"kind": usual, **content}
    return _merged(content, level, origins)


def _with_level(section: Mapping[str, Any], key: str, value: Any) -> Mapping[str, Any]:
    """Set a dotted key, and copy the tables on the way to it."""
    _, *parents, name = key.split(".")
    changed = table = dict(section)
    for parent in parents:
        inner = table.get(parent, {})
        if not isinstance(inner, Mapping):
            above = key.rpartition(".")[0]
            raise KeyValueError(above, inner, "not a table", f"write [{above}]")
        table[parent] = table = dict(inner)
    table[name] = value
    return changed


def _merged(
    section: Mapping[str, Any], level: Mapping[str, Any], origins: Mapping[str, str]
) -> _Table:
    """Lay the level of the factor ``transport`` over the section."""
    by_option = {key.removeprefix("transport."): origin for key, origin in origins.items()}
    try:
        merged = merge_transport(section, level, by_option)
    except KeyValueError as error:
        raise error.within("transport") from None
    if "kind" not in merged.options:
        raise KeyValueError(
            "factors.transport",
            None,
            "no transport is named",
            'add [factors] transport = ["tcp", "quic"], or [transport] kind = "tcp"',
        )
    found = {f"transport.{option}": origin for option, origin in merged.origins.items()}
    return _Table(merged.options, {**found, **origins})


def _refuse_options_that_are_none(raw: Mapping[str, Any]) -> None:
    """Look at the options of each transport, whether a cell has it or not."""
    section = raw.get("transport", {})
    for kind in TRANSPORTS:
        if isinstance(section, Mapping) and kind in section:
            try:
                TransportOptions.model_validate(section[kind])
            except ValidationError as error:
                raise key_value_error(
                    error, TransportOptions, section[kind], f"transport.{kind}"
                ) from None


def _refuse_unused_options(raw: Mapping[str, Any], cells: Sequence[Cell]) -> None:
    used = {cell.spec.transport.kind for cell in cells}
    for kind in TRANSPORTS:
        if kind in raw.get("transport", {}) and kind not in used:
            raise KeyValueError(
                f"transport.{kind}",
                raw["transport"][kind],
                f"the study does not use {kind}",
                "drop the table, or add the transport",
            )


def _refuse_unused_keys(raw: Mapping[str, Any], cells: Sequence[Cell]) -> None:
    sections = [cell.spec.workload for cell in cells]
    factors = raw.get("factors", {})
    varied = {key.removeprefix("workload."): levels for key, levels in factors.items()}
    try:
        WORKLOADS[sections[0].kind].refuse_unused(raw.get("workload", {}) | varied, sections)
    except KeyValueError as error:
        told = error.within("workload")
        key = factor_key(f"{told.key}") if told.key in factors else told.key
        raise KeyValueError(key, told.value, told.reason, told.remedy) from None


def _refuse_an_unused_path(cells: Sequence[Cell]) -> None:
    """See that something uses a second path: a client that moves, or one of the transports."""
    specs = [cell.spec for cell in cells if cell.spec.path.second is not None]
    if not specs or any(len(spec.paths) > 1 or spec.path.may_hand_over for spec in specs):
        return
    transport = specs[0].transport
    could = transport.traits.second_path == "multihomed"
    name = f"{transport.kind} that is not multihomed" if could else transport.kind
    raise KeyValueError(
        "path.second",
        None,
        f"{name} uses one path only",
        f"drop it, choose {with_two_paths_in_words()}, or give [path.handovers]",
    )
