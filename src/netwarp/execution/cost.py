"""Estimates the CPU time of runs, to announce how long a study will take.

The numbers are from one machine (two CPUs of x86-64 in a virtual machine, Linux 7.3 in guests,
November 2026): they were derived from the CPU time of 1 740 runs of reproductions of kim-2022,
nam-2021 and park-2008. For all 16 614 runs there, the predicted sum is 1.06 times the measured one;
for the transfers, pages or streams of one transport it is 0.7 to 1.3 times that. The numbers for
ns-3 were derived from tso-2021. A single run is predicted within about a factor of two.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from netwarp.backends.ns3.request import DEFAULT_SEGMENT_BYTES, segment_bytes
from netwarp.estimate.staging import TIMES
from netwarp.plan import PlannedRun
from netwarp.transports import TRANSPORTS, runs_in_ns3
from netwarp.units import span_text
from netwarp.wire import Job
from netwarp.workloads import workload_of

START_CPU_S = 0.05
"""CPU time in s of a guest without its workload: for its boot, for building the path, and for its
end."""
HOSTS_CPU_S = 0.024
"""CPU time in s of each further workload in a network of several hosts: for its hosts, their links,
and its two processes. It was measured in a run with 255 senders.
"""
PROGRAM_CPU_S = 2.0
"""CPU time in s of a client's and a server's program that are not netwarp's, and of each further
program of a network: what they transfer is not known beforehand.
"""
MESSAGE_CPU_S = 20e-6
"""CPU time in s of each message of a flow in addition to that of its bytes: for its timer, its
write and its read."""
NS3_LOAD_CPU_S = 15.0
"""CPU time in s for loading and compiling ns-3's bindings, once for each study that needs it."""
NS3_SEGMENT_CPU_S = 60e-6
"""CPU time in s of a TCP segment and its acknowledgement in ns-3."""
NS3_DATAGRAM_CPU_S = 10e-6
"""CPU time in s of a datagram in ns-3, delivered or dropped."""
REPORT_CPU_S = 2.0
"""CPU time in s of a study in addition to its runs: for planning, evaluation and report."""


@dataclass(frozen=True)
class Expected:
    """The expected cost of one study or several, before anything is run."""

    studies: int
    runs: int
    kept: int
    """Number of runs that are kept from an earlier execution."""
    cpu_s: float
    """CPU time in s of the runs that are not kept, and of evaluation and reports."""

    def wall_s(self, cpus: int) -> float:
        """Estimate the wall time in s on this number of CPUs, of which each run uses one."""
        return self.cpu_s / max(1, min(cpus, self.runs - self.kept))

    def text(self, cpus: int | None, *, adds: bool) -> str:
        """Return the number of runs and their expected time as text.

        Args:
            cpus: number of CPUs that are used; None if other machines carry out the runs.
            adds: whether replicates are added, which takes longer.
        """
        kept = f" ({self.kept} of them kept)" if self.kept else ""
        where = "of CPU time" if cpus is None else f"on {cpus} CPU{'s' * (cpus > 1)}"
        runs = f"{self.runs} run{'s' * (self.runs != 1)}"
        text = f"{runs}{kept}: about {span_text(self.wall_s(cpus or 1))} {where}"
        if not adds:
            return text
        return f"{text}, and up to {TIMES} times as long where verdicts stay open"


def expected_of(plan: Sequence[PlannedRun], kept: Collection[str]) -> Expected:
    """Estimate the cost of a study's runs that are not kept.

    Replicates that are added while verdicts are undecided are not included.
    """
    missing = [run for run in plan if run.run not in kept]
    cpu_s = REPORT_CPU_S + expected_cpu_s(run.cell.template for run in missing)
    return Expected(1, len(plan), len(plan) - len(missing), cpu_s)


def expected_cpu_s(jobs: Iterable[Job]) -> float:
    """Return the estimated CPU time in s of all runs of a study."""
    # The replicates of a cell have one template, whose cost is computed once.
    counted: dict[int, tuple[Job, int]] = {}
    for job in jobs:
        counted[id(job)] = (job, counted.get(id(job), (job, 0))[1] + 1)
    needs_ns3 = any(runs_in_ns3(job) for job, _ in counted.values())
    all_runs_s = sum(count * run_cpu_s(job) for job, count in counted.values())
    return all_runs_s + NS3_LOAD_CPU_S * needs_ns3


def run_cpu_s(job: Job) -> float:
    """Return the estimated CPU time in s of a run, without the time that its study needs only
    once.
    """
    if runs_in_ns3(job):
        return sum(map(_simulated_cpu_s, job.each_alone))
    of_each = sum(map(_workload_cpu_s, job.each_alone))
    further = len(job.workloads) - 1
    hosts_cpu_s = 0.0 if job.network is None else further * HOSTS_CPU_S
    # all workloads share one guest, so its boot counts once
    return of_each - further * START_CPU_S + hosts_cpu_s


def _workload_cpu_s(job: Job) -> float:
    workload = workload_of(job)
    content_bytes = workload.content_bytes(job)
    if content_bytes is None:
        return START_CPU_S + PROGRAM_CPU_S * (1 + len(workload.further_hosts(job.only)))
    start_cpu_s = START_CPU_S + workload.programs_cpu_s(job)
    messages_cpu_s = workload.messages(job) * MESSAGE_CPU_S
    bytes_cpu_s = content_bytes / 1e6 * TRANSPORTS[job.only.transport.kind].cpu_s_per_mb
    return start_cpu_s + messages_cpu_s + bytes_cpu_s


def _simulated_cpu_s(job: Job) -> float:
    """Return the estimated CPU time in s of a workload in ns-3: a constant for each packet."""
    workload = workload_of(job)
    if not TRANSPORTS[job.only.transport.kind].runs_over_tcp:
        return workload.messages(job) * NS3_DATAGRAM_CPU_S
    payload_bytes = segment_bytes(job) or DEFAULT_SEGMENT_BYTES
    return (workload.content_bytes(job) or 0) / payload_bytes * NS3_SEGMENT_CPU_S
