"""Times of a content moved as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.metrics.select import of_last_transfer, ready_ns, received, span_ns
from netwarp.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Job, Record


def bulk_metrics(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute times and goodput of the run's last transfer, reconnections included."""
    last = of_last_transfer(job, records)
    start_ns, end_ns = span_ns(job, last)
    transfers = received(job, last)
    gaps_ns = [each.longest_gap_ns for each in transfers if each.longest_gap_ns is not None]
    found = {"longest_gap_s": max(gaps_ns) / NS_PER_S} if gaps_ns else {}
    first_byte_ns = min(transfer.first_byte_ns for transfer in transfers)
    completion_ns = end_ns - start_ns
    content_bits = 8 * sum(transfer.bytes for transfer in transfers)
    return found | {
        "connect_time_s": (ready_ns(last) - start_ns) / NS_PER_S,
        "first_byte_s": (first_byte_ns - start_ns) / NS_PER_S,
        "completion_time_s": completion_ns / NS_PER_S,
        "goodput_bit_s": content_bits * NS_PER_S / completion_ns,
    }
