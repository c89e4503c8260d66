"""Reads rate traces in mahimahi's format (Netravali et al., USENIX ATC 2015).

A line is a whole number of milliseconds at which a packet may leave: an opportunity of 1504 bytes
(``PACKET_SIZE`` in mahimahi's src/frontend/link_queue.hh). The times never decrease. The trace
repeats after its last line (``use_a_delivery_opportunity`` in link_queue.cc).

Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from netwarp.units import NS_PER_MS, NS_PER_S

OPPORTUNITY_BITS = 1504 * 8
MOST_STEPS = 1_000_000
MOST_DIGITS = 12


class TraceError(ValueError):
    """A file that is not a valid trace, which mahimahi would not accept either; the error has line,
    reason and remedy.
    """

    def __init__(self, line: int | None, reason: str, remedy: str) -> None:
        self.line = line
        """Number of the invalid line, from 1; None if the file as a whole is invalid."""
        self.reason = reason
        self.remedy = remedy
        super().__init__(reason)


@dataclass(frozen=True)
class RateTrace:
    """A rate over time; it repeats from the beginning after its last step."""

    file: str
    """Name of the trace file."""
    step_ns: int
    """Time in ns for which each of the rates is constant."""
    rates_bit_s: tuple[int, ...]

    @property
    def mean_bit_s(self) -> int:
        """Mean rate in bit/s, rounded down."""
        return sum(self.rates_bit_s) // len(self.rates_bit_s)

    @property
    def peak_bit_s(self) -> int:
        """Largest rate in bit/s."""
        return max(self.rates_bit_s)


def parse_trace(text: str, step_ns: int, file: str) -> RateTrace:
    """Convert delivery opportunities to rates: one for each of several steps of equal length.

    The trace is divided into the smallest number of equal steps that are not longer than `step_ns`.
    So no step is shorter than the others, and the trace repeats at its own length (within a
    nanosecond for each step). An opportunity belongs to the step in which it lies or which it ends;
    one at 0 to the first.

    Args:
        text: the file's contents.
        step_ns: longest step allowed, in ns.
        file: the file's name, which the result contains.

    Raises:
        TraceError: the text is not a trace.
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
            # The offending text is not shown: the file may not be the user's own.
            raise TraceError(number, "not a whole number" if line else "an empty line", remedy)
        if len(line) > MOST_DIGITS:
            raise TraceError(number, f"more than {MOST_DIGITS} digits, beyond any run", remedy)
        at_ms = int(line)
        if at_ms < before_ms:
            raise TraceError(number, f"{at_ms} comes after {before_ms}", remedy)
        yield at_ms
        before_ms = at_ms
