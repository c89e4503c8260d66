"""Removes from a study what a backend cannot do: path properties between real hosts, or cells in
ns-3. Pure.
"""

from collections.abc import Sequence

from netwarp.fields import KeyValueError
from netwarp.path_properties import PATH_PROPERTIES
from netwarp.plan.plan import filter_cells
from netwarp.study import Study, study_from_mapping
from netwarp.study.cells.left_out import remaining
from netwarp.transports import is_simulated

OF_HOSTS = "mtu"
"""The only key of `[path]` that also sets a property of the hosts."""
_LEFT_OUT = frozenset(key for row in PATH_PROPERTIES if row.key != OF_HOSTS for key in row.keys)
QUESTIONS = ("figure", "claim", "expect", "control", "quick", "capture")
"""Tables that do not change a run's measurements, and may name the keys that are left out."""


def without_path(study: Study, filters: Sequence[str] = ()) -> Study:
    """Return a study without its path properties, and without tables that name them, for runs
    between two hosts.

    Events that change the path over time stay: the backend refuses them.

    Args:
        study: a validated study.
        filters: ``FACTOR=LEVEL`` each; they select the cells that are wanted.

    Raises:
        StudyError: the wanted cells have different paths, although there is only one between two
            hosts.
    """
    wanted = [cell.levels for cell in filter_cells(study, filters)]
    tables = {key: value for key, value in study.raw.items() if key not in QUESTIONS}
    tables["path"] = {
        key: value for key, value in study.raw.get("path", {}).items() if key not in _LEFT_OUT
    }
    tables["factors"] = {}
    for factor in study.factors:
        used = {levels[factor.key] for levels in wanted}
        levels = [level for level in factor.levels if level.label in used]
        if factor.key.removeprefix("path.") not in _LEFT_OUT:
            tables["factors"][factor.key] = [level.value for level in levels]
        elif len(levels) > 1:
            with study.refusals.as_study_errors():
                raise KeyValueError(
                    f'factors."{factor.key}"', [level.label for level in levels],
                    "there is one path between two hosts, and nobody sets it",
                    f"choose the level that is like it: --filter {factor.key}={levels[0].label}",
                )  # fmt: skip
    tables["leave_out"] = remaining(study.raw.get("leave_out", ()), study.factors, wanted)
    return study_from_mapping(tables, file=study.file)


def needs_ns3(study: Study, filters: Sequence[str] = ()) -> bool:
    """Return whether one of the wanted cells of a study is carried out in ns-3.

    Args:
        study: the study, which has been validated.
        filters: ``FACTOR=LEVEL`` each; they select the cells that are wanted.

    Raises:
        StudyError: a filter selects nothing.
    """
    return any(is_simulated(cell.sections.transport.model) for cell in filter_cells(study, filters))


def kernel_filters(study: Study) -> list[str] | None:
    """Return filters that select the cells which do not need ns-3. None if there are no such cells,
    or if no factor's levels separate them from the others.
    """
    wanted = {cell.index for cell in study.cells if not is_simulated(cell.sections.transport.model)}
    if not wanted:
        return None
    for factor in study.factors:
        simulated = {cell.levels[factor.key] for cell in study.cells if cell.index not in wanted}
        labels = [each.label for each in factor.levels if each.label not in simulated]
        filters = [f"{factor.key}={label}" for label in labels]
        if labels and {cell.index for cell in filter_cells(study, filters)} == wanted:
            return filters
    return None
