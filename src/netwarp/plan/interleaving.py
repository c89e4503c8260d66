"""The order of runs where time itself disturbs: cells at random, what is compared side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

from netwarp.plan.plan import PlannedRun


def contender_factor(levels: Mapping[str, Collection[str]]) -> str | None:
    """Name the factor whose levels race each other: the transport, else the first that varies.

    Args:
        levels: of each factor, in the study's order.

    Returns:
        None where there is no factor.
    """
    varying = [factor for factor, values in levels.items() if len(values) > 1]
    if "transport" in varying:
        return "transport"
    return varying[0] if varying else next(iter(levels), None)


def interleaved(runs: Sequence[PlannedRun], seed: int) -> list[PlannedRun]:
    """Order runs so that whatever drifts meets all cells alike, and pairs are back to back.

    Replicates come one after another. Within a replicate the conditions are in an order drawn for
    it, and under each condition its contenders, in an order drawn too, with nothing in between.

    Args:
        runs: of any cells and replicates.
        seed: the study's; the same one gives the same order.
    """
    levels_of: dict[str, set[str]] = {}
    for run in runs:
        for factor, level in run.cell.levels.items():
            levels_of.setdefault(factor, set()).add(level)
    contender = contender_factor(levels_of)

    def place(run: PlannedRun) -> tuple[int, str, str]:
        levels = dict(run.cell.levels)
        own = levels.pop(contender, "") if contender is not None else ""
        condition = _drawn(seed, run.replicate, *(f"{key}={levels[key]}" for key in levels))
        return run.replicate, condition, _drawn(seed, run.replicate, condition, own)

    return sorted(runs, key=place)


def _drawn(seed: int, *parts: object) -> str:
    """Draw a place among others: as random as a hash is, and the same each time."""
    return sha256("\0".join(map(str, (seed, *parts))).encode()).hexdigest()
