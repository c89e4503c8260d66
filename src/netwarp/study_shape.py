"""Checks whether a run directory's study has tables where netwarp writes tables."""

from collections.abc import Mapping
from typing import Any

TABLES = ("against", "factors", "limits", "path", "quick", "topology", "transport", "workload")
LISTS_OF_TABLES = (
    "claim", "control", "expect", "figure", "host", "leave_out", "link", "router", "sensitivity",
    "timeline", "workload",
)  # fmt: skip
"""Workloads are a table, or a list of tables."""


def wrong_table(raw: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a study's tables as text; None if each is a table or a list of
    tables, as it is to be. What they contain is not checked.
    """
    for key in (*TABLES, *LISTS_OF_TABLES):
        value = raw.get(key)
        is_table = key in TABLES and isinstance(value, dict)
        is_list = key in LISTS_OF_TABLES and isinstance(value, list)
        if value is None or is_table or (is_list and all(isinstance(x, dict) for x in value)):
            continue
        return f"its {key} is no table"
    if not all(isinstance(levels, list) for levels in (raw.get("factors") or {}).values()):
        return "a factor is no list of levels"
    metrics = raw.get("metrics") or []
    if not isinstance(metrics, list) or not all(isinstance(each, str) for each in metrics):
        return "its metrics are no list of names"
    return None
