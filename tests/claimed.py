"""Results made for claims: cells of transport × streams with means that the test chooses."""

from typing import Any

import support
from netwarp.claims import ClaimResult, evaluate_claims
from netwarp.results import Results, RunResult
from netwarp.study.claims import Claim

NOISE = (0.99, 1.0, 1.01, 1.005, 0.995) * 6


def judge(results: Results | None = None, **keys: Any) -> ClaimResult:
    claim = Claim(text="a claim", metric="completion_time_s", **keys)
    return evaluate_claims([claim], results or support.results())[0]


def grid(values: dict[tuple[str, str], float], *, noise: tuple[float, ...] = NOISE) -> Results:
    """Make results of transport × streams from means, with the same small noise pattern rotated."""
    runs = []
    for cell, ((transport, streams), mean) in enumerate(values.items()):
        for replicate in range(len(noise)):
            value = mean * noise[(replicate + 2 * cell) % len(noise)]
            runs.append(
                RunResult(
                    f"c{cell:03}-r{replicate:02}", cell, replicate, replicate,
                    {"transport": transport, "streams": streams}, "ok", None,
                    {"completion_time_s": value},
                    () if len(set(noise)) == 1 else ("loss",),
                )
            )  # fmt: skip
    return Results(tuple(runs))


LESS: dict[str, Any] = {"less": {"transport": "quic"}, "than": {"transport": "tcp"}}


def lead(*ratios: float, noise: tuple[float, ...] = NOISE) -> Results:
    """Make results in which TCP takes so many times as long as QUIC, level by level."""
    means = {("tcp", str(x)): 10 * ratio for x, ratio in enumerate(ratios)}
    return grid(means | {("quic", str(x)): 10.0 for x in range(len(ratios))}, noise=noise)
