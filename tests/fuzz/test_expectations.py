"""Random expectations of known results: an answer agrees with the numbers, and with its opposite's.

Also slips of a key in their lines, which are read or refused, and nothing else.
"""

from __future__ import annotations

import operator
from random import Random

import pytest

import support
from fuzz.conftest import MUTANTS, block_id, blocks, report
from netwarp.claims import ExpectationResult, Kept, evaluate_expectations
from netwarp.errors import StudyError
from netwarp.metrics import metric_named
from netwarp.results import Results
from netwarp.study import study_from_mapping
from netwarp.study.expecting import expecting

HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
METRICS = ("completion_time_s", "goodput_bit_s", "path_loss_down", "wire_packets_down", "busy_s")
UNITS = ("s", "bit/s")
# A value and a bound of as many digits as a line has are the same.
DIGITS = 12


@pytest.fixture(scope="module")
def found() -> Results:
    return support.results(failed_run=None)


@pytest.mark.parametrize("seeds", blocks(MUTANTS // 8), ids=block_id)
def test_an_answer_agrees_with_the_numbers(seeds: range, found: Results) -> None:
    failures = []
    for seed in seeds:
        left, bound, where = _drawn(Random(seed), found)  # noqa: S311
        relation = Random(-seed).choice(list(HOLDS))  # noqa: S311
        lines = [f"{left} {each} {bound}{where}" for each in (relation, OPPOSITE[relation])]
        study = expecting(study_from_mapping(support.STUDY), lines)
        # Each is asked alone: a family of two has other errors.
        answers = [evaluate_expectations([each], found)[0] for each in study.expectations]
        fault = _fault(answers)
        if fault:
            failures.append(f"seed {seed}: {lines[0]!r}: {fault}")
    report(failures)


@pytest.mark.parametrize("seeds", blocks(MUTANTS // 8), ids=block_id)
def test_a_slip_is_read_or_refused(seeds: range, found: Results) -> None:
    study = study_from_mapping(support.STUDY)
    failures = []
    for seed in seeds:
        rng = Random(seed)  # noqa: S311
        left, bound, where = _drawn(rng, found)
        line = f"{left} {rng.choice(list(HOLDS))} {bound}{where}"
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(line) + 1)
            slip = rng.choice(["", "", "x", ".", "/", ":", "<", "=", " where ", "%", "é", "\x00"])
            line = line[:at] + slip + line[at + rng.randint(0, 4) :]
        try:
            judged = evaluate_expectations(expecting(study, [line]).expectations, found)
        except StudyError:
            continue
        except Exception as error:  # noqa: BLE001 - any would be a traceback
            failures.append(f"seed {seed}: {line!r}: {type(error).__name__}: {error}")
            continue
        failures += [f"seed {seed}: {line!r}: no answer" for each in judged if not each.kept]
    report(failures)


def _drawn(rng: Random, found: Results) -> tuple[str, str, str]:
    """Draw what is bounded, a bound near what was found, and a selection."""
    metric = rng.choice(METRICS)
    cell, other = rng.sample(list(found.cells), 2)
    names = [each.factors["transport"] for each in (cell, other)]
    where = ""
    if rng.random() < 0.6:
        where = f" where path.loss={cell.factors['path.loss']}"
        where += f", path.rtt={cell.factors['path.rtt']}" if rng.random() < 0.6 else ""
    if names[0] != names[1] and rng.random() < 0.4:
        bound = round(rng.choice([0.5, 0.9, 1.0, 1.004, 1.6]) * rng.uniform(0.98, 1.02), 4)
        return f"{names[0]} / {names[1]}: {metric}", f"{bound:g}", where
    values = cell.values(metric) or [1.0]
    value = rng.choice([min(values), max(values), sum(values) / len(values)])
    value *= rng.choice([0.5, 0.99, 1.0, 1.01, 2.0])
    left = f"{names[0]}.{metric}" if rng.random() < 0.6 else metric
    unit = metric_named(metric).unit
    if unit == "ratio":
        return left, f"{100 * value:.{DIGITS}f} %", where
    return left, f"{value:.{DIGITS}f} {unit if unit in UNITS else ''}".strip(), where


def _fault(answers: list[ExpectationResult]) -> str | None:
    """Say what is wrong with the answers to an expectation and to its opposite."""
    first, second = answers
    for one, opposite in zip(first.conditions, second.conditions, strict=True):
        for judged, each in ((first, one), (second, opposite)):
            if each.value is None or each.kept is Kept.UNDECIDED:
                continue
            said = judged.expectation
            is_kept = HOLDS[said.relation](each.value, said.bound)
            is_near = abs(each.value - said.bound) <= 1e-9 * max(abs(said.bound), 1e-3)
            if is_kept != (each.kept is Kept.HOLDS) and not is_near:
                return f"{each.kept}, and {each.value} is to be {said.relation} {said.bound}"
        if one.value is not None and one.kept is opposite.kept is not Kept.UNDECIDED:
            return f"{one.kept}, and its opposite too, of {one.value}"
        if one.is_exact and one.value is not None and one.kept is Kept.UNDECIDED:
            return f"undecided, though nothing is random about {one.value}"
    return None
