"""Tests claims on the size of a lead, by how much one cell's values are smaller than another's:
that it is not larger than a share, or that it stays the same.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from netwarp.claims.evidence import Answer, Evidence, less, missing_values
from netwarp.estimate.comparison import compare
from netwarp.estimate.levels import ordered
from netwarp.estimate.location import location_of
from netwarp.estimate.needed import stdev_of, to_decide
from netwarp.results import CellResult
from netwarp.wording import factor_name, level_text, number, quantity


def at_most(
    cell: CellResult, other: CellResult, metric: str, relevant: float, share: float
) -> Evidence:
    """Test whether the value of `cell` is smaller than that of `other` by no more than a share of
    `other`'s value.

    A share of 0 is for a source that says "not less": a relevant difference contradicts it. Whether
    the value of `cell` is smaller at all is not tested. The two answers exclude each other, so each
    is tested at the full error.
    """
    found = less(cell, other, metric, relevant)
    if found.fixed is not None:
        return found
    comparison = compare(other.samples(metric), cell.samples(metric), relevant)
    location = comparison.location
    if location is None or (share and comparison.scale == "difference"):
        return Evidence("a share needs values above 0", fixed="untested")
    bound = math.log1p(-share) if share else -comparison.limit
    chances: dict[Answer, float] = {
        "holds": location.p_above(bound),
        "reversed": location.p_below(bound),
    }
    stdev = comparison.stdev or 0.0
    undecided = to_decide(location, comparison.n, stdev, (bound,), 0.0)
    return replace(found, chances=chances, undecided=undecided)


def refuted_by_none(found: Evidence) -> Evidence:
    """Return the evidence for a claim that a difference exists. It is contradicted if there is no
    relevant difference.
    """
    if "equivalent" not in found.chances:
        return found
    chances = dict(found.chances)
    chances["reversed"] = min(chances.get("reversed", 1.0), chances.pop("equivalent"))
    return replace(found, chances=chances)


def lead_stays(
    cells: Sequence[CellResult], others: Sequence[CellResult], metric: str, factor: str,
    tolerance: float,
) -> Evidence:  # fmt: skip
    """Test whether the gap between `others` and `cells` is the same at all levels of a factor.

    The gaps at all pairs of levels must differ by less than the tolerance, a share of the mean gap,
    by two one-sided tests for each (an intersection-union test, Berger 1982). The test that some
    pair differs by more is Bonferroni-corrected.
    """
    labels = ordered([cell.factors[factor] for cell in cells])
    if len(labels) < 2:
        return Evidence(f"{factor_name(factor)} has one level here", fixed="untested")
    if failure := missing_values(metric, *cells, *others):
        return failure
    gaps = {label: _gaps(cells, others, metric, factor, label) for label in labels}
    shared = sorted(set.intersection(*(set(each) for each in gaps.values())))
    if len(shared) < 2:
        return Evidence("fewer than two replicates at every level", fixed="untested")
    by_level = {label: [gaps[label][r] for r in shared] for label in labels}
    means = {label: math.fsum(values) / len(values) for label, values in by_level.items()}
    limit = tolerance * abs(math.fsum(means.values()) / len(means))
    random = any(cell.is_random for cell in (*cells, *others))
    pairs = [
        location_of(
            [b - a for a, b in zip(by_level[first], by_level[second], strict=True)], random=random
        )
        for first, second in combinations(labels, 2)
    ]
    apart = max(pairs, key=lambda pair: abs(pair.value))
    chances: dict[Answer, float] = {
        "holds": max(pair.p_within(-limit, limit) for pair in pairs),
        "reversed": min(1.0, len(pairs) * min(p.p_outside(-limit, limit) for p in pairs)),
    }
    shown = quantity(metric, max(map(abs, means.values())))
    listed = ", ".join(
        f"{number(mean * shown.scale)} at {level_text(factor, label)}"
        for label, mean in means.items()
    )
    n = len(shared)
    undecided = to_decide(apart, n, stdev_of(apart, n), (-limit, limit), limit)
    values = {"gaps": means, "limit": limit}
    return Evidence(f"the gap is {listed} {shown.unit}".rstrip(), chances, values,
                    undecided=undecided)  # fmt: skip


def _gaps(
    cells: Sequence[CellResult], others: Sequence[CellResult], metric: str, factor: str, label: str
) -> dict[int, float]:
    """Return the difference `others` − `cells` at one level of a claim's factor, for each replicate
    in which both have a value.
    """
    ours, theirs = (
        next(each.samples(metric) for each in side if each.factors[factor] == label)
        for side in (cells, others)
    )
    found = {}
    for replicate in ours.keys() & theirs.keys():
        a, b = ours[replicate].value, theirs[replicate].value
        if a is not None and b is not None:
            found[replicate] = b - a
    return found
