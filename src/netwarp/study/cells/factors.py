"""Factors and their levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from netwarp.fields import KernelField, KeyValueError, Section
from netwarp.study.sections.competing import CompetingSection
from netwarp.study.sections.diagnose import keys_of
from netwarp.study.sections.hosts import RouterSection
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.timeline import (
    HandoversSection,
    OutagesSection,
    RedrawSection,
    TraceSection,
)
from netwarp.study.sections.topology import TopologySection
from netwarp.study.sections.transport import TransportOptions, TransportSection
from netwarp.study.tables import Table, Written, plain
from netwarp.suggestions import did_you_mean
from netwarp.transports import TRANSPORTS
from netwarp.workloads import WORKLOADS

_SECTIONS: Mapping[str, type[Section]] = {
    "path": PathSection,
    "transport": TransportSection,
    "path.second": SinglePath,
    "path.second.redraw": RedrawSection,
    "path.redraw": RedrawSection,
    "path.handovers": HandoversSection,
    "path.outages": OutagesSection,
    "path.trace": TraceSection,
    "path.second.trace": TraceSection,
    "topology": TopologySection,
}
"""Models of the sections whose keys can be factors."""
_OF_LINKS = ("path", "path.redraw", "path.outages", "path.trace")
"""Keys of sections that a link between several hosts has."""
_OF_ROUTERS = tuple(key for key in keys_of(RouterSection) if key != "name")
"""The keys of a router that factors can vary."""
Named = Mapping[str, Sequence[str]]
"""Names of a study's hosts, routers and links, by the kind of their tables."""
KERNEL_FACTOR = "kernel"
"""Name of the factor whose levels are guest kernels."""
_FIXED = frozenset({*TRANSPORTS, "kind", "shape", "timeline", "step", "metrics", "stack"})
"""Keys that cannot be factors."""
_KERNEL_NAME: TypeAdapter[str] = TypeAdapter(KernelField)


@dataclass(frozen=True)
class Level:
    """One value of a factor."""

    label: str
    """The level's text in the study; if it is a table, its label."""
    value: Any
    """The level's value in the study: text, number or table."""
    place: str
    """The dotted key at which the level was written: that of its factor, or one in a workload's own
    table.
    """

    @property
    def written(self) -> Written:
        """The value, with the place where it was written."""
        return Written(self.value, self.place)

    @property
    def as_transport(self) -> Table:
        """The level as a table of transport options; a text is the transport's kind."""
        if isinstance(self.value, dict):
            return Table.of(self.value, self.place)
        return Table({"kind": self.written}, self.place)


@dataclass(frozen=True)
class Factor:
    """A factor: the key that varies, and its levels in the study's order."""

    key: str
    levels: tuple[Level, ...]

    def find(self, value: Any) -> Level | None:
        """Return the level that a text names, in which ``5%`` and ``5 %`` are the same; None if
        there is none.
        """
        return self._by_squeezed_label.get(_squeezed(value))

    @cached_property
    def _by_squeezed_label(self) -> Mapping[str, Level]:
        return {_squeezed(level.label): level for level in self.levels}


def read_factors(
    factors: Table, workloads: Sequence[str] = (), named: Named = MappingProxyType({})
) -> tuple[Factor, ...]:
    """Return the factors in the ``[factors]`` table of a study.

    Args:
        factors: levels by key, flattened.
        workloads: the names of the study's workloads, if it has several.
        named: the names of the study's hosts, routers and links, if it writes them itself.

    Raises:
        KeyValueError: a key cannot vary, has no levels, or lists a level twice.
    """
    return tuple(
        Factor(key, _levels(key, plain(each.value), workloads, named))
        for key, each in factors.items()
    )


def flat_factors(factors: Table) -> Table:
    """Convert ``path.loss = […]`` under [factors] to ``"path.loss" = […]``, in a table that knows
    where values were written.
    """
    flat = flattened(factors.plain())
    return Table({key: Written(each, factor_key(key)) for key, each in flat.items()}, "factors")


def factor_key(key: str) -> str:
    """Return a factor's key in the form that it has in the study file."""
    return f'factors."{key}"' if "." in key else f"factors.{key}"


def word_of(key: str) -> str | None:
    """Return the placeholder in commands that a factor varies: ``version`` for
    ``command.version``.
    """
    section, _, name = key.partition(".")
    return name if section == "command" and name and "." not in name else None


def flattened(factors: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Convert ``path.loss = […]`` under [factors] to ``"path.loss" = […]``."""
    flat: dict[str, Any] = {}
    for key, value in factors.items():
        if isinstance(value, dict):
            flat |= flattened(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _levels(key: str, values: Any, workloads: Sequence[str], named: Named) -> tuple[Level, ...]:
    """Return a factor's levels; refuse a key that cannot vary, and levels that are equal."""
    _refuse_what_cannot_vary(key, workloads, named)
    if not isinstance(values, list) or not values:
        reason = "a factor is a list of at least one level"
        remedy = 'write a list, such as ["tcp", "quic"]'
        raise KeyValueError(factor_key(key), values, reason, remedy)
    if key == KERNEL_FACTOR:
        _refuse_misnamed_kernels(values)
    levels = tuple(Level(_label(key, value), value, factor_key(key)) for value in values)
    seen: set[str] = set()
    for level in levels:
        squeezed = _squeezed(level.label)
        if squeezed in seen:
            remedy = 'drop one, or tell tables apart with label = "…"'
            raise KeyValueError(factor_key(key), level.label, "the same level twice", remedy)
        seen.add(squeezed)
    return levels


def _refuse_misnamed_kernels(values: Sequence[Any]) -> None:
    """Refuse levels that do not name a kernel. A number is not a name, because 6.10 and 6.1 are the
    same number.
    """
    for value in values:
        try:
            _KERNEL_NAME.validate_python(value)
        except ValidationError:
            reason, remedy = "not a kernel's version or name", 'write it in quotes, such as "6.12"'
            raise KeyValueError(factor_key(KERNEL_FACTOR), value, reason, remedy) from None


def _refuse_what_cannot_vary(key: str, workloads: Sequence[str], named: Named) -> None:
    if key in ("transport", KERNEL_FACTOR) or word_of(key):
        return
    if workloads and key.partition(".")[0] in ("workload", "workloads"):
        _refuse_what_no_workload_has(key, workloads)
        return
    section, _, name = key.partition(".")
    kind, _, option = name.partition(".")
    if section == "transport" and kind in TRANSPORTS and option not in keys_of(TransportOptions):
        remedy = did_you_mean(option, keys_of(TransportOptions))
        raise KeyValueError(factor_key(key), None, "unknown key", remedy)
    if key == "transport.stack":
        remedy = (
            'make each a level: transport = ["quic", { kind = "quic", stack = "NAME", label ='
            ' "NAME" }] (`netwarp stack list` has their names)'
        )
        raise KeyValueError(factor_key(key), None, "a stack is chosen with its transport", remedy)
    if section == "transport" and name.split(".")[0] in TRANSPORTS:
        remedy = 'vary one transport by levels: transport = [{ kind = "tcp", label = "…", … }]'
        raise KeyValueError(factor_key(key), None, "an option of one transport cannot vary", remedy)
    known = [*what_can_vary(), *_keys_of_network(named)]
    if key not in known:
        reason = "there is nothing of this name to vary"
        raise KeyValueError(factor_key(key), None, reason, did_you_mean(key, ["transport", *known]))


def _refuse_what_no_workload_has(key: str, workloads: Sequence[str]) -> None:
    """Refuse the key of a factor that neither selects workloads nor is a key of one of several
    workloads.
    """
    options = dict.fromkeys(
        [
            "transport",
            *(each for each in keys_of(CompetingSection) if each not in ("name", "transport")),
            *_options_of_workloads(),
            *_keys_of_table("transport"),
        ]
    )
    known = ["workloads", *(f"workload.{name}.{each}" for name in workloads for each in options)]
    if key not in known:
        reason = "there is nothing of this name to vary"
        raise KeyValueError(factor_key(key), None, reason, did_you_mean(key, known))


def _keys_of_network(named: Named) -> list[str]:
    """Return the keys of hosts, routers and links, with their names, that can be factors."""
    of_paths = (key.partition(".")[2] for table in _OF_LINKS for key in _keys_of_table(table))
    of_links = [each for each in of_paths if each.partition(".")[0] not in ("second", "handovers")]
    return [
        *(f"host.{name}.count" for name in named.get("host", ())),
        *(f"router.{name}.{key}" for name in named.get("router", ()) for key in _OF_ROUTERS),
        *(f"link.{name}.{key}" for name in named.get("link", ()) for key in of_links),
    ]


def what_can_vary() -> list[str]:
    """Return the keys that can be factors, each with its section, such as `path.rtt`."""
    of_workloads = [f"workload.{option}" for option in _options_of_workloads()]
    of_tables = (key for table in _SECTIONS for key in _keys_of_table(table))
    return [*of_tables, *of_workloads, KERNEL_FACTOR]


def _keys_of_table(table: str) -> list[str]:
    options = [option for option in keys_of(_SECTIONS[table]) if option not in _FIXED]
    return [key for option in options if (key := f"{table}.{option}") not in _SECTIONS]


def _options_of_workloads() -> list[str]:
    keys = [key for workload in WORKLOADS.values() for key in keys_of(workload.section)]
    return [key for key in dict.fromkeys(keys) if key not in _FIXED]


def _label(key: str, value: Any) -> str:
    """Return a level as text: its label, or its value as it was written."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return " / ".join(_label(key, each) for each in value) or "none"
    if not isinstance(value, dict):
        return str(value)
    label = value.get("label")
    if key.rpartition(".")[2] != "transport" or (isinstance(label, str) and label):
        return str(label) if label else " ".join(f"{k} {v}" for k, v in value.items())
    remedy = 'add label = "…", the name in figures and tables'
    raise KeyValueError(factor_key(key), value, "a table as level needs a label", remedy)


def _squeezed(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(text.split())
