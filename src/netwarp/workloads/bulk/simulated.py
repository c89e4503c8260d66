"""Transfer of a file in ns-3, by its BulkSendApplication."""

from collections.abc import Mapping
from typing import Any

from netwarp import wire
from netwarp.measure.select import SIDES
from netwarp.transports import TRANSPORTS
from netwarp.units import NS_PER_S
from netwarp.wire import Bulk, Job, Record
from netwarp.workloads.base import Simulated

_NOT_COUNTED = wire.Stats(
    retransmitted_packets=None,
    smoothed_rtt_ns=None,
    min_rtt_ns=None,
    congestion_window_bytes=None,
    busy_ns=None,
    receive_window_limited_ns=None,
    send_buffer_limited_ns=None,
)


def refusal(job: Job, bulk: Bulk) -> str | None:
    """Return the reason why ns-3's applications cannot send the file; None if they can."""
    if not TRANSPORTS[job.only.transport.kind].repeats_what_is_lost:
        return "a bulk has to arrive whole: choose tcp"
    if bulk.direction != "up":
        return 'ns-3\'s BulkSendApplication dials and sends: set workload.direction = "up"'
    if bulk.verify or not isinstance(bulk.content, wire.Seeded):
        return "what ns-3 sends has no content: give workload.size, and workload.verify = false"
    if bulk.duration_ns is not None:
        return "BulkSendApplication sends a content of a known size: give workload.size"
    if bulk.chunks > 1 or bulk.transfers > 1:
        return "BulkSendApplication sends one content once: drop workload.chunks and transfers"
    return None


def traffic(job: Job, bulk: Bulk) -> dict[str, Any]:
    """Return the parameters of ns-3's application, by their names in the request to the
    simulation.
    """
    del job
    return {"size_bytes": bulk.content.size_bytes}


def records(job: Job, bulk: Bulk, answer: Mapping[str, Any]) -> list[Record]:
    """Convert the simulation's answer to records; empty if the last byte did not arrive."""
    if answer["done_s"] is None:
        return []
    done_ns, first_ns = (round(answer[name] * NS_PER_S) for name in ("done_s", "first_s"))
    settings = wire.Settings(
        transport=job.only.transport.kind,
        congestion=job.only.transport.congestion,
        initial_window_bytes=0,
        mss_bytes=0,
        send_buffer_bytes=job.only.transport.buffer_bytes,
        receive_buffer_bytes=job.only.transport.buffer_bytes,
        paced=False,
    )
    connection = wire.Connection(
        record="connection",
        side="client",
        connection=0,
        transfer=0,
        abandoned=False,
        resumed="none",
        start_ns=job.only.start_ns,
        connected_ns=answer["connected_ns"],
        settings=settings,
        stats=_NOT_COUNTED,
    )
    transfers = (
        wire.Transfer(
            record="transfer",
            side=side,
            connection=0,
            stream=0,
            transfer=0,
            chunk=0,
            direction=bulk.direction,
            bytes=bulk.content.size_bytes,
            resumed_at_bytes=0,
            first_byte_ns=first_ns,
            last_byte_ns=done_ns,
            sha256=None,
            longest_gap_ns=None,
            longest_gap_at_ns=None,
        )
        for side in SIDES
    )
    return [connection, *transfers]


SIMULATED = Simulated(refusal, traffic, records)
