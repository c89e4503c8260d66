"""`flow`: messages of one size, each sent when it is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp import wire
from netwarp.measure.select import connections, of_kind
from netwarp.wire import FlowSent, FlowStats, Job, Record, Segment, Transfer
from netwarp.workloads.arrivals import most_messages
from netwarp.workloads.base import Workload
from netwarp.workloads.flow import simulated
from netwarp.workloads.flow.metrics import FLOW_METRICS
from netwarp.workloads.flow.section import FlowSection


class FlowWorkload(Workload[wire.Flow]):
    """What counts is when each message arrived, and which ones did not."""

    section = FlowSection
    wire_type = wire.Flow
    metrics = FLOW_METRICS

    def content_bytes(self, job: Job) -> int | None:
        """Say how many bytes the messages have; None where their number is drawn."""
        flow = self.of(job)
        return None if flow.messages is None else flow.messages * flow.message_bytes

    def messages(self, job: Job) -> int:
        """Say how many messages there are; 0 where their number is drawn."""
        return self.of(job).messages or 0

    def server_refusal(self, job: Job) -> str | None:
        """Refuse a table of packets, which would be written where nobody fetches it."""
        flow = self.of(job)
        if flow.packet_table and flow.direction == "up":
            return "its table of packets would be written at the server: leave out packet_table"
        return None

    def most_content_bytes(self, job: Job) -> int:
        """Say how many bytes the messages have at most; of drawn arrivals, all but surely."""
        flow = self.of(job)
        return flow.message_bytes * most_messages(flow)

    def start_ns(self, records: Sequence[Record]) -> int:
        """Say when the client dialled; of a simulator, which does not tell, when it first sent."""
        dialled = [each.start_ns for each in connections(records, "client")]
        return min(dialled or (each.first_ns for each in of_kind(records, FlowSent)))

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Transfer | Segment]:
        """Give nothing: messages are no content that has to arrive whole."""
        del job, records
        return ()

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Say when the last message arrived, or was sent where later ones were lost."""
        del job
        return max(_moments_ns(records))

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Say how what was sent and what arrived cannot be."""
        flow = self.of(job)
        sent = of_kind(records, FlowSent)
        arrived = of_kind(records, FlowStats)
        # A simulator's monitor sees packets alone, and so does nobody else who sees no messages.
        arrived = [each for each in arrived if each.unit == "message"] or arrived
        if len(sent) != 1 or len(arrived) != 1:
            return f"the flow has {len(sent)} senders and {len(arrived)} receivers on record, not 1"
        expected = flow.messages if flow.duration_ns is None else None
        if expected is not None and sent[0].messages != expected:
            return f"{sent[0].messages} of {expected} messages were sent"
        if arrived[0].received == 0:
            return f"none of the {sent[0].messages} messages arrived"
        if arrived[0].unit == "message" and arrived[0].received > sent[0].messages:
            return f"{arrived[0].received} messages arrived of {sent[0].messages}"
        return None

    def simulator_refusal(self, job: Job) -> str | None:
        """Say why ns-3's applications cannot send it; None when they can."""
        return simulated.refusal(job, self.of(job))

    def simulator_traffic(self, job: Job) -> dict[str, Any]:
        """Give what ns-3's applications are to send."""
        return simulated.traffic(self.of(job))

    def simulator_records(self, job: Job, answer: Mapping[str, Any]) -> list[Record]:
        """Word what ns-3 saw as records."""
        return simulated.records(self.of(job), answer)

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Say when the last message was sent, or arrived."""
        return max(_moments_ns(records), default=None)


def _moments_ns(records: Sequence[Record]) -> list[int]:
    sent = [each.last_ns for each in of_kind(records, FlowSent)]
    arrived = (each.last_received_ns for each in of_kind(records, FlowStats))
    return sent + [at_ns for at_ns in arrived if at_ns is not None]
