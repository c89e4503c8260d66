"""How many replicates a study's claims need, from the spread of recorded runs alone."""

from __future__ import annotations

import pytest

from claim_power import needed_replicates
from claimed import LESS, lead
from netwarp.study.claims import Claim

NOISE = (0.9, 1.0, 1.1, 1.05, 0.95, 0.85, 1.15)


def claim(**keys: object) -> Claim:
    return Claim.model_validate({"text": "t", "id": "it", "metric": "completion_time_s"} | keys)


def test_what_is_needed_does_not_hang_on_the_effect_that_was_seen() -> None:
    """The same spread around no lead and around a large one needs as many replicates."""
    (none,), (large,) = (
        needed_replicates([claim(**LESS, where={"streams": "0"})], [lead(ratio, noise=NOISE)], 0.2)
        for ratio in (1.0, 3.0)
    )
    assert none.replicates == large.replicates
    assert none.stdev == pytest.approx(large.stdev)
    assert 5 < (none.replicates or 0) < 40


def test_variances_are_pooled_within_seeds_not_over_them() -> None:
    """Two seeds whose means differ have the spread of each, and more degrees of freedom."""
    recorded = [lead(1.0, noise=NOISE), lead(3.0, noise=NOISE)]
    (one,) = needed_replicates([claim(**LESS)], recorded[:1], 0.2)
    (both,) = needed_replicates([claim(**LESS)], recorded, 0.2)
    assert both.stdev == pytest.approx(one.stdev)
    assert both.degrees == 2 * one.degrees


def test_more_claims_and_smaller_effects_need_more() -> None:
    recorded = [lead(1.0, noise=NOISE)]
    (usual,) = needed_replicates([claim(**LESS)], recorded, 0.2)
    (small,) = needed_replicates([claim(**LESS)], recorded, 0.1)
    many = needed_replicates([claim(**LESS)] * 10, recorded, 0.2)
    assert (small.replicates or 0) > (usual.replicates or 0)
    assert (many[0].replicates or 0) > (usual.replicates or 0)


def test_of_claims_with_a_tolerance_it_is_what_is_told() -> None:
    recorded = [lead(1.0, noise=NOISE)]
    keys = {"equal": [LESS["less"], LESS["than"]]}
    (wide,) = needed_replicates([claim(**keys, tolerance="20%")], recorded, 0.01)
    (tight,) = needed_replicates([claim(**keys, tolerance="5%")], recorded, 0.01)
    assert (tight.replicates or 0) > (wide.replicates or 0)
