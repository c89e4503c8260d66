"""Situations in which verdicts are easily wrong: each with samples whose truth is known.

Modes and rare events hide from few replicates; several levels, several claims and several looks
each give another chance to be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from known_truth import (
    METRIC,
    bimodal,
    correlated,
    eventful,
    heavy,
    log_normal,
    pareto,
    race,
    results,
    two_values,
)
from netwarp.estimate.criteria import Criteria
from netwarp.study.claims import Claim

if TYPE_CHECKING:
    from known_truth import Draw
    from netwarp.results import Results

DIFFER = frozenset({"reproduced", "reversed", "smaller", "larger", "size-undecided"})
"""The verdicts that are wrong where nothing differs, at one level."""
ANYWHERE = DIFFER | {"partly", "partly-reversed", "depends"}
"""The verdicts that are wrong where nothing differs, at several levels."""
Make = Callable[[np.random.Generator, int], "Results"]


@dataclass(frozen=True)
class Situation:
    """Samples whose truth is known, claims about them, and the verdicts that are wrong."""

    name: str
    make: Make
    wrong: frozenset[str]
    sizes: tuple[int, ...]
    claims: Sequence[Claim] = field(default_factory=lambda: [lead()])


def lead(**keys: object) -> Claim:
    """Make a claim that QUIC has less than TCP."""
    return Claim.model_validate(
        {"text": "t", "metric": METRIC, "less": {"transport": "quic"},
         "than": {"transport": "tcp"}, **keys}
    )  # fmt: skip


def equal(tolerance: str = "5%") -> Claim:
    """Make a claim that QUIC and TCP have the same."""
    both = [{"transport": "quic"}, {"transport": "tcp"}]
    return Claim.model_validate(
        {"text": "t", "metric": METRIC, "equal": both, "tolerance": tolerance}
    )


def situations() -> list[Situation]:
    """List all situations, those in which nothing differs first."""
    few = (3, 5, 10)
    rare, steady = eventful(0.1, 4, 0.005), log_normal(0.005)
    return [
        Situation("nothing differs, t with 3 degrees", pair(heavy(0.1), heavy(0.1)), DIFFER, few),
        Situation("nothing differs, Pareto", pair(pareto(), pareto()), DIFFER, few),
        *(
            Situation(f"nothing differs, correlation {c}", paired(0.2, c), DIFFER, few)
            for c in (-0.6, 0.0, 0.5, 0.9)
        ),
        Situation("12 claims that share cells", twelve(log_normal(0.1)), ANYWHERE, few, TWELVE),
        Situation("12 claims, t with 3 degrees", twelve(heavy(0.1)), ANYWHERE, few, TWELVE),
        Situation("12 claims, runs in two modes", twelve(bimodal(0.4, 2.3, 0.03)), ANYWHERE,
                  (3, 4, 5, 8), TWELVE),
        Situation("two modes against none", pair(bimodal(0.4, 2.3, 0.03), log_normal(0.03)),
                  DIFFER, (3, 4, 5, 6, 7, 8)),
        Situation("12 claims, two modes against none", modes_against_none(), ANYWHERE,
                  (6, 8, 10, 12), TWELVE_LEVELS),
        Situation("a rare event: nothing differs", pair(steady, rare), frozenset({"equivalent"}),
                  (3, 5, 10, 20, 29, 40)),
        Situation("a rare event: equal within 10 %", pair(eventful(0.1, 4, 0.01), log_normal(0.01)),
                  frozenset({"reproduced"}), (3, 5, 10, 20, 29, 40), [equal("10%")]),
        Situation("a rare event: flat within 10 %", pair(eventful(0.1, 4, 0.01), log_normal(0.01)),
                  frozenset({"reproduced"}), (5, 10, 29), [flat("10%")]),
        Situation("two values", pair(two_values(0.5, 1.3), two_values(0.5, 1.3)), DIFFER,
                  (2, 3, 5, 8)),
        Situation("two values, 4 times apart", pair(two_values(0.5, 4), two_values(0.5, 4)), DIFFER,
                  (5, 8, 9)),
        *(
            Situation(f"up to 50 %, the lead is 30 %, spread {spread:.0%}",
                      pair(log_normal(spread, 0.7), log_normal(spread)), frozenset({"reproduced"}),
                      (5, 10), [lead(up_to="50%")])
            for spread in (0.3, 0.5)
        ),
        Situation("within close bounds, the lead is twice",
                  pair(log_normal(0.1, 0.5), log_normal(0.1)), frozenset({"smaller", "larger"}),
                  (7, 12), [lead(by_at_least="49.9%", by_at_most="50.1%")]),
        Situation("about twice, the lead is at the lower bound",
                  pair(log_normal(0.1, 1 - 0.428), log_normal(0.1)), frozenset({"reproduced"}),
                  (7, 12), [lead(by_at_least="42.9%", by_at_most="55.6%")]),
        Situation("more at one level, less at five",
                  levels(log_normal(0.02), (1.2, *[0.95] * 5)), frozenset({"reversed"}), (5, 10)),
        Situation("less at one level, more at five",
                  levels(log_normal(0.02), (1 / 1.2, *[1 / 0.95] * 5)), frozenset({"reproduced"}),
                  (5, 10)),
    ]  # fmt: skip


def flat(tolerance: str) -> Claim:
    """Make a claim that the transport makes no difference."""
    return Claim.model_validate(
        {"text": "t", "metric": METRIC, "flat_over": "transport", "tolerance": tolerance}
    )


def pair(quic: Draw, tcp: Draw) -> Make:
    """Draw two cells that are independent of each other."""
    return lambda rng, n: race([quic(rng, n)], [tcp(rng, n)], Criteria())


def paired(spread: float, correlation: float) -> Make:
    """Draw two cells whose replicates correlate."""

    def make(rng: np.random.Generator, n: int) -> Results:
        quic, tcp = correlated(spread, correlation)(rng, n)
        return race([quic], [tcp], Criteria())

    return make


def levels(draw: Draw, ratios: Sequence[float]) -> Make:
    """Draw QUIC and TCP at several levels, with the ratios of QUIC to TCP."""

    def make(rng: np.random.Generator, n: int) -> Results:
        quic = [ratio * draw(rng, n) for ratio in ratios]
        return race(quic, [draw(rng, n) for _ in ratios], Criteria())

    return make


STACKS = ("a", "b", "c")
TWELVE = [
    Claim.model_validate(
        {"text": "t", "metric": METRIC, "less": {"transport": first},
         "than": {"transport": second}, "where": {"level": str(level)}}
    )
    for level in range(4)
    for first, second in (("a", "b"), ("b", "c"), ("a", "c"))
]  # fmt: skip
"""Claims on every pair of three stacks at four levels: each cell is in two of them."""


TWELVE_LEVELS = [lead(where={"level": str(level + 1)}) for level in range(12)]
"""A claim at each of twelve levels, which share no cells."""


def modes_against_none() -> Make:
    """Draw cells in two modes and steady ones of equal geometric means, at twelve levels."""
    steady, modal = log_normal(0.03), bimodal(0.4, 2.3, 0.03)

    def make(rng: np.random.Generator, n: int) -> Results:
        levels = range(len(TWELVE_LEVELS))
        return race([modal(rng, n) for _ in levels], [steady(rng, n) for _ in levels], Criteria())

    return make


def twelve(draw: Draw) -> Make:
    """Draw the cells of `TWELVE`, between which nothing differs."""

    def make(rng: np.random.Generator, n: int) -> Results:
        return results(
            [
                ({"transport": stack, "level": str(level)}, draw(rng, n))
                for stack in STACKS
                for level in range(4)
            ],
            Criteria(),
        )

    return make
