"""`command`: programs of the machine, a server and a client, unmodified."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.select import of_kind
from netwarp.wire import Job, Program, Record, Segment, Transfer
from netwarp.workloads.base import Workload
from netwarp.workloads.command.metrics import COMMAND_METRICS
from netwarp.workloads.command.section import CommandSection


class CommandWorkload(Workload[wire.Command]):
    """What the programs exchange is theirs: netwarp knows when they ran, and what they printed."""

    section = CommandSection
    wire_type = wire.Command
    metrics = COMMAND_METRICS
    dials = False
    writes_files = True

    def start_ns(self, records: Sequence[Record]) -> int:
        """Say when the client's program was started."""
        return min(each.started_ns for each in of_kind(records, Program) if each.side == "client")

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Transfer | Segment]:
        """Give nothing: nobody but the programs knows what arrived."""
        del job, records
        return ()

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Say when the client's program ended."""
        del job
        return max(each.ended_ns for each in of_kind(records, Program) if each.side == "client")

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Say that a program has no record."""
        del job
        told = {each.side for each in of_kind(records, Program)}
        missing = {"server", "client"} - told
        return f"the {min(missing)}'s program has no record" if missing else None

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Say when the last program ended."""
        return max((each.ended_ns for each in of_kind(records, Program)), default=None)
