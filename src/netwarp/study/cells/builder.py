"""Builds the sections of cells from tables and levels, each distinct section once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from netwarp import wire
from netwarp.fields import KeyValueError, Section, parse_sampling
from netwarp.study.cells.cell_sections import CellSections, Crossing
from netwarp.study.cells.cell_transport import CellTransport
from netwarp.study.cells.factors import KERNEL_FACTOR, Level, word_of
from netwarp.study.cells.template import JobTemplates, built_paths, built_timeline
from netwarp.study.sections.diagnose import validated
from netwarp.study.sections.inheritance import completed
from netwarp.study.sections.limits import LimitsSection
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.transport import merged_transport
from netwarp.study.tables import Table, Written
from netwarp.wire import Job, TransportKind
from netwarp.workloads import WorkloadSection, section_model

Made = TypeVar("Made")
_MODELS: Mapping[str, type[Section]] = {
    "path": PathSection,
    "transport": CellTransport,
    "limits": LimitsSection,
}
_SECTIONS = (*_MODELS, "workload")
"""Names of a cell's sections. Which model checks `workload` depends on its `kind`."""


class CellBuilder:
    """Builds the sections and the job of each cell of a study with one workload."""

    def __init__(
        self, study: Table, keys: Sequence[str], *, has_small_packets_beside: bool = False
    ) -> None:
        """Store a study's tables, and the keys of its factors; see `CellSections` for the last
        argument.
        """
        self._study = study
        self._has_small_packets_beside = has_small_packets_beside
        self._keys = {name: [key for key in keys if _section_of(key) == name] for name in _SECTIONS}
        """Keys of the factors that vary each section, by the section's name."""
        sampling = study.find("sampling").value
        self._templates = JobTemplates(
            capture=study.find("capture").value is not None,
            sampling=parse_sampling("auto" if sampling is None else sampling),
        )
        self._sections: dict[tuple[str | None, ...], tuple[Section, Table]] = {}

    def build(
        self, chosen: Mapping[str, Level], crossing: Crossing | None = None
    ) -> tuple[CellSections, Job]:
        """Return the sections of a cell, and the job that its runs share.

        Args:
            chosen: the cell's levels, by factor.
            crossing: how the workload uses the path, if the path is one of several links; else
                None.

        Raises:
            KeyValueError: the cell cannot be run; the error has the key that the user wrote.
        """

        def made(cell: CellSections) -> tuple[CellSections, Job]:
            return cell, self._templates.template(cell, self._kernel(chosen))

        return self._built(chosen, crossing, made)

    def link(
        self, chosen: Mapping[str, Level], crossing: Crossing
    ) -> tuple[wire.Path, wire.Timeline]:
        """Return a path and its events, for one of several links.

        Raises:
            KeyValueError: the link cannot be set up; the error has the key that the user wrote.
        """

        def made(cell: CellSections) -> tuple[wire.Path, wire.Timeline]:
            return built_paths(cell)[0], built_timeline(cell)

        return self._built(chosen, crossing, made)

    def _built(
        self,
        chosen: Mapping[str, Level],
        crossing: Crossing | None,
        made: Callable[[CellSections], Made],
    ) -> Made:
        """Build the sections of a cell, and return what `made` makes of them."""
        workload, _ = self._section("workload", chosen)
        usual = workload.usual_transport if isinstance(workload, WorkloadSection) else None
        found = {name: self._section(name, chosen, usual) for name in _SECTIONS}
        try:
            sections: dict[str, Any] = {name: section for name, (section, _) in found.items()}
            beside = self._has_small_packets_beside
            cell = CellSections(**sections, crossing=crossing, has_small_packets_beside=beside)
            return made(cell)
        except KeyValueError as error:
            tables = {name: Written(table, table.place) for name, (_, table) in found.items()}
            raise Table(tables).located(error) from None

    def _kernel(self, chosen: Mapping[str, Level]) -> str | None:
        """Return the name of the guest kernel that a cell has; None for the default one."""
        level = chosen.get(KERNEL_FACTOR)
        return self._study.text("kernel") if level is None else level.label

    def _section(
        self, name: str, chosen: Mapping[str, Level], usual: TransportKind | None = None
    ) -> tuple[Section, Table]:
        """Validate a section, once for each combination of the levels that vary it.

        Args:
            name: the section's name.
            chosen: the cell's levels, by factor.
            usual: the transport to use if the study names none.
        """
        kind = usual if name == "transport" else None
        known = (name, kind, *[chosen[key].label for key in self._keys[name]])
        section = self._sections.get(known)
        if section is None:
            own = {key: chosen[key] for key in self._keys[name]}
            section = self._sections[known] = self._validated(name, own, usual)
        return section

    def _validated(
        self, name: str, own: Mapping[str, Level], usual: TransportKind | None
    ) -> tuple[Section, Table]:
        """Return a validated section of a cell, with its table, the levels of varied keys
        included.
        """
        if name == "transport":
            table = _transport(self._study, own, usual)
            return validated(CellTransport, table), table
        table = self._study.table(name)
        for key, level in own.items():
            word = word_of(key)
            if word and "words" not in table:
                table = table.replaced({"words": Written(Table({}, level.place), level.place)})
            parts = ("words", word) if word else key.split(".")[1:]
            table = table.with_value(level.written, *parts)
        if name == "path":
            table = completed(table)
        if name != "workload":
            return validated(_MODELS[name], table), table
        try:
            model = section_model(table.plain())
        except KeyValueError as error:
            raise table.located(error) from None
        return validated(model, table), table


def _section_of(key: str) -> str:
    """Return the name of the section to which a factor's key belongs; the placeholders of a command
    belong to the workload.
    """
    return "workload" if word_of(key) else key.partition(".")[0]


def _transport(study: Table, own: Mapping[str, Level], usual: TransportKind | None) -> Table:
    """Return the table of a cell's transport, merged from everything in the study that sets it.

    Raises:
        KeyValueError: an option is given twice, or no transport is named.
    """
    section, workload = study.table("transport"), study.table("workload")
    if usual is not None and "kind" not in section:
        section = section.replaced({"kind": Written(usual, f"{section.place}.kind")})
    named = own.get("transport")
    level = Table({}) if named is None else named.as_transport
    varied = {key.partition(".")[2]: each.written for key, each in own.items() if "." in key}
    merged = merged_transport(section, level, varied)
    if "kind" in merged:
        return merged
    if workload.place == "workload":
        key, remedy = "factors.transport", 'add [factors] transport = ["tcp", "quic"], or'
        remedy = f'{remedy} [transport] kind = "tcp"'
    else:
        key, remedy = f"{workload.place}.transport", 'add it, such as transport = "tcp"'
    raise KeyValueError(key, None, "no transport is named", remedy)
