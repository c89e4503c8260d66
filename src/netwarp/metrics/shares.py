"""Metrics that are one share of several: all are computed together, once for a run."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from netwarp.measure.run_records import RunRecords

Key = TypeVar("Key")


def share(
    run: RunRecords, shares: Callable[[RunRecords], Mapping[Key, float] | None], key: Key
) -> float | None:
    """Return one share of a run; None where its records do not determine it.

    Args:
        run: the run.
        shares: computes all of them; the same function for each key, by which they are kept.
        key: the share that is read.
    """
    found = run.computed_once(shares)
    return None if found is None else found[key]
