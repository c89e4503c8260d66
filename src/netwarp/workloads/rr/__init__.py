"""The workload `rr`: requests at a given rate, each answered by a response."""

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.select import of_kind
from netwarp.wire import FlowSent, FlowStats, Job, Record
from netwarp.workloads.arrivals import ScheduledWorkload, most_messages
from netwarp.workloads.rr.metrics import REQUEST_RESPONSE_METRICS
from netwarp.workloads.rr.section import RequestResponseSection


class RequestResponseWorkload(ScheduledWorkload[wire.RequestResponse]):
    """Requests and their responses; the latency of each is recorded, and which requests got no
    response.
    """

    section = RequestResponseSection
    wire_type = wire.RequestResponse
    metrics = REQUEST_RESPONSE_METRICS

    def content_bytes(self, job: Job) -> int | None:
        """Return the bytes of all requests and responses; None if their number is random."""
        asked = self.of(job)
        each_bytes = asked.request_bytes + asked.response_bytes
        return None if asked.messages is None else asked.messages * each_bytes

    def messages(self, job: Job) -> int:
        """Return the number of requests and responses; 0 if it is random."""
        return 2 * (self.of(job).messages or 0)

    def server_refusal(self, job: Job) -> None:
        """Return None: a server does not refuse the workload, because it answers only requests with
        the run's token, and a limited number of them.
        """

    def most_content_bytes(self, job: Job) -> int:
        """Return an upper bound on the bytes of all requests and responses; see `most_messages`."""
        asked = self.of(job)
        return (asked.request_bytes + asked.response_bytes) * most_messages(asked)

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return how the records of requests and responses contradict each other; None if they do
        not.
        """
        asked = self.of(job)
        sent = of_kind(records, FlowSent)
        answered = [each for each in of_kind(records, FlowStats) if each.unit == "response"]
        if len(sent) != 1 or len(answered) != 1:
            return f"{len(sent)} senders and {len(answered)} receivers are on record, not 1 of each"
        expected = asked.messages if asked.duration_ns is None else None
        if expected is not None and sent[0].messages != expected:
            return f"{sent[0].messages} of {expected} requests were sent"
        if answered[0].received > sent[0].messages:
            return f"{answered[0].received} responses arrived to {sent[0].messages} requests"
        return None
