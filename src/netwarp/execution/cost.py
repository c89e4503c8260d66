"""Estimates the CPU time of runs, to announce how long a study will take.

The numbers are from one machine (x86-64 of 2020 in a virtual machine), and are right within a
factor of two, which is enough to tell minutes from hours.
"""

from collections.abc import Iterable

from netwarp.backends.ns3.question import DEFAULT_SEGMENT_BYTES, segment_bytes
from netwarp.transports import TRANSPORTS, is_simulated
from netwarp.wire import Job
from netwarp.workloads import workload_of

START_CPU_S = 0.1
"""CPU time in s of a guest without its workload: its boot, building the path, and its end."""
PROGRAM_CPU_S = 2.0
"""CPU time in s of a run whose content is not known beforehand, because its programs are not
ours.
"""
MESSAGE_CPU_S = 20e-6
"""CPU time in s of each message of a flow in addition to its bytes: its timer, its write and its
read.
"""
NS3_LOAD_CPU_S = 15.0
"""CPU time in s for loading and compiling ns-3's bindings, once for each study that needs it."""
NS3_SEGMENT_CPU_S = 60e-6
"""CPU time in s of a TCP segment in ns-3, with its acknowledgement."""
NS3_DATAGRAM_CPU_S = 10e-6
"""CPU time in s of a datagram in ns-3, delivered or dropped."""
REPORT_CPU_S = 2.0
"""CPU time in s of a study in addition to its runs: planning, evaluation and report."""


def expected_cpu_s(jobs: Iterable[Job]) -> float:
    """Return the estimated CPU time in s of all runs of a study."""
    listed = list(jobs)
    needs_ns3 = any(map(_is_simulated, listed))
    return sum(map(run_cpu_s, listed)) + NS3_LOAD_CPU_S * needs_ns3


def run_cpu_s(job: Job) -> float:
    """Return the estimated CPU time in s of a run, without what its study needs once."""
    if _is_simulated(job):
        return _simulated_cpu_s(job)
    of_each = sum(map(_workload_cpu_s, job.each_alone))
    # all workloads share one guest, so its boot counts once
    return of_each - (len(job.workloads) - 1) * START_CPU_S


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
    """Return the estimated CPU time in s of a run in ns-3: a fixed time for each packet, wherever
    the bytes come from.
    """
    workload = workload_of(job)
    if not TRANSPORTS[job.only.transport.kind].runs_over_tcp:
        return workload.messages(job) * NS3_DATAGRAM_CPU_S
    payload_bytes = segment_bytes(job) or DEFAULT_SEGMENT_BYTES
    return (workload.content_bytes(job) or 0) / payload_bytes * NS3_SEGMENT_CPU_S
