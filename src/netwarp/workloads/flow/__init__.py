"""The workload `flow`: messages of one size, each sent at its scheduled time."""

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.select import connections, of_kind
from netwarp.wire import FlowSent, FlowStats, Job, Record
from netwarp.workloads.arrivals import ScheduledWorkload, most_messages
from netwarp.workloads.flow.metrics import FLOW_METRICS
from netwarp.workloads.flow.section import FlowSection
from netwarp.workloads.flow.simulated import SIMULATED


class FlowWorkload(ScheduledWorkload[wire.Flow]):
    """Messages that are sent by a schedule; the delay and the loss of each are recorded."""

    section = FlowSection
    wire_type = wire.Flow
    metrics = FLOW_METRICS
    simulated = SIMULATED
    one_way_delay = "message_delay_mean_s"

    def content_bytes(self, job: Job) -> int | None:
        """Return the size of all messages in bytes; None if their number is random."""
        flow = self.of(job)
        return None if flow.messages is None else flow.messages * flow.message_bytes

    def messages(self, job: Job) -> int:
        """Return the number of messages; 0 if it is random."""
        return self.of(job).messages or 0

    def is_between_clocks(self, job: Job) -> bool:
        """Return True: a flow's delays are always differences between the clocks of the two
        hosts.
        """
        return True

    def server_refusal(self, job: Job) -> str | None:
        """Return the reason why a server refuses the workload: a table of packets would be written
        on the server's host, and never transferred back. None if it accepts it.
        """
        flow = self.of(job)
        if flow.packet_table and flow.direction == "up":
            return "its table of packets would be written at the server: leave out packet_table"
        return None

    def most_content_bytes(self, job: Job) -> int:
        """Return an upper bound on the bytes of all messages; see `most_messages`."""
        flow = self.of(job)
        return flow.message_bytes * most_messages(flow)

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return when the client connected, or in ns-3 when the first message was sent."""
        dialled = [each.start_ns for each in connections(records, "client")]
        return min(dialled or (each.first_ns for each in of_kind(records, FlowSent)))

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return how the records of messages sent and received contradict each other; None if they
        do not.
        """
        flow = self.of(job)
        sent = of_kind(records, FlowSent)
        arrived = of_kind(records, FlowStats)
        # ns-3's FlowMonitor sees only packets, no messages.
        arrived = [each for each in arrived if each.unit == "message"] or arrived
        if not sent and [each.received for each in arrived] == [0]:
            return None  # not even the request for the flow has arrived
        if len(sent) != 1 or len(arrived) != 1:
            return f"the flow has {len(sent)} senders and {len(arrived)} receivers on record, not 1"
        expected = flow.messages if flow.duration_ns is None else None
        if expected is not None and sent[0].messages != expected:
            return f"{sent[0].messages} of {expected} messages were sent"
        if arrived[0].unit == "message" and arrived[0].received > sent[0].messages:
            return f"{arrived[0].received} messages arrived of {sent[0].messages}"
        return None
