"""Builds the sections of cells from tables and levels, each distinct section once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from netwarp.fields import KeyValueError, Section, parse_sampling
from netwarp.study.cells.factors import Level, factor_key, word_of
from netwarp.study.cells.spec import CellSpec, LimitsSection
from netwarp.study.cells.template import JobTemplates
from netwarp.study.cells.transport import CellTransport
from netwarp.study.sections.diagnose import key_value_error, with_value
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.transport import merge_transport
from netwarp.wire import Job, TransportKind
from netwarp.workloads import WorkloadSection, section_model

_MODELS: Mapping[str, type[Section]] = {
    "path": PathSection,
    "transport": CellTransport,
    "limits": LimitsSection,
}
_SECTIONS = (*_MODELS, "workload")
"""Names of a cell's sections; the model of `workload` depends on its kind."""


@dataclass(frozen=True)
class _Table:
    """The table of a section in one cell, levels included."""

    content: Mapping[str, Any]
    origins: Mapping[str, str]
    """Dotted key → the dotted key at which the user wrote it, where that is another one."""


class CellBuilder:
    """Builds the sections and jobs of cells with one workload."""

    def __init__(self, raw: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Take a study's tables, and the keys of its factors."""
        self._raw = raw
        self._keys = {name: [key for key in keys if _section_of(key) == name] for name in _SECTIONS}
        """Keys of the factors that vary each section, by the section's name."""
        self._templates = JobTemplates(
            capture=raw.get("capture") is not None,
            sampling=parse_sampling(raw.get("sampling", "auto")),
        )
        self._sections: dict[tuple[str | None, ...], tuple[Section, _Table]] = {}

    def build(self, chosen: Mapping[str, Level]) -> tuple[CellSpec, Job]:
        """Build the sections of a cell, and the job that its runs share.

        Args:
            chosen: the cell's levels, by factor.

        Raises:
            KeyValueError: the cell cannot be run; the error has the key that the user wrote.
        """
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
        """Validate a section, once for each combination of the levels that vary it.

        Args:
            name: the section's name.
            chosen: the cell's levels, by factor.
            usual: the transport to use where the study names none.
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
    """Name the section that a factor varies; the words of a command belong to the workload."""
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
    """Give an error the key that the user wrote in place of the resolved one."""
    origins = {key: origin for table in tables for key, origin in table.origins.items()}
    key = origins.get(error.key or "", error.key)
    return KeyValueError(key, error.value, error.reason, error.remedy)


def _table(
    raw: Mapping[str, Any], section: str, own: Mapping[str, Level], usual: TransportKind | None
) -> _Table:
    """Give a section's table in a cell: the study's table with the cell's levels applied."""
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
    """Set a dotted key in a copy; only the tables on the way to it are copied."""
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
    """Apply the level of the factor ``transport`` to the section."""
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
