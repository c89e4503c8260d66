"""The workloads: a folder for each, with its study keys, its part of jobs, its metrics, and its
checks of records.

Each workload implements `base.py`: its keys (`section.py`), its job, its check of the records
(`verdict.py`), its metrics, and its activity over time.

Invariant: no other Python code distinguishes workloads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.plugins import Registry
from netwarp.suggestions import did_you_mean
from netwarp.workloads.activity import Activity, Item, Phase, Tone
from netwarp.workloads.base import FileSize, HttpArchive, Program, Reads, Workload
from netwarp.workloads.bulk import BulkWorkload
from netwarp.workloads.command import CommandWorkload
from netwarp.workloads.flow import FlowWorkload
from netwarp.workloads.page import PageWorkload
from netwarp.workloads.rr import RequestResponseWorkload
from netwarp.workloads.section import FileReader, WorkloadSection
from netwarp.workloads.stream import StreamWorkload
from netwarp.workloads.traffic import TrafficWorkload

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
    "reads_of",
    "section_model",
    "section_of",
    "workload_of",
]

WORKLOADS: Registry[Workload[Any]] = Registry(
    "workloads",
    {
        each.name: each
        for each in (
            BulkWorkload(),
            StreamWorkload(),
            CommandWorkload(),
            FlowWorkload(),
            RequestResponseWorkload(),
            PageWorkload(),
            TrafficWorkload(),
        )
    },
    lambda added: isinstance(added, Workload),
)
"""All workloads by the value of `workload.kind`, the default first; then those that packages
add.
"""


def workload_of(job: wire.Job) -> Workload[Any]:
    """Return the kind of workload, such as `bulk`, of a job that has exactly one."""
    return WORKLOADS[job.only.workload.kind]


def reads_of(job: wire.Job) -> Sequence[Reads]:
    """Return the files and commands of this machine that the workloads of a run read or execute."""
    of_each = (workload_of(each).reads(each) for each in job.each_alone)
    return [reads for reads in of_each if reads is not None]


def needed_programs(job: wire.Job) -> list[Program]:
    """Return the programs of the host that a run's workloads need, each once."""
    programs = (
        program for each in job.each_alone for program in workload_of(each).needed_programs(each)
    )
    return list(dict.fromkeys(programs))


def runs_programs(job: wire.Job) -> bool:
    """Return whether any workload of a run executes programs other than netwarp's."""
    return any(workload_of(each).runs_programs(each) for each in job.each_alone)


def section_of(kind: str | None) -> type[WorkloadSection]:
    """Return the model of the ``[workload]`` tables of a kind, or of the default kind if none is
    named.

    For an unknown kind, which `section_model` refuses, it has only the keys that all workloads
    have.
    """
    if kind is None:
        kind = next(iter(WORKLOADS))
    return WORKLOADS[kind].section if kind in WORKLOADS else WorkloadSection


def section_model(table: Mapping[str, Any]) -> type[WorkloadSection]:
    """Return the model of a ``[workload]`` table, which depends on its key `kind`.

    Raises:
        KeyValueError: no kind has this name, or a key belongs only to another kind.
    """
    kind = table.get("kind", next(iter(WORKLOADS)))
    chosen = WORKLOADS.get(kind) if isinstance(kind, str) else None
    if chosen is None:
        raise KeyValueError("kind", kind, "unknown", did_you_mean(str(kind), WORKLOADS))
    known = chosen.keys
    for key in table:
        owners = [other.name for other in WORKLOADS.values() if key in other.keys]
        if key not in known and owners:
            reason = f"a {owners[0]} has it, not a {chosen.name}"
            raise KeyValueError(key, table[key], reason, "drop it")
    return chosen.section
