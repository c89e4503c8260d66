"""About how much CPU time runs take, to say beforehand how long a study will.

The numbers are of one machine (x86-64 of 2020 in a virtual machine), and rough: within a factor of
two, which is enough to tell a coffee from a night.
"""

from collections.abc import Iterable

from netwarp.backends.ns3.question import DEFAULT_SEGMENT_BYTES, segment_bytes
from netwarp.transports import TRANSPORTS, is_simulated
from netwarp.wire import Job
from netwarp.workloads import workload_of

START_CPU_S = 0.1
"""CPU time of a guest: its boot, building the path, and its end."""
PROGRAM_CPU_S = 2.0
"""CPU time of a run whose content is not known beforehand: programs that are not ours."""
MESSAGE_CPU_S = 20e-6
"""CPU time of each message of a flow beside its bytes: its timer, its write, its reading."""
NS3_LOAD_CPU_S = 15.0
"""CPU time in which ns-3's bindings are loaded and compiled, once for each study that needs it."""
NS3_SEGMENT_CPU_S = 60e-6
"""CPU time of a TCP segment in ns-3, with its acknowledgement."""
NS3_DATAGRAM_CPU_S = 10e-6
"""CPU time of a datagram in ns-3, delivered or dropped."""
REPORT_CPU_S = 2.0
"""CPU time of a study besides its runs: planning, evaluation and report."""


def expected_cpu_s(jobs: Iterable[Job]) -> float:
    """Add up what the runs of a study are expected to take."""
    listed = list(jobs)
    needs_ns3 = any(map(_is_simulated, listed))
    return sum(map(run_cpu_s, listed)) + NS3_LOAD_CPU_S * needs_ns3


def run_cpu_s(job: Job) -> float:
    """Say what a run is expected to take, without what its study needs once."""
    if _is_simulated(job):
        return _simulated_cpu_s(job)
    of_each = sum(map(_workload_cpu_s, job.each_alone))
    return of_each - (len(job.workloads) - 1) * START_CPU_S  # they start in one guest


def _is_simulated(job: Job) -> bool:
    return any(is_simulated(each.transport.model) for each in job.workloads)


def _workload_cpu_s(job: Job) -> float:
    workload = workload_of(job)
    content_bytes = workload.content_bytes(job)
    if content_bytes is None:
        return START_CPU_S + PROGRAM_CPU_S
    start_cpu_s = START_CPU_S + workload.programs_cpu_s(job)
    messages_cpu_s = workload.messages(job) * MESSAGE_CPU_S
    bytes_cpu_s = content_bytes / 1e6 * TRANSPORTS[job.only.transport.kind].cpu_s_per_mb
    return start_cpu_s + messages_cpu_s + bytes_cpu_s


def _simulated_cpu_s(job: Job) -> float:
    """Say what ns-3 takes for a run: so much a packet, wherever the bytes come from."""
    workload = workload_of(job)
    if not TRANSPORTS[job.only.transport.kind].runs_over_tcp:
        return workload.messages(job) * NS3_DATAGRAM_CPU_S
    payload_bytes = segment_bytes(job) or DEFAULT_SEGMENT_BYTES
    return (workload.content_bytes(job) or 0) / payload_bytes * NS3_SEGMENT_CPU_S
