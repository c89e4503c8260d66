"""About how much CPU time runs take, to say beforehand how long a study will.

The numbers are of one machine (x86-64 of 2020 in a virtual machine), and rough: within a factor of
two, which is enough to tell a coffee from a night.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.transports import TRANSPORTS
from netwarp.workloads import workload_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netwarp.wire import Job

START_CPU_S = 0.1
"""CPU time of a guest: its boot, building the path, and its end."""
PROGRAM_CPU_S = 2.0
"""CPU time of a run whose content is not known beforehand: programs that are not ours."""
REPORT_CPU_S = 2.0
"""CPU time of a study besides its runs: planning, evaluation and report."""


def expected_cpu_s(jobs: Iterable[Job]) -> float:
    """Add up what runs are expected to take."""
    return sum(map(_run_cpu_s, jobs))


def _run_cpu_s(job: Job) -> float:
    workloads = job.workloads
    of_each = sum(map(_workload_cpu_s, workloads))
    return of_each - (len(workloads) - 1) * START_CPU_S  # they start in one guest


def _workload_cpu_s(job: Job) -> float:
    workload = workload_of(job)
    content_bytes = workload.content_bytes(job)
    if content_bytes is None:
        return START_CPU_S + PROGRAM_CPU_S
    start_cpu_s = START_CPU_S + workload.programs_cpu_s(job)
    return start_cpu_s + content_bytes / 1e6 * TRANSPORTS[job.transport.kind].cpu_s_per_mb
