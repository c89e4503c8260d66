"""About how much CPU time runs take, to say beforehand how long a study will.

The numbers are of one machine (x86-64 of 2020 in a virtual machine), and rough: within a factor of
two, which is enough to tell a coffee from a night.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netwarp.workloads import workload_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netwarp.wire import Job, TransportKind

START_CPU_S = 0.1
"""Of a guest: its boot, building the path, and its end."""
PROGRAM_CPU_S = 2.0
"""Of a run whose content is not known beforehand: programs that are not ours."""
REPORT_CPU_S = 2.0
"""Of a study: planning, evaluation and report."""
CPU_S_PER_MB: Mapping[TransportKind, float] = {
    "tcp": 0.006,
    "mptcp": 0.01,
    "tls": 0.011,
    "sctp": 0.02,
    "quic": 0.04,
}
"""Of both ends and the kernel between them."""
DEAREST_CPU_S_PER_MB = max(CPU_S_PER_MB.values())


def expected_cpu_s(jobs: Iterable[Job]) -> float:
    """Add up what runs are expected to take."""
    return sum(map(_run_cpu_s, jobs))


def _run_cpu_s(job: Job) -> float:
    content_bytes = workload_of(job).content_bytes(job)
    if content_bytes is None:
        return START_CPU_S + PROGRAM_CPU_S
    per_mb = CPU_S_PER_MB.get(job.transport.kind, DEAREST_CPU_S_PER_MB)
    return START_CPU_S + content_bytes / 1e6 * per_mb
