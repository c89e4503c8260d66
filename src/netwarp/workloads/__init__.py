"""The workloads: a folder for each, with its study keys, jobs, metrics and checks of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.suggestions import did_you_mean
from netwarp.workloads.activity import Activity, Item, Phase, Tone
from netwarp.workloads.base import (
    FileReader,
    FileSize,
    HttpArchive,
    Program,
    Reads,
    Workload,
    WorkloadSection,
)
from netwarp.workloads.bulk import BulkWorkload
from netwarp.workloads.command import CommandWorkload
from netwarp.workloads.flow import FlowWorkload
from netwarp.workloads.page import PageWorkload
from netwarp.workloads.rr import RequestResponseWorkload
from netwarp.workloads.stream import StreamWorkload

__all__ = [
    "WORKLOADS",
    "Activity",
    "FileReader",
    "FileSize",
    "HttpArchive",
    "Item",
    "Phase",
    "Program",
    "Reads",
    "Tone",
    "Workload",
    "WorkloadSection",
    "file_readers",
    "reads_of",
    "relative_paths",
    "section_model",
    "workload_of",
]

WORKLOADS: Mapping[str, Workload[Any]] = {
    each.name: each
    for each in (
        BulkWorkload(),
        StreamWorkload(),
        CommandWorkload(),
        FlowWorkload(),
        RequestResponseWorkload(),
        PageWorkload(),
    )
}
"""All workloads by the value of `workload.kind`, the default first."""


def workload_of(job: wire.Job) -> Workload[Any]:
    """Give the workload of a job."""
    return WORKLOADS[job.workload.kind]


def reads_of(job: wire.Job) -> Sequence[Reads]:
    """Give what a run reads of the machine's files."""
    of_each = (workload_of(each).reads(each) for each in job.workloads)
    return [reads for reads in of_each if reads is not None]


def relative_paths(table: object) -> Mapping[str, str | None]:
    """Give the keys of a ``[workload]`` table that name files relative to the study's folder.

    It is empty for a table of unknown kind and for other values, which `section_model` refuses.
    """
    kind = table.get("kind", next(iter(WORKLOADS))) if isinstance(table, dict) else None
    chosen = WORKLOADS.get(kind) if isinstance(kind, str) else None
    return chosen.section.relative_paths if chosen else {}


def file_readers(table: object) -> Mapping[str, FileReader]:
    """Give the functions that read files named in a ``[workload]`` table with the study, by key."""
    kind = table.get("kind", next(iter(WORKLOADS))) if isinstance(table, dict) else None
    chosen = WORKLOADS.get(kind) if isinstance(kind, str) else None
    return chosen.section.file_readers if chosen else {}


def section_model(table: Mapping[str, Any]) -> type[WorkloadSection]:
    """Choose the model of a ``[workload]`` table by its kind.

    Raises:
        KeyValueError: no such kind, or a key that only another kind has.
    """
    kind = table.get("kind", next(iter(WORKLOADS)))
    chosen = WORKLOADS.get(kind) if isinstance(kind, str) else None
    if chosen is None:
        raise KeyValueError("kind", kind, "unknown", did_you_mean(str(kind), WORKLOADS))
    known = _keys(chosen)
    for key in table:
        owners = [other.name for other in WORKLOADS.values() if key in _keys(other)]
        if key not in known and owners:
            reason = f"a {owners[0]} has it, not a {chosen.name}"
            raise KeyValueError(key, table[key], reason, "drop it")
    return chosen.section


def _keys(workload: Workload[Any]) -> set[str]:
    fields = workload.section.model_fields
    return {field.alias or name for name, field in fields.items()}
