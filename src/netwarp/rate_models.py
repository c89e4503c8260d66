"""Models of links whose rate varies, which generate traces for `[path.trace]`. Pure.

A trace lists the milliseconds at which 1504 bytes may leave. It depends only on the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import exp, log1p, sqrt
from statistics import NormalDist

OPPORTUNITY_BITS = 1504 * 8
MS_PER_S = 1000
CELLULAR_TICK_MS = 20
CELLULAR_NOISE = 200.0
"""Standard deviation of the random walk of the rate: packets per second per square root of a
second.
"""
CELLULAR_ESCAPES_PER_S = 1.0
LEO_SLOT_MS = 15_000
LEO_SPREAD = 0.5
GRANT_MS = 4


class Draws:
    """A generator of random numbers that are derived from a text: the same in every version of
    Python.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._count = 0

    def random(self) -> float:
        """Return a number of at least 0 and below 1."""
        self._count += 1
        drawn = sha256(f"{self._text} {self._count}".encode()).digest()
        return int.from_bytes(drawn[:8], "big") / 2**64 * (1 - 2**-53)


@dataclass(frozen=True)
class RateModel:
    """A model of a link whose rate varies; traces are generated from it."""

    description: str
    """What the model is, what its rate means, and where its parameters come from."""
    times_ms: Callable[[Draws, float, int], list[int]]
    """Returns the times in ms at which the link can send a packet.

    Its arguments are the random numbers, the model's rate in packets per millisecond, and the
    trace's length in ms.
    """


def trace_text(model: str, *, rate_bit_s: int, length_ms: int, seed: int) -> str:
    """Return a trace in mahimahi's format. The time in its last line is its end.

    Args:
        model: a key of :data:`MODELS`.
        rate_bit_s: the model's rate in bit/s; the model says which rate this is.
        length_ms: length of the trace, after which it repeats.
        seed: the trace's seed; the same seed gives the same trace.

    Raises:
        ValueError: the link can never send a packet.
    """
    rng = Draws(f"{model} {seed}")
    per_ms = rate_bit_s / OPPORTUNITY_BITS / MS_PER_S
    times_ms = [each for each in MODELS[model].times_ms(rng, per_ms, length_ms) if each]
    if not times_ms:
        raise ValueError(f"no packet would leave in {length_ms} ms")
    # A trace ends with its last opportunity, so that one is moved to the end.
    times_ms[-1] = length_ms
    return "".join(f"{each}\n" for each in times_ms)


def _cellular(rng: Draws, most_per_ms: float, length_ms: int) -> list[int]:
    """Return a trace of Sprout's doubly stochastic process: a Poisson process whose rate is a
    random walk between 0 and the largest rate, and stays at 0 for a while when it gets there.
    """
    most_per_s = most_per_ms * MS_PER_S
    tick_s = CELLULAR_TICK_MS / MS_PER_S
    step = NormalDist(0, CELLULAR_NOISE * sqrt(tick_s))
    rate_per_s = most_per_s * rng.random()
    times_ms: list[int] = []
    for start_ms in range(0, length_ms, CELLULAR_TICK_MS):
        is_stuck = rate_per_s == 0 and rng.random() < exp(-CELLULAR_ESCAPES_PER_S * tick_s)
        if not is_stuck:
            walked = rate_per_s + step.inv_cdf(_number_in_open_unit_interval(rng))
            rate_per_s = min(max(walked, 0.0), most_per_s)
        times_ms += _poisson(rng, rate_per_s / MS_PER_S, start_ms, CELLULAR_TICK_MS)
    return [each for each in times_ms if each < length_ms]


def _leo(rng: Draws, mean_per_ms: float, length_ms: int) -> list[int]:
    """Return a trace with a random rate for each slot of 15 s, uniform around the mean; packets are
    sent at equal intervals.
    """
    times_ms: list[int] = []
    for start_ms in range(0, length_ms, LEO_SLOT_MS):
        per_ms = mean_per_ms * (1 + LEO_SPREAD * (2 * rng.random() - 1))
        lasts_ms = min(LEO_SLOT_MS, length_ms - start_ms)
        times_ms += [start_ms + int(number / per_ms) for number in range(int(lasts_ms * per_ms))]
    return times_ms


def _grants(rng: Draws, mean_per_ms: float, length_ms: int) -> list[int]:
    """Return a trace of a link that can send one packet in each period (a grant), without
    randomness.
    """
    del rng
    counts = [int(end * mean_per_ms) for end in range(0, length_ms + GRANT_MS, GRANT_MS)]
    return [
        min(number * GRANT_MS, length_ms)
        for number in range(1, len(counts))
        for _ in range(counts[number] - counts[number - 1])
    ]


def _poisson(rng: Draws, per_ms: float, start_ms: int, lasts_ms: int) -> list[int]:
    """Return the times of a Poisson process, in whole ms."""
    found: list[int] = []
    at_ms = 0.0
    while per_ms > 0:
        at_ms += -log1p(-rng.random()) / per_ms
        if at_ms >= lasts_ms:
            break
        found.append(start_ms + int(at_ms))
    return found


def _number_in_open_unit_interval(rng: Draws) -> float:
    """Return a number above 0 and below 1."""
    return min(max(rng.random(), 1e-12), 1 - 1e-12)


MODELS: Mapping[str, RateModel] = {
    "cellular": RateModel(
        "a rate that walks at random up to --rate, with outages (Winstein, Sivaraman, Balakrishnan,"
        " NSDI 2013, by the constants of their sprout/receiver.hh: 200 packets/s per √s, ticks of"
        " 20 ms, one escape from outages a second)",
        _cellular,
    ),
    "leo": RateModel(
        "a rate that is another every 15 s, when Starlink reconfigures its links (Mohan et al., WWW"
        " 2024, arXiv:2310.09242); the draws, even within half of --rate around it, are netwarp's"
        " own",
        _leo,
    ),
    "grants": RateModel(
        "a link at --rate that may send every 4 ms, all that it could have sent since: packets wait"
        " for a grant, as in DOCSIS and LTE; the period is netwarp's own, nothing is drawn",
        _grants,
    ),
}
"""The models by name."""
