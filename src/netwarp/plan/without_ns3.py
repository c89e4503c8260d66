"""Selects the cells of a study that can be run without ns-3. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.plan.plan import filter_cells
from netwarp.study import Study
from netwarp.transports import is_simulated


def needs_ns3(study: Study, filters: Sequence[str] = ()) -> bool:
    """Whether any of the wanted cells of a study is carried out in ns-3.

    Args:
        study: validated.
        filters: ``FACTOR=LEVEL`` each; they select the cells that are wanted.

    Raises:
        StudyError: a filter that selects nothing.
    """
    return any(is_simulated(cell.spec.transport.model) for cell in filter_cells(study, filters))


def kernel_filters(study: Study) -> list[str] | None:
    """Give filters that select the cells which need no ns-3. None where there are no such cells, or
    where no factor's levels separate them from the others.
    """
    wanted = {cell.index for cell in study.cells if not is_simulated(cell.spec.transport.model)}
    if not wanted:
        return None
    for factor in study.factors:
        simulated = {cell.levels[factor.key] for cell in study.cells if cell.index not in wanted}
        labels = [each.label for each in factor.levels if each.label not in simulated]
        filters = [f"{factor.key}={label}" for label in labels]
        if labels and {cell.index for cell in filter_cells(study, filters)} == wanted:
            return filters
    return None
