"""Times from one host's clock to another's, which are uncertain by their clock offset."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.measure.select import of_kind
from netwarp.wire import PathMeasurement, Record

MOST_UNCERTAIN = 0.1
"""A time is not given if its uncertainty (±) is more than this share of it."""


def clock_uncertainty_ns(records: Sequence[Record]) -> int | None:
    """Give the uncertainty (±) of the server's times in ns; None where there is one clock."""
    bounds = [each.clock_uncertainty_ns for each in of_kind(records, PathMeasurement)]
    known = [each for each in bounds if each is not None]
    return max(known) if known else None


def is_known(span_ns: float, records: Sequence[Record]) -> bool:
    """Say whether a time from one host's clock to the other's is certain enough to be given."""
    uncertainty_ns = clock_uncertainty_ns(records)
    return uncertainty_ns is None or uncertainty_ns <= MOST_UNCERTAIN * span_ns


def upload_refusal(span_ns: int, records: Sequence[Record]) -> str | None:
    """Give the reason why the time of an upload, which ends on the server's clock, cannot be given.

    Args:
        span_ns: time from the client's start to the server's last byte.
        records: the run's records.

    Returns:
        None where it can be given, as in all runs with one clock.
    """
    if is_known(span_ns, records):
        return None
    uncertainty_ns = clock_uncertainty_ns(records) or 0
    return (
        f"the upload ended {span_ns / 1e6:.2f} ms after its start by the server's clock, which is"
        f" known to ±{uncertainty_ns / 1e6:.2f} ms, and more than {MOST_UNCERTAIN:.0%} is too"
        " uncertain: send more, or the other way"
    )
