"""Claims about how something changes over a factor: leads that grow or shrink, flat, linear."""

from dataclasses import replace

import pytest

from claimed import LESS, grid, judge, lead
from netwarp.claims import ClaimVerdict
from netwarp.results import Results


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.0, 1.3, 1.9), ClaimVerdict.REPRODUCED),
        ((1.9, 1.3, 1.1), ClaimVerdict.REVERSED),
        ((1.5, 1.5, 1.5), ClaimVerdict.EQUIVALENT),
        # Behind everywhere, and less so: that is no lead that grows.
        ((0.5, 0.6, 0.7), ClaimVerdict.REVERSED),
        # Behind at first, ahead at last.
        ((0.8, 1.2, 1.9), ClaimVerdict.DEPENDS),
        # A step is growth from end to end, and none in between.
        ((1.0, 1.0, 1.5), ClaimVerdict.PARTLY),
        ((1.0, 1.9, 1.5), ClaimVerdict.PARTLY),
    ],
)
def test_a_lead_that_grows(ratios: tuple[float, ...], verdict: ClaimVerdict) -> None:
    assert judge(lead(*ratios), **LESS, grows_with="streams").verdict is verdict


def test_a_lead_that_grows_is_given_at_each_level() -> None:
    found = judge(lead(1.0, 1.3, 1.9), **LESS, grows_with="streams").found
    assert found.startswith("the ratio is 1.00 [")
    assert "1.90 [" in found


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.9, 1.5, 1.1), ClaimVerdict.REPRODUCED),
        ((1.1, 1.5, 1.9), ClaimVerdict.REVERSED),
        # Ahead at first and behind at last: the lead did not only shrink.
        ((1.5, 1.2, 0.8), ClaimVerdict.DEPENDS),
        # TCP ahead at all levels: there is no lead of QUIC's to shrink.
        ((0.9, 0.8, 0.7), ClaimVerdict.REVERSED),
    ],
)
def test_a_lead_that_shrinks(ratios: tuple[float, ...], verdict: ClaimVerdict) -> None:
    assert judge(lead(*ratios), **LESS, shrinks_with="streams").verdict is verdict


def test_a_gap_may_grow_where_the_ratio_does_not() -> None:
    means = {("quic", "1"): 10.0, ("tcp", "1"): 15.0, ("quic", "2"): 40.0, ("tcp", "2"): 56.0}
    few = {"less": {"transport": "quic"}, "than": {"transport": "tcp"}, "grows_with": "streams"}
    assert judge(grid(means), **few, lead="gap").verdict is ClaimVerdict.REPRODUCED
    assert judge(grid(means), **few, lead="ratio").verdict is ClaimVerdict.REVERSED


def test_a_gap_is_held_against_what_matters_at_its_own_level() -> None:
    """QUIC is 5 % behind where all is quick; where all is slow, 1 % is ten times as much."""
    means = {("quic", "1"): 10.5, ("tcp", "1"): 10.0, ("quic", "2"): 300.0, ("tcp", "2"): 500.0}
    judged = judge(grid(means), **LESS, grows_with="streams", lead="gap")
    assert judged.verdict is ClaimVerdict.DEPENDS


def test_a_condition_that_says_more_than_partly_is_heard() -> None:
    """What grows from end to end in both conditions is behind at first in one of them."""
    steps = {"50ms": (1.0, 1.0, 1.5), "200ms": (0.8, 1.2, 1.9)}
    runs = [
        replace(run, cell=run.cell + 6 * i, factors={**run.factors, "path.rtt": rtt})
        for i, (rtt, ratios) in enumerate(steps.items())
        for run in lead(*ratios).runs
    ]
    judged = judge(Results(tuple(runs)), **LESS, grows_with="streams")
    assert judged.verdict is ClaimVerdict.DEPENDS
    assert "holds from end to end, not at every step at RTT 50 ms" in judged.found


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.0, 1.3, 1.9), ClaimVerdict.REPRODUCED),
        # Behind where it matters little, ahead where it matters: ahead overall.
        ((0.95, 1.3), ClaimVerdict.REPRODUCED),
        ((0.5, 1.2), ClaimVerdict.REVERSED),
    ],
)
def test_a_lead_over_all_levels_together(ratios: tuple[float, ...], verdict: ClaimVerdict) -> None:
    assert judge(lead(*ratios), **LESS, overall="streams").verdict is verdict


def test_a_lead_cannot_grow_over_one_level() -> None:
    one = grid({("tcp", "1"): 12.0, ("quic", "1"): 10.0})
    assert judge(one, **LESS, grows_with="streams").verdict is ClaimVerdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ((10.0, 10.0, 10.1), ClaimVerdict.REPRODUCED),
        ((10.0, 10.0, 15.0), ClaimVerdict.REVERSED),
        ((10.0, 10.0, 10.5), ClaimVerdict.UNDECIDED),
        # Each is near the first, and the others are not near each other.
        ((10.0, 9.6, 10.4), ClaimVerdict.REVERSED),
    ],
)
def test_flat_means_all_levels_equivalent(means: tuple[float, ...], verdict: ClaimVerdict) -> None:
    results = grid({("tcp", str(x)): mean for x, mean in enumerate(means)})
    assert judge(results, flat_over="streams").verdict is verdict


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ((10.0, 20.0, 30.0, 40.0), ClaimVerdict.REPRODUCED),
        ((40.0, 30.0, 20.0, 10.0), ClaimVerdict.REVERSED),
        ((10.0, 11.0, 14.0, 80.0), ClaimVerdict.REVERSED),
        ((10.0, 10.0, 10.0, 10.0), ClaimVerdict.EQUIVALENT),
    ],
)
def test_linear_means_growth_along_a_line(means: tuple[float, ...], verdict: ClaimVerdict) -> None:
    results = grid({("tcp", str(x)): mean for x, mean in zip((1, 2, 3, 4), means, strict=True)})
    assert judge(results, linear_over="streams").verdict is verdict


def test_a_line_within_a_narrow_tolerance_is_no_power() -> None:
    results = grid(
        {("tcp", str(x)): 10 * x**1.2 for x in range(1, 7)}, noise=(1.0, 1.001, 0.999) * 12
    )
    assert judge(results, linear_over="streams", tolerance="1%").verdict is ClaimVerdict.REVERSED
    assert judge(results, linear_over="streams", tolerance="5%").verdict is ClaimVerdict.REPRODUCED


def test_a_line_needs_three_levels() -> None:
    two = grid({("tcp", "1"): 10.0, ("tcp", "2"): 20.0})
    assert judge(two, linear_over="streams").verdict is ClaimVerdict.NOT_TESTABLE
