"""Feeds synthetic samples with a known truth through netwarp's own statistics.

Prints how often verdicts are wrong, how often intervals cover the truth, and how often a true
difference is found; exits with 1 where an error rate or a coverage is not what is promised.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from audited_rows import situations
from known_truth import eventful, log_normal
from netwarp.claims import evaluate_claims
from netwarp.estimate.comparison import Sample, compare
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.staging import Staging
from netwarp.estimate.stats import mean_interval
from netwarp.results import Results, RunResult
from netwarp.study.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Sequence

METRIC = "completion_time_s"
SIZES = (3, 5, 10)
POWER_SIZES = (5, 6, 7, 8, 10, 12)
SPREADS = (0.02, 0.1, 0.3)
"""Coefficients of variation: a steady path, a lossy one, one that loses much."""
LEVELS = (1, 2, 3)
FAMILY = 10
COVERAGE = (0.93, 1.0)
LARGEST_ERROR = 0.05


@dataclass(frozen=True)
class Rate:
    """A share of trials."""

    name: str
    share: float
    trials: int
    low: float = 0.0
    high: float = 1.0

    @property
    def kept(self) -> bool:
        """Whether it is within its bounds, chance allowed for (three standard errors)."""
        slack = 3 * math.sqrt(max(self.share * (1 - self.share), 0.25 / self.trials) / self.trials)
        return self.low - slack <= self.share <= self.high + slack


def lead(**keys: object) -> Claim:
    """Make a claim that QUIC has less than TCP."""
    return Claim.model_validate(
        {"text": "t", "metric": METRIC, "less": {"transport": "quic"},
         "than": {"transport": "tcp"}, **keys}
    )  # fmt: skip


def draw(
    rng: np.random.Generator, ratios: Sequence[float], spread: float, n: int, looks: int = 1
) -> Results:
    """Draw log-normal samples of TCP, and of QUIC so many times as large, level by level."""
    sigma = math.sqrt(math.log1p(spread**2))
    runs = []
    for index, (transport, level) in enumerate(
        (transport, level) for transport in ("tcp", "quic") for level in range(len(ratios))
    ):
        mean = 10 * ratios[level] if transport == "quic" else 10.0
        for replicate, value in enumerate(mean * np.exp(rng.normal(0, sigma, size=n))):
            runs.append(
                RunResult(
                    f"c{index}-r{replicate}", index, replicate, replicate,
                    {"transport": transport, "level": str(level + 1)}, "ok", None,
                    {METRIC: float(value)},
                )
            )  # fmt: skip
    return Results(tuple(runs), Criteria(looks=looks))


def error_rates(trials: int, seed: int) -> list[Rate]:
    """How often claims that are not true are called reproduced, and the converse."""
    rng = np.random.default_rng(seed)
    rates = []
    cases = {
        "less, nothing differs": (lead(), (1.0,), {"reproduced", "reversed"}),
        "less at three levels, nothing differs": (
            lead(), (1.0, 1.0, 1.0), {"reproduced", "reversed", "partly", "depends"},
        ),
        "less, at the relevant difference": (lead(), (1 / 1.01,), {"reproduced"}),
        "nothing relevant, at the relevant difference": (lead(), (1 / 1.01,), {"equivalent"}),
        "lead grows, nothing differs": (
            lead(grows_with="level"), (1.0, 1.0, 1.0), {"reproduced", "reversed", "depends"},
        ),
        "lead grows, it does not": (
            lead(grows_with="level"), (0.7, 0.7, 0.7), {"reproduced", "reversed"},
        ),
        "equal within 5 %, at the limit": (
            lead_equal(), (1.05,), {"reproduced"},
        ),
        "flat within 5 %, at the limit": (
            Claim.model_validate({"text": "t", "metric": METRIC, "flat_over": "level",
                                  "where": {"transport": "quic"}}),
            (1.0, 1.02, 1.05), {"reproduced"},
        ),
        "not equal within 5 %, at the limit": (lead_equal(), (1.05,), {"reversed"}),
    }  # fmt: skip
    for name, (claim, ratios, wrong) in cases.items():
        for spread in SPREADS:
            for n in SIZES:
                found = Counter(
                    evaluate_claims([claim], draw(rng, ratios, spread, n))[0].verdict.value
                    for _ in range(trials)
                )
                share = sum(found[verdict] for verdict in wrong) / trials
                rates.append(Rate(f"wrong: {name}, cv {spread:.0%}, n {n}", share, trials,
                                  high=LARGEST_ERROR))  # fmt: skip
    return rates


def lead_equal() -> Claim:
    """Make a claim that QUIC and TCP have the same."""
    both = [{"transport": "quic"}, {"transport": "tcp"}]
    return Claim.model_validate({"text": "t", "metric": METRIC, "equal": both})


def family_rates(trials: int, seed: int) -> list[Rate]:
    """How often a scorecard of ten claims of which none is true has a wrong verdict."""
    rng = np.random.default_rng(seed)
    claims = [lead(where={"level": str(level + 1)}) for level in range(FAMILY)]
    rates = []
    for n in SIZES:
        wrong = 0
        for _ in range(trials):
            found = evaluate_claims(claims, draw(rng, (1.0,) * FAMILY, 0.1, n))
            wrong += any(each.verdict.value in ("reproduced", "reversed") for each in found)
        rates.append(Rate(f"wrong: any of {FAMILY} claims, n {n}", wrong / trials, trials,
                          high=LARGEST_ERROR))  # fmt: skip
    return rates


def staged_rates(trials: int, seed: int) -> list[Rate]:
    """How often a claim that is not true is shown by looking again and again."""
    rng = np.random.default_rng(seed)
    rates = []
    looks = Staging().looks(5)
    for ratio in (1.0, 1 / 1.01):
        wrong = 0
        for _ in range(trials):
            verdict = "undecided"
            whole = draw(rng, (ratio,), 0.1, looks[-1].replicates, len(looks))
            for look in looks:
                criteria = Criteria(looks=len(looks), by_look=looks)
                runs = tuple(run for run in whole.runs if run.replicate < look.replicates)
                verdict = evaluate_claims([lead()], Results(runs, criteria))[0].verdict.value
                if verdict != "undecided":
                    break
            wrong += verdict in ("reproduced", "reversed")
        rates.append(Rate(f"wrong: looking {len(looks)} times, ratio {ratio:.3f}", wrong / trials,
                          trials, high=LARGEST_ERROR))  # fmt: skip
    return rates


def coverage(trials: int, seed: int) -> list[Rate]:
    """How often intervals of ratios and of means cover the truth."""
    rng = np.random.default_rng(seed)
    rates = []
    for spread in SPREADS:
        sigma = math.sqrt(math.log1p(spread**2))
        for n in SIZES:
            ratios = means = 0
            for _ in range(trials):
                a, b = np.exp(rng.normal(0, sigma, size=(2, n)))
                low, high = compare(
                    {r: Sample(float(v), r) for r, v in enumerate(a)},
                    {r: Sample(float(v), r) for r, v in enumerate(b)},
                ).ci95 or (0, math.inf)
                ratios += low <= 1 <= high
                low, high = mean_interval([float(v) for v in a]) or (0, 0)
                means += low <= math.exp(sigma**2 / 2) <= high
            for what, covered in (("ratio", ratios), ("mean", means)):
                rates.append(Rate(f"coverage: {what}, cv {spread:.0%}, n {n}", covered / trials,
                                  trials, *COVERAGE))  # fmt: skip
    return rates


def audited(
    trials: int, seed: int, only: Sequence[str] = (), sizes: Sequence[int] = ()
) -> list[Rate]:
    """How often verdicts are wrong where they easily are; see `audited_rows`.

    Args:
        trials: number of trials of each.
        seed: of all samples.
        only: beginnings of the names of the situations; empty for all.
        sizes: numbers of replicates; empty for all of each situation.
    """
    rates = []
    for place, each in enumerate(situations()):
        if only and not each.name.startswith(tuple(only)):
            continue
        for n in each.sizes:
            if sizes and n not in sizes:
                continue
            rng = np.random.default_rng((seed, place, n))
            wrong = sum(
                any(
                    found.verdict.value in each.wrong
                    for found in evaluate_claims(each.claims, each.make(rng, n))
                )
                for _ in range(trials)
            )
            rates.append(Rate(f"wrong: {each.name}, n {n}", wrong / trials, trials,
                              high=LARGEST_ERROR))  # fmt: skip
    return rates


def rare_coverage(trials: int, seed: int) -> list[Rate]:
    """How often intervals cover the truth where a rare event changes it.

    Nothing is promised of samples that have not seen it: an interval says nothing about events in
    less than 3 / n of the runs. Where it was seen, the interval covers.
    """
    rates = []
    for n in (10, 20, 29):
        rng = np.random.default_rng((seed, n))
        covered = seen = covered_seen = 0
        for _ in range(trials):
            a, b = log_normal(0.02)(rng, n), eventful(0.1, 4, 0.02)(rng, n)
            low, high = compare(
                {r: Sample(float(v), r) for r, v in enumerate(a)},
                {r: Sample(float(v), r) for r, v in enumerate(b)},
            ).ci95 or (0, math.inf)
            is_covered = low <= 4**0.1 <= high
            covered += is_covered
            if b.max() > 2:
                seen, covered_seen = seen + 1, covered_seen + is_covered
        name = f"coverage: ratio, an event in 10 % of the runs, n {n}"
        rates += [
            Rate(f"{name}, seen or not (not promised)", covered / trials, trials),
            Rate(f"{name}, seen", covered_seen / max(1, seen), seen, low=0.9),
        ]
    return rates


def power(trials: int, seed: int) -> list[Rate]:
    """How often a true difference is found; nothing is promised of it."""
    rng = np.random.default_rng(seed)
    rates = []
    for name, claim, ratios in (
        ("20 % less", lead(), (0.8,)),
        ("20 % less at three levels", lead(), (0.8, 0.8, 0.8)),
        ("equal within 5 %, the same", lead_equal(), (1.0,)),
        ("a lead of 10, 30, 50 % grows", lead(grows_with="level"), (0.9, 0.7, 0.5)),
    ):
        for spread in SPREADS:
            for n in POWER_SIZES:
                found = sum(
                    evaluate_claims([claim], draw(rng, ratios, spread, n))[0].verdict.value
                    == "reproduced"
                    for _ in range(trials)
                )
                rates.append(Rate(f"power: {name}, cv {spread:.0%}, n {n}", found / trials, trials))
    return rates


def calibrate(trials: int, seed: int) -> list[Rate]:
    """Make all rates from one seed."""
    return [
        *error_rates(trials, seed),
        *family_rates(trials, seed + 1),
        *staged_rates(trials, seed + 2),
        *coverage(trials, seed + 3),
        *audited(trials, seed + 5),
        *rare_coverage(trials, seed + 6),
        *power(max(1, trials // 4), seed + 4),
    ]


def main(arguments: list[str]) -> int:
    """Print the rates; give the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    rates = calibrate(given.trials, given.seed)
    for rate in rates:
        print(f"{'    ' if rate.kept else 'OFF '}{rate.share:6.1%}  {rate.name}")
    off = sum(not rate.kept for rate in rates)
    print(f"{len(rates)} rates of {given.trials} trials, {off} not as promised")
    return int(off > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
