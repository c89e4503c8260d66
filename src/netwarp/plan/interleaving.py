"""The order of runs in real time: cells in random order, and runs that are compared one after
another.
"""

from collections.abc import Sequence
from hashlib import sha256

from netwarp.plan.plan import PlannedRun
from netwarp.study.contenders import contender_factor


def interleaved(
    runs: Sequence[PlannedRun], seed: int, against: str | None = None
) -> list[PlannedRun]:
    """Return runs in an order in which a path that changes slowly affects all cells alike, and runs
    that are compared follow one another.

    Replicates come one after another. Within a replicate the conditions are in random order; under
    each condition its contenders run in random order, with no other run in between.

    Args:
        runs: runs of any cells and replicates.
        seed: the study's seed; the same seed gives the same order.
        against: the factor whose levels are compared; None if the study names none.
    """
    levels_of: dict[str, set[str]] = {}
    for run in runs:
        for factor, level in run.cell.levels.items():
            levels_of.setdefault(factor, set()).add(level)
    contender = contender_factor(levels_of, against)

    def place(run: PlannedRun) -> tuple[int, str, str]:
        levels = dict(run.cell.levels)
        own = levels.pop(contender, "") if contender is not None else ""
        condition = _drawn(seed, run.replicate, *(f"{key}={levels[key]}" for key in levels))
        return run.replicate, condition, _drawn(seed, run.replicate, condition, own)

    return sorted(runs, key=place)


def _drawn(seed: int, *parts: object) -> str:
    """Return a sort key for random order: a hash, so that the order is the same each time."""
    return sha256("\0".join(map(str, (seed, *parts))).encode()).hexdigest()
