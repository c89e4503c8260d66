"""Rate traces in mahimahi's format (Netravali et al., USENIX ATC 2015): text → rates.

A line is a whole number of milliseconds at which a packet may leave: an opportunity of 1504 bytes
(``PACKET_SIZE`` in mahimahi's src/frontend/link_queue.hh). Lines do not descend. The trace begins
anew when the last of them is over (``use_a_delivery_opportunity`` in link_queue.cc).

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from netwarp.units import NS_PER_S

OPPORTUNITY_BITS = 1504 * 8
NS_PER_MS = 1_000_000
MOST_STEPS = 1_000_000
MOST_DIGITS = 12


class TraceError(ValueError):
    """A trace that mahimahi would not read either: the line, the reason and the remedy."""

    def __init__(self, line: int | None, reason: str, remedy: str) -> None:
        self.line = line
        """Counted from 1; None where no line is to blame."""
        self.reason = reason
        self.remedy = remedy
        super().__init__(reason)


@dataclass(frozen=True)
class RateTrace:
    """A rate over time, again and again."""

    file: str
    """Where it came from."""
    step_ns: int
    """How long each of the rates holds."""
    rates_bit_s: tuple[int, ...]

    @property
    def mean_bit_s(self) -> int:
        """Mean rate, rounded down."""
        return sum(self.rates_bit_s) // len(self.rates_bit_s)

    @property
    def peak_bit_s(self) -> int:
        """Largest rate."""
        return max(self.rates_bit_s)


def parse_trace(text: str, step_ns: int, file: str) -> RateTrace:
    """Count the opportunities of each step, and give them as rates.

    The steps are the fewest equal ones, not longer than asked, that the trace can be cut into: the
    last one is no remnant, and the trace begins anew at its own time (to the nanosecond a step).
    An opportunity belongs to the step it ends or lies in; one at 0 to the first.

    Args:
        text: the file's content.
        step_ns: longest step.
        file: for the result.

    Raises:
        TraceError: not a trace.
    """
    times_ms = list(_times_ms(text))
    if not times_ms:
        raise TraceError(None, "no line in it", "write one whole number of milliseconds a line")
    period_ns = times_ms[-1] * NS_PER_MS
    if period_ns == 0:
        raise TraceError(
            len(times_ms), "the trace is over when it begins", "end it later than at 0"
        )
    steps = -(-period_ns // step_ns)
    if steps > MOST_STEPS:
        raise TraceError(None, f"{steps} steps are too many", "choose a longer step")
    counts = [0] * steps
    for at_ms in times_ms:
        counts[max(0, -(-at_ms * NS_PER_MS * steps // period_ns) - 1)] += 1
    per_opportunity_bit_s = Fraction(OPPORTUNITY_BITS * NS_PER_S * steps, period_ns)
    return RateTrace(
        file=file,
        step_ns=period_ns // steps,
        rates_bit_s=tuple(round(count * per_opportunity_bit_s) for count in counts),
    )


def _times_ms(text: str) -> Iterator[int]:
    remedy = "write one whole number of milliseconds a line, none smaller than the one before"
    before_ms = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if not (line.isascii() and line.isdecimal()):
            # What stands there instead is not shown: the file may be anybody's.
            raise TraceError(number, "not a whole number" if line else "an empty line", remedy)
        if len(line) > MOST_DIGITS:
            raise TraceError(number, f"more than {MOST_DIGITS} digits, beyond any run", remedy)
        at_ms = int(line)
        if at_ms < before_ms:
            raise TraceError(number, f"{at_ms} comes after {before_ms}", remedy)
        yield at_ms
        before_ms = at_ms
