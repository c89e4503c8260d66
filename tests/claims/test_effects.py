"""Controls: the effect of a claim, with a control's change and without it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import pytest

from claimed import LESS, grid, judge, lead
from netwarp.claims import ClaimVerdict
from netwarp.claims.effects import Effect, evaluate_effects
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.staging import Look
from netwarp.results import Results
from netwarp.study.claims import Claim

STEADY = (1.0, 1.0, 1.0, 1.0, 1.0)


def effect(
    main: Results, control: Results, way: Literal["higher", "lower"] = "higher", **keys: Any
) -> Effect:
    claim = Claim(
        text="a claim", id="it", metric="completion_time_s", why="because", control="changed",
        under_control=way, **keys,
    )  # fmt: skip
    return evaluate_effects([claim], main, {"changed": control})[0]


def test_the_effect_of_a_published_number_is_the_mean_itself() -> None:
    main, control = grid({("tcp", "1"): 21.4}), grid({("tcp", "1"): 20.4})
    found = effect(main, control, "lower", published="18.7 s")
    assert found.is_shown
    assert found.found == "21.4 becomes 20.4 s, ratio 1.05"
    assert not effect(main, control, "higher", published="18.7 s").is_shown, "the other way"


def test_a_reason_is_shown_where_the_change_alters_the_effect_as_it_says() -> None:
    """The control's word is `reversed`, and the reason is shown by the ratio of ratios."""
    main = grid({("quic", "1"): 5.0, ("tcp", "1"): 10.0})
    control = grid({("quic", "1"): 9.0, ("tcp", "1"): 10.0})
    found = effect(main, control, **LESS)
    assert found.is_shown
    assert found.found.startswith("ratio 0.500 becomes 0.900, ratio of ratios 0.556")
    assert not effect(main, control, "lower", **LESS).is_shown, "the other way"
    (one,) = found.conditions
    assert one.altered == pytest.approx(5 / 9)
    assert one.n == 30


def test_a_control_that_changes_nothing_shows_nothing_whatever_its_word() -> None:
    """Under noise the same effect is `reproduced` here and `undecided` there."""
    wide = (0.6, 1.7, 1.0, 0.8, 1.4)
    main = grid({("quic", "1"): 9.0, ("tcp", "1"): 10.0})
    control = grid({("quic", "1"): 9.2, ("tcp", "1"): 10.0}, noise=wide)
    assert not effect(main, control, "higher", **LESS).is_shown
    assert not effect(main, control, "lower", **LESS).is_shown


def test_a_change_that_is_not_relevant_shows_nothing() -> None:
    main = grid({("quic", "1"): 9.40, ("tcp", "1"): 10.0}, noise=STEADY)
    control = grid({("quic", "1"): 9.45, ("tcp", "1"): 10.0}, noise=STEADY)
    found = effect(main, control, **LESS)
    assert not found.is_shown
    assert not found.is_random
    assert "[" not in found.found, "nothing is random"


def test_both_sides_have_as_many_replicates() -> None:
    main = grid({("quic", "1"): 5.0, ("tcp", "1"): 10.0}, noise=(0.99, 1.0, 1.01) * 5)
    control = grid({("quic", "1"): 9.0, ("tcp", "1"): 10.0})
    assert effect(main, control, **LESS).conditions[0].n == 15


def test_fewer_than_five_random_replicates_show_nothing() -> None:
    few = (0.99, 1.0, 1.01, 1.0)
    main = grid({("quic", "1"): 5.0, ("tcp", "1"): 10.0}, noise=few)
    control = grid({("quic", "1"): 9.0, ("tcp", "1"): 10.0}, noise=few)
    assert not effect(main, control, **LESS).is_shown


def test_the_effect_must_be_altered_in_every_condition() -> None:
    main = lead(2.0, 2.0)
    assert effect(main, lead(1.1, 1.1), **LESS).is_shown
    partly = effect(main, lead(1.1, 2.0), **LESS)
    assert not partly.is_shown
    assert partly.found.count("ratio of ratios") == 2


def test_of_a_lead_over_levels_and_of_one_that_grows_the_whole_is_compared() -> None:
    main, control = lead(1.0, 4.0), lead(1.0, 1.0)
    (overall,) = effect(main, control, overall="streams", **LESS).conditions
    assert overall.main == pytest.approx(0.5)
    assert overall.control == pytest.approx(1.0)
    (grows,) = effect(main, control, grows_with="streams", **LESS).conditions
    assert grows.main == pytest.approx(0.25)
    gap = effect(main, control, grows_with="streams", lead="gap", **LESS)
    assert gap.conditions[0].main == pytest.approx(-30, rel=0.05)
    assert gap.is_shown


def test_of_equal_and_flat_claims_the_ratio_is_compared() -> None:
    main, control = lead(2.0, 2.0), lead(1.0, 1.0)
    equal = effect(main, control, equal=[LESS["less"], LESS["than"]])
    assert equal.is_shown
    flat = effect(lead(1.0, 2.0), control, "lower", flat_over="streams", where={"transport": "tcp"})
    assert flat.is_shown
    assert flat.conditions[0].main == pytest.approx(2.0, rel=0.02)


def test_a_control_with_fewer_cells_than_the_claim_names_those_it_has() -> None:
    """What it shows at one of two levels is no reason for what the claim says of both."""
    found = effect(lead(2.0, 2.0), lead(1.1), **LESS)
    assert found.is_shown
    assert found.scope == "at streams 0"
    assert found.found.startswith("at streams 0: ratio 0.500 becomes 0.909")
    growing: dict[str, Any] = {**LESS, "grows_with": "streams"}
    ends = effect(lead(1.0, 1.5, 4.0), lead(1.0, 1.0), **growing)
    assert ends.scope == "at streams 0 and streams 1"
    assert effect(lead(1.0, 4.0), lead(1.0, 1.0), **growing).scope is None
    left_out = effect(lead(2.0, 2.0), lead(1.1), **LESS, without={"streams": ["1"]})
    assert left_out.scope is None, "the claim has no more than the control"


def test_zeros_are_compared_by_differences() -> None:
    main = grid({("quic", "1"): 0.5, ("tcp", "1"): 0.9})
    control = grid({("quic", "1"): 0.5, ("tcp", "1"): 0.0})
    (one,) = effect(main, control, **LESS).conditions
    assert one.scale == "difference"
    assert one.control == pytest.approx(0.5, rel=0.02)


def test_a_control_without_the_claims_cells_shows_nothing() -> None:
    found = effect(lead(2.0), grid({("sctp", "0"): 1.0}), **LESS)
    assert not found.is_shown
    assert "none of the cells" in found.found


def test_reasons_of_a_study_are_one_family() -> None:
    """A reason that one comparison alone would just show is not shown among many that are none."""
    noise = (0.93, 1.05, 1.0, 1.08, 0.94)
    main, control = lead(1.2, noise=noise), lead(1.0, noise=noise[1:] + noise[:1])
    keys: dict[str, Any] = {"text": "t", "metric": "completion_time_s", "why": "w", "control": "c"}
    claims = [Claim(id=str(i), under_control="higher", **keys, **LESS) for i in range(8)]
    alone = evaluate_effects(claims[:1], main, {"c": control})[0]
    together = evaluate_effects(claims, main, {"c": control})
    assert math.isclose(alone.error, 0.05)
    assert math.isclose(together[0].error, 0.05 / 8)


def test_the_word_of_a_claim_alone_has_no_why() -> None:
    result = judge(lead(2.0), why="because", **LESS)
    assert result.verdict is ClaimVerdict.REPRODUCED
    told = result.to_json()
    assert (told["why"], told["proposed_why"]) == (None, "because")


def test_a_gap_that_a_control_alters_reads_as_the_claims_row_does() -> None:
    """QUIC's lead of 2 s at one stream grows to 12 s at two; with the change it stays."""
    noise = (0.999, 1.0, 1.001, 1.0005, 0.9995) * 4
    times = {("quic", "1"): 8.0, ("tcp", "1"): 10.0, ("quic", "2"): 8.0, ("tcp", "2"): 20.0}
    main = grid(times, noise=noise)
    control = grid(times | {("tcp", "2"): 10.0}, noise=noise[:10])
    found = effect(main, control, **LESS, grows_with="streams", lead="gap")
    text = found.found
    assert found.is_shown
    assert text.startswith("growth of the gap, 10.0 s becomes 0")
    assert ", a difference of 10.0 s [9.9" in text or ", a difference of 10.0 s [10" in text
    assert text.endswith("(the first 10 of 20 replicates)")


def test_controls_are_looked_at_once_and_have_the_whole_error() -> None:
    """However late the look at which their study's claims are judged, theirs is the only one."""
    noisy = tuple(1 + 0.05 * (-1) ** each * (each % 5) for each in range(12))
    main = grid({("quic", "1"): 8.6, ("tcp", "1"): 10.0}, noise=noisy)
    control = grid({("quic", "1"): 9.6, ("tcp", "1"): 10.0}, noise=noisy)
    once = effect(main, control, **LESS)
    late = Criteria(by_look=(Look(6, 0.999), Look(12, 0.001)))
    again = effect(replace(main, criteria=late), control, **LESS)
    assert once.is_shown
    assert once.error == pytest.approx(0.05)
    assert (again.error, again.is_shown) == (once.error, once.is_shown)
