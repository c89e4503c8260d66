"""Metrics that are one of several shares; all shares are computed together, once for a run."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from netwarp.measure.run_records import RunRecords

Key = TypeVar("Key")


def share(
    run: RunRecords, shares: Callable[[RunRecords], Mapping[Key, float] | None], key: Key
) -> float | None:
    """Return one share of a run; None if the run's records do not determine it.

    Args:
        run: the run.
        shares: computes all of the shares; the results are stored by this function.
        key: the share that is wanted.
    """
    found = run.computed_once(shares)
    return None if found is None else found[key]
