"""Metrics that are shares of one whole, such as of a run's time: all of them are computed together,
once for a run.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from netwarp.measure.run_records import RunRecords

Key = TypeVar("Key")


def share(
    run: RunRecords, shares: Callable[[RunRecords], Mapping[Key, float] | None], key: Key
) -> float | None:
    """Return one of several shares of a run; None if the run's records do not determine it.

    Args:
        run: the run.
        shares: computes all of the shares; its results are cached by this function itself.
        key: the share that is wanted.
    """
    found = run.computed_once(shares)
    return None if found is None else found[key]
