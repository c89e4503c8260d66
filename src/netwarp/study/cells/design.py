"""Builds all cells of a study, each with the job that its runs have in common."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.fields import KeyValueError
from netwarp.study.cells.builder import CellBuilder
from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.competing_builder import CompetingBuilder
from netwarp.study.cells.factors import Factor, factor_key, read_factors
from netwarp.study.cells.left_out import LeftOut, read_left_out
from netwarp.study.cells.named_workload import NamedWorkload
from netwarp.study.sections.diagnose import validated
from netwarp.study.sections.hosts import TABLES, names_of_tables
from netwarp.study.sections.transport import TransportOptions
from netwarp.study.tables import Table, Written
from netwarp.transports import TRANSPORTS, with_two_paths_in_words
from netwarp.wire import Job
from netwarp.workloads import WORKLOADS

MOST_CELLS = 100_000


@dataclass(frozen=True)
class Cell:
    """A cell: a combination of one level of each factor."""

    index: int
    """Index among all cells of the study; filters do not change it."""
    levels: Mapping[str, str]
    """Labels of the levels, by factor."""
    sections: CellSections
    """The sections of the study, with the cell's levels instead of the factors."""
    template: Job
    """The job that the cell's runs have in common, without the values that differ from run to run;
    see `JobTemplates`.
    """
    workloads: tuple[NamedWorkload, ...] = ()
    """The workloads that share the path, of which the first is also in `sections`; empty if there
    is one workload.
    """

    @property
    def of_each_workload(self) -> tuple[CellSections, ...]:
        """The sections of each workload of the cell."""
        return tuple(each.sections for each in self.workloads) or (self.sections,)


@dataclass(frozen=True)
class Design:
    """The factors of a study, and all its cells."""

    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]


def build_design(
    study: Table, workloads: Mapping[str, Table], leave_out: Sequence[Mapping[str, Any]] = ()
) -> Design:
    """Build every cell of a study completely, so that errors are found before anything runs.

    Args:
        study: the study's tables, factors flattened.
        workloads: the tables of its workloads by name, if it has several.
        leave_out: the combinations of levels that it leaves out.

    Raises:
        KeyValueError: a factor, level or combination cannot be run, or all are left out.
    """
    named = {kind: names_of_tables(study, kind) for kind in TABLES}
    factors = read_factors(study.table("factors"), tuple(workloads), named)
    several = next((key for key in ("topology", *TABLES) if key in study), None)
    if several is not None and not workloads:
        reason = "workloads between several hosts have names"
        raise KeyValueError(several, None, reason, "write [[workload]], with a name, for each")
    transports = study.table("transport")
    for kind in (kind for kind in TRANSPORTS if kind in transports):
        validated(TransportOptions, transports.table(kind))
    if math.prod(len(factor.levels) for factor in factors) > MOST_CELLS:
        reason = f"the factors make more than {MOST_CELLS} cells"
        raise KeyValueError("factors", None, reason, "drop levels, or make two studies of it")
    cells = tuple(_cells(study, workloads, factors, read_left_out(leave_out, factors)))
    if not cells:
        raise KeyValueError("leave_out", None, "every combination is left out", "drop an entry")
    _refuse_unused_options(transports, cells)
    # Only a command has keys that may be unused, and it is always the only workload.
    if not workloads:
        _refuse_unused_keys(study, factors, cells)
    _refuse_an_unused_path(cells)
    return Design(factors, cells)


def select_cells(cells: Sequence[Cell], wanted: Mapping[str, Sequence[str]]) -> Iterator[Cell]:
    """Yield the cells that have one of the wanted levels of each factor in `wanted`."""
    sets = {key: frozenset(labels) for key, labels in wanted.items()}
    for cell in cells:
        if all(cell.levels[key] in labels for key, labels in sets.items()):
            yield cell


def _cells(
    study: Table,
    workloads: Mapping[str, Table],
    factors: Sequence[Factor],
    left_out: Sequence[LeftOut],
) -> Iterator[Cell]:
    """Yield a cell for each combination of levels that is not left out."""
    keys = [factor.key for factor in factors]
    competing = CompetingBuilder(study, workloads, keys) if workloads else None
    alone = CellBuilder(study, keys)
    combinations = itertools.product(*(each.levels for each in factors))
    every = (dict(zip(keys, levels, strict=True)) for levels in combinations)
    named = ((chosen, {key: level.label for key, level in chosen.items()}) for chosen in every)
    kept = (each for each in named if not any(entry.has(each[1]) for entry in left_out))
    for index, (chosen, labels) in enumerate(kept):
        if competing is not None:
            built, template = competing.build(chosen)
            yield Cell(index, labels, built[0].sections, template, built)
        else:
            sections, template = alone.build(chosen)
            yield Cell(index, labels, sections, template)


def _refuse_unused_options(transports: Table, cells: Sequence[Cell]) -> None:
    """Refuse options of transports that no cell has."""
    used = {each.transport.kind for cell in cells for each in cell.of_each_workload}
    for kind in TRANSPORTS:
        if kind in transports and kind not in used:
            reason = f"the study does not use {kind}"
            remedy = "drop the table, or add the transport"
            raise KeyValueError(f"transport.{kind}", transports.table(kind).plain(), reason, remedy)


def _refuse_unused_keys(study: Table, factors: Sequence[Factor], cells: Sequence[Cell]) -> None:
    sections = [cell.sections.workload for cell in cells]
    varied = {
        factor.key.removeprefix("workload."): Written(
            [level.value for level in factor.levels], factor_key(factor.key)
        )
        for factor in factors
    }
    table = study.table("workload").replaced(varied)
    try:
        WORKLOADS[sections[0].kind].refuse_unused(table.plain(), sections)
    except KeyValueError as error:
        raise table.located(error) from None


def _refuse_an_unused_path(cells: Sequence[Cell]) -> None:
    """Refuse a second path that no cell uses: no client moves, and no transport is multipath."""
    found = [each for cell in cells for each in cell.of_each_workload if each.path.second]
    if not found or any(len(each.paths) > 1 or each.path.may_hand_over for each in found):
        return
    transport = found[0].transport
    could = transport.traits.second_path == "multihomed"
    name = f"{transport.kind} that is not multihomed" if could else transport.kind
    remedy = f"drop it, choose {with_two_paths_in_words()}, or give [path.handovers]"
    raise KeyValueError("path.second", None, f"{name} uses one path only", remedy)
