"""`rr`: requests at a given rate, each answered by a response."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.select import connections, of_kind
from netwarp.wire import FlowSent, FlowStats, Job, Record, Segment, Transfer
from netwarp.workloads.arrivals import most_messages
from netwarp.workloads.base import Workload
from netwarp.workloads.rr.metrics import REQUEST_RESPONSE_METRICS
from netwarp.workloads.rr.section import RequestResponseSection


class RequestResponseWorkload(Workload[wire.RequestResponse]):
    """What counts is how long each request took to be answered, and which ones were not."""

    section = RequestResponseSection
    wire_type = wire.RequestResponse
    metrics = REQUEST_RESPONSE_METRICS

    def content_bytes(self, job: Job) -> int | None:
        """Say how many bytes are exchanged; None where the number of requests is drawn."""
        asked = self.of(job)
        each_bytes = asked.request_bytes + asked.response_bytes
        return None if asked.messages is None else asked.messages * each_bytes

    def messages(self, job: Job) -> int:
        """Say how many requests and responses there are; 0 where their number is drawn."""
        return 2 * (self.of(job).messages or 0)

    def server_refusal(self, job: Job) -> None:
        """Say nothing: a server answers what has the run's token, and counts its answers."""
        del job

    def most_content_bytes(self, job: Job) -> int:
        """Say how many bytes are exchanged at most; of drawn arrivals, all but surely."""
        asked = self.of(job)
        return (asked.request_bytes + asked.response_bytes) * most_messages(asked)

    def start_ns(self, records: Sequence[Record]) -> int:
        """Say when the client dialled."""
        return min(each.start_ns for each in connections(records, "client"))

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Transfer | Segment]:
        """Give nothing: responses are no content that has to arrive whole."""
        del job, records
        return ()

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Say when the last response arrived, or a later request was sent that got none."""
        del job
        return max(_moments_ns(records))

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Say how what was asked and what was answered cannot be."""
        asked = self.of(job)
        sent = of_kind(records, FlowSent)
        answered = [each for each in of_kind(records, FlowStats) if each.unit == "response"]
        if len(sent) != 1 or len(answered) != 1:
            return f"{len(sent)} senders and {len(answered)} receivers are on record, not 1 of each"
        expected = asked.messages if asked.duration_ns is None else None
        if expected is not None and sent[0].messages != expected:
            return f"{sent[0].messages} of {expected} requests were sent"
        if answered[0].received == 0:
            return f"none of the {sent[0].messages} requests was answered"
        if answered[0].received > sent[0].messages:
            return f"{answered[0].received} responses arrived to {sent[0].messages} requests"
        return None

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Say when the last request was sent, or response arrived."""
        return max(_moments_ns(records), default=None)


def _moments_ns(records: Sequence[Record]) -> list[int]:
    sent = [each.last_ns for each in of_kind(records, FlowSent)]
    arrived = (each.last_received_ns for each in of_kind(records, FlowStats))
    return sent + [at_ns for at_ns in arrived if at_ns is not None]
