"""Traces that models of links generate."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import mean, pstdev

import pytest

from netwarp.rate_models import MODELS, OPPORTUNITY_BITS, trace_text
from netwarp.study.sections.mahimahi import parse_trace

RATE_BIT_S, LENGTH_MS = 12_000_000, 120_000


def generated(model: str, seed: int = 1, length_ms: int = LENGTH_MS) -> list[int]:
    """Give a trace's times in ms."""
    text = trace_text(model, rate_bit_s=RATE_BIT_S, length_ms=length_ms, seed=seed)
    return [int(line) for line in text.splitlines()]


@pytest.mark.parametrize("model", MODELS)
def test_a_trace_is_one_of_its_length_and_its_seed_s(model: str) -> None:
    times_ms = generated(model)
    assert all(before <= after for before, after in pairwise(times_ms))
    assert times_ms[-1] == LENGTH_MS
    text = trace_text(model, rate_bit_s=RATE_BIT_S, length_ms=LENGTH_MS, seed=1)
    assert parse_trace(text, 100_000_000, "x").mean_bit_s > 0
    assert times_ms == generated(model)
    assert (times_ms == generated(model, seed=2)) == (model == "grants")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("length_ms", [20, 41, 1000, 15_001])
def test_short_traces_end_where_they_are_asked_to(model: str, length_ms: int) -> None:
    times_ms = generated(model, length_ms=length_ms)
    assert 0 < min(times_ms) <= max(times_ms) == length_ms


def test_a_trace_in_which_no_packet_leaves_is_refused() -> None:
    with pytest.raises(ValueError, match="no packet would leave in 10 ms"):
        trace_text("grants", rate_bit_s=1000, length_ms=10, seed=1)


def test_a_cellular_rate_walks_as_sprout_has_it_and_stops() -> None:
    """From second to second the rate of a walk of 200 packets/s per √s differs by its deviation
    and by the Poisson process's own, where neither bound is met.
    """
    times_ms = generated("cellular", length_ms=600_000)
    counts = [0] * 600
    for each in times_ms:
        counts[min(each // 1000, 599)] += 1
    assert max(counts) <= RATE_BIT_S / OPPORTUNITY_BITS + 5 * 32
    inside = [after - before for before, after in pairwise(counts) if 300 < before < 700]
    # Of two seconds' means the walk's difference has a variance of two thirds of a second's.
    expected = (200**2 * 2 / 3 + 2 * 500) ** 0.5
    assert pstdev(inside) == pytest.approx(expected, rel=0.25)
    gaps_ms = [after - before for before, after in pairwise(times_ms)]
    assert max(gaps_ms) > 200, "there was no outage"


def test_a_leo_rate_is_another_every_fifteen_seconds() -> None:
    times_ms = generated("leo", length_ms=600_000)
    seconds = Counter(each // 1000 for each in times_ms)
    per_second = [seconds[second] for second in range(600)]
    slots = [per_second[start : start + 15] for start in range(0, 600, 15)]
    assert all(max(slot) - min(slot) <= 2 for slot in slots)
    rates = [mean(slot) for slot in slots]
    usual = RATE_BIT_S / OPPORTUNITY_BITS
    assert all(0.49 * usual < rate < 1.51 * usual for rate in rates)
    assert pstdev(rates) == pytest.approx(usual / 12**0.5, rel=0.3)


def test_grants_carry_the_rate_every_four_milliseconds() -> None:
    times_ms = generated("grants")
    assert {each % 4 for each in times_ms} == {0}
    assert len(times_ms) == int(RATE_BIT_S / OPPORTUNITY_BITS / 1000 * LENGTH_MS)
