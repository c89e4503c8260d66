"""A study without what it asks of its path, for hosts that have one between them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.fields import KeyValueError
from netwarp.path_properties import PATH_PROPERTIES
from netwarp.plan.plan import filter_cells
from netwarp.study import Study, study_from_mapping

OF_HOSTS = "mtu"
"""The one property of a path that the hosts at its ends are told."""
_LEFT_OUT = frozenset(key for row in PATH_PROPERTIES if row.key != OF_HOSTS for key in row.keys)
QUESTIONS = ("figure", "claim", "control", "quick", "capture")
"""Tables that may name what is left out, and ask nothing of a run."""


def without_path(study: Study, filters: Sequence[str] = ()) -> Study:
    """Leave out what a study sets of its path, and its questions, so that hosts can carry it out.

    What changes a path over time stays, and is the backend's to refuse.

    Args:
        study: any.
        filters: ``FACTOR=LEVEL`` each: the cells that are wanted.

    Raises:
        StudyError: the cells differ in their path, and between two hosts there is one.
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
            with study.refusals.told():
                raise KeyValueError(
                    f'factors."{factor.key}"', [level.label for level in levels],
                    "there is one path between two hosts, and nobody sets it",
                    f"choose the level that is like it: --filter {factor.key}={levels[0].label}",
                )  # fmt: skip
    return study_from_mapping(tables, file=study.file)
