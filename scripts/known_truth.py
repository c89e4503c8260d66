"""Samples whose truth is known: distributions, correlations, and the cells of a study.

`scripts/calibrate_statistics.py` judges them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from netwarp.estimate.criteria import Criteria
from netwarp.results import Results, RunResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

METRIC = "completion_time_s"
Draw = Callable[[np.random.Generator, int], "Values"]
"""Gives so many values of a cell: of one replicate each."""


def sigma_of(spread: float) -> float:
    """Give the standard deviation of the logarithm at a coefficient of variation."""
    return math.sqrt(math.log1p(spread**2))


def log_normal(spread: float, mean: float = 1.0) -> Draw:
    """Draw log-normal values of a geometric mean."""
    return lambda rng, n: mean * np.exp(rng.normal(0, sigma_of(spread), n))


def heavy(spread: float, mean: float = 1.0) -> Draw:
    """Draw values whose logarithm is Student's t with three degrees of freedom, scaled."""
    return lambda rng, n: mean * np.exp(spread * rng.standard_t(3, n))


def pareto(shape: float = 2.5) -> Draw:
    """Draw values of a Pareto distribution, whose tail is one-sided."""
    return lambda rng, n: 1 + rng.pareto(shape, n)


def bimodal(share: float, factor: float, noise: float, mean: float = 1.0) -> Draw:
    """Draw values of which a share is so many times as large; `mean` is the geometric one."""
    usual = mean / factor**share

    def draw(rng: np.random.Generator, n: int) -> Values:
        late = rng.random(n) < share
        values: Values = usual * np.where(late, factor, 1.0) * np.exp(rng.normal(0, noise, n))
        return values

    return draw


def eventful(share: float, factor: float, noise: float) -> Draw:
    """Draw values around 1, of which a share has an event that makes it so many times as large."""
    return bimodal(share, factor, noise, factor**share)


def two_values(share: float, factor: float, mean: float = 1.0) -> Draw:
    """Draw one of two values; `mean` is the geometric one."""
    return bimodal(share, factor, 0.0, mean)


def correlated(spread: float, correlation: float) -> Callable[..., tuple[Values, Values]]:
    """Give two cells' log-normal values whose logarithms correlate, replicate by replicate."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Values, Values]:
        a, b = rng.normal(0, sigma_of(spread), (2, n))
        second = correlation * a + math.sqrt(1 - correlation**2) * b
        return np.exp(a), np.exp(second)

    return draw


def results(
    cells: Sequence[tuple[dict[str, str], Sequence[float] | Values]], criteria: Criteria
) -> Results:
    """Make the results of a study from the values of its cells, replicate by replicate."""
    return Results(
        tuple(
            RunResult(
                f"c{index}-r{replicate}", index, replicate, replicate, factors, "ok", None,
                {METRIC: float(value)},
            )
            for index, (factors, values) in enumerate(cells)
            for replicate, value in enumerate(values)
        ),
        criteria,
    )  # fmt: skip


def race(quic: Sequence[Values], tcp: Sequence[Values], criteria: Criteria) -> Results:
    """Make the results of QUIC and TCP at levels 1, 2 and so on."""
    cells = [
        ({"transport": name, "level": str(level + 1)}, values)
        for name, levels in (("tcp", tcp), ("quic", quic))
        for level, values in enumerate(levels)
    ]
    return results(cells, criteria)
