"""A flow in ns-3: UdpClient, or BulkSendApplication over TCP, measured by FlowMonitor."""

from collections.abc import Mapping
from typing import Any

from netwarp import wire
from netwarp.transports import TRANSPORTS
from netwarp.units import NS_PER_S
from netwarp.wire import Flow, Job, Record
from netwarp.workloads.base import Simulated


def refusal(job: Job, flow: Flow) -> str | None:
    """Return the reason why ns-3's applications cannot send the flow; None if they can."""
    if flow.direction != "up":
        return 'ns-3\'s clients send: set workload.direction = "up"'
    if not isinstance(flow.arrivals, wire.ConstantArrivals) or flow.messages is None:
        return "ns-3's UdpClient sends so many messages at equal intervals: give interval and count"
    if flow.packet_table:
        return "ns-3's FlowMonitor keeps sums and no packets: drop workload.packet_table"
    offered_bit_s = 8 * flow.message_bytes * NS_PER_S / flow.arrivals.interval_ns
    is_stream = TRANSPORTS[job.only.transport.kind].repeats_what_is_lost
    if is_stream and offered_bit_s < (job.paths[0].up.rate_bit_s or 0):
        return (
            "over TCP ns-3's BulkSendApplication sends as fast as it goes, and this flow is slower"
            " than the path: shorten workload.interval, or choose udp"
        )
    return None


def traffic(job: Job, flow: Flow) -> dict[str, Any]:
    """Return the parameters of ns-3's application, by their names in the request to the
    simulation.
    """
    del job
    if not isinstance(flow.arrivals, wire.ConstantArrivals) or flow.messages is None:
        raise TypeError("ns-3 was asked for a flow that it refuses")
    return {
        "messages": flow.messages,
        "interval_ns": flow.arrivals.interval_ns,
        "message_bytes": flow.message_bytes,
        "size_bytes": flow.messages * flow.message_bytes,
    }


def records(job: Job, flow: Flow, answer: Mapping[str, Any]) -> list[Record]:
    """Convert FlowMonitor's sums to records."""
    del job
    sent = wire.FlowSent(
        record="flow_sent",
        side="client",
        messages=flow.messages or 0,
        bytes=(flow.messages or 0) * flow.message_bytes,
        first_ns=answer["first_sent_ns"],
        last_ns=answer["last_sent_ns"],
        late_ns_max=None,
    )
    has_any = answer["received"] > 0
    stats = wire.FlowStats(
        record="flow_stats",
        unit="packet",
        direction=flow.direction,
        sent=answer["sent"],
        received=answer["received"],
        received_bytes=answer["received_bytes"],
        first_received_ns=answer["first_received_ns"] if has_any else None,
        last_received_ns=answer["last_received_ns"] if has_any else None,
        delay_sum_ns=answer["delay_sum_ns"],
        jitter_sum_ns=answer["jitter_sum_ns"],
        rfc3550_jitter_ns=None,
        reordered=None,
        duplicates=None,
        delay_quantiles_ns=(),
    )
    return [sent, stats]


SIMULATED = Simulated(refusal, traffic, records)
