"""The workload `traffic`: many flows of random sizes, each over its own connection."""

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.run_records import Arrival
from netwarp.measure.select import of_kind
from netwarp.wire import FlowTable, Job, Record
from netwarp.workloads.base import Workload
from netwarp.workloads.traffic.distributions import mean_bytes
from netwarp.workloads.traffic.metrics import TRAFFIC_METRICS
from netwarp.workloads.traffic.section import TrafficSection


class TrafficWorkload(Workload[wire.Traffic]):
    """Flows whose sizes are drawn from a distribution; the completion time of each is recorded, but
    not its connection.
    """

    section = TrafficSection
    wire_type = wire.Traffic
    metrics = TRAFFIC_METRICS

    def dials(self, job: Job) -> bool:
        """Return False: there are too many connections for each to have a record."""
        return False

    def content_bytes(self, job: Job) -> int:
        """Return the expected total size of all flows, in bytes."""
        traffic = self.of(job)
        return round(traffic.flows * mean_bytes(traffic.sizes))

    def most_content_bytes(self, job: Job) -> int:
        """Return the total size in bytes that all flows would have if each had the largest size."""
        traffic = self.of(job)
        return traffic.flows * max(point.size_bytes for point in traffic.sizes)

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return when the first flow was due, in ns of the run's clock; 0 if no flow is
        recorded.
        """
        return min((at for each in of_kind(records, FlowTable) for at in each.due_ns), default=0)

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return an empty list: each flow has its own completion time."""
        return ()

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the last flow was completed, in ns of the run's clock; 0 if no flow is
        recorded.
        """
        return self.chart_end_ns(records) or 0

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return which flows are missing, or were completed before they were due; None if there are
        none.
        """
        asked = self.of(job).flows
        tables = of_kind(records, FlowTable)
        if len(tables) != 1:
            return f"{len(tables)} tables of flows are on record, not 1"
        (table,) = tables
        if len(table.due_ns) != asked:
            return f"{len(table.due_ns)} of {asked} flows are on record"
        early = sum(due >= done for due, done in zip(table.due_ns, table.completed_ns, strict=True))
        return f"{early} flows were completed before they were due" if early else None

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return when the last flow was completed, in ns of the run's clock."""
        return max(
            (at for each in of_kind(records, FlowTable) for at in each.completed_ns), default=None
        )
