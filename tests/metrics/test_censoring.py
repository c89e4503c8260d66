"""The mean of waiting times that were partly cut off, against sums by hand and known means."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from netwarp.workloads.stream.censoring import kaplan_meier_mean


@pytest.mark.parametrize(
    ("complete", "censored", "mean"),
    [
        ([3, 1, 2], [], 2),
        # One of three at 1; one is not seen after 2; the last at 3.
        ([1, 3], [2], 1 + 2 / 3 + 2 / 3),
        # Of two at the same time the censored one is the longer.
        ([2, 4], [2], 2 + 2 / 3 * 2),
        # Where the longest is censored, a lower bound: its time counts as its end.
        ([1], [5], 1 + 0.5 * 4),
        ([], [5, 7], 7),
        ([0], [], 0),
        ([], [], None),
    ],
)
def test_the_mean_is_the_area_below_the_survival_curve(
    complete: list[float], censored: list[float], mean: float | None
) -> None:
    assert kaplan_meier_mean(complete, censored) == (mean if mean is None else pytest.approx(mean))


def test_it_finds_the_mean_that_the_complete_ones_miss() -> None:
    draw = random.Random(7)  # noqa: S311 - no secret
    times = [(draw.expovariate(1.0), draw.uniform(0, 12)) for _ in range(20_000)]
    complete = [time for time, end in times if time <= end]
    censored = [end for time, end in times if time > end]
    # The standard error is below 0.01.
    assert kaplan_meier_mean(complete, censored) == pytest.approx(1, abs=0.04)
    assert fmean(complete) < 0.93
