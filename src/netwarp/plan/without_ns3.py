"""The cells of a study that need no ns-3: what can be run where it cannot be installed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.plan.plan import filter_cells
from netwarp.transports import is_simulated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.study import Study


def needs_ns3(study: Study, filters: Sequence[str] = ()) -> bool:
    """Whether cells of a study are carried out in ns-3.

    Args:
        study: validated.
        filters: ``FACTOR=LEVEL`` each: the cells that are wanted.

    Raises:
        StudyError: a filter that selects nothing.
    """
    return any(is_simulated(cell.spec.transport.model) for cell in filter_cells(study, filters))


def kernel_filters(study: Study) -> list[str] | None:
    """Give filters that leave the cells of the kernel; None where there are none, or a factor's
    levels do not tell them.
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
