"""Numbers and verdicts as people read them: in tables, on axes, in the report.

Stored metrics are in the base units that the registry gives them; shown ones are scaled to a
readable unit and cut to the digits that mean something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.estimate.comparison import Verdict
from netwarp.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netwarp.estimate.comparison import Comparison
    from netwarp.estimate.stats import Estimate
    from netwarp.metrics import Unit

MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"
NEAR_ONE = 1.005  # below it a ratio of three digits would say nothing

TITLES = {
    "connect_time_s": "Connection time",
    "first_byte_s": "Time to first byte",
    "completion_time_s": "Completion time",
    "goodput_bit_s": "Goodput",
    "retransmitted_packets": "Retransmitted packets",
    "wire_packets_down": "Packets on the wire, server to client",
    "wire_packets_up": "Packets on the wire, client to server",
    "wire_bytes_down": "Bytes on the wire, server to client",
    "wire_bytes_up": "Bytes on the wire, client to server",
    "wire_packets_total": "Packets on the wire, both directions",
    "wire_bytes_total": "Bytes on the wire, both directions",
    "longest_gap_s": "Longest time without new content",
    "reconnections": "Reconnections",
    "handover_gap_s": "Gap at a handover",
    "handover_gap_s_max": "Longest gap at a handover",
    "loading_delay_s": "Loading delay",
    "loading_delay_s_p50": "Loading delay, median",
    "loading_delay_s_p95": "Loading delay, 95th percentile",
    "loading_delay_s_p99": "Loading delay, 99th percentile",
    "startup_delay_s": "Start-up delay",
    "stalls": "Stalls",
    "stall_s": "Time stalled",
    "seeks": "Seeks",
    "seek_to_play_s": "From seek to play",
    "switches": "Quality switches",
    "quality_share_lowest": "Play time in the lowest quality",
    "quality_share_highest": "Play time in the highest quality",
    "quality_mean": "Mean quality, 0 the lowest",
    "media_rate_bit_s": "Bit rate played",
    "path_min_rtt_s": "Smallest RTT of the path",
    "cpu_client_s": "CPU time, client",
    "cpu_server_s": "CPU time, server",
    "cpu_per_byte_client_ns": "CPU time per byte, client",
    "cpu_per_byte_server_ns": "CPU time per byte, server",
}


_LASTING = frozenset(
    {"longest_gap_s", "handover_gap_s", "handover_gap_s_max", "stall_s", "busy_s",
     "receive_window_limited_s", "send_buffer_limited_s", "path_min_rtt_s"}
)  # fmt: skip
"""Times that nobody hurries through."""


@dataclass(frozen=True)
class Quantity:
    """How a metric is shown: `stored × scale` is the number in `unit`."""

    title: str
    unit: str
    scale: float

    @property
    def axis_title(self) -> str:
        """Title with its unit, as axes and column heads have it."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def quantity(metric: str, largest: float) -> Quantity:
    """Choose title and unit for a metric whose largest shown value is `largest` (stored unit)."""
    unit, scale = _unit(metric, abs(largest))
    title = TITLES.get(metric) or _title_from_name(metric)
    return Quantity(title, unit, scale)


def less_is_better(metric: str) -> bool:
    """Whether a small value is a good one: true for times and counts, not for rates."""
    return METRICS[metric].better != "higher"


def number(value: float, digits: int = 3) -> str:
    """Write a number with this many significant digits and no exponent."""
    if value == 0:
        return "0"
    # The exponent after rounding: 9.996 is 10.0, not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    decimals = max(0, digits - 1 - exponent)
    text = f"{value:,.{min(decimals, 9)}f}".replace(",", THIN)
    return text.replace("-", MINUS)


def count(whole: int) -> str:
    """Write a whole number with its thousands apart."""
    return f"{whole:,}".replace(",", THIN)


def mean_text(estimate: Estimate, shown: Quantity) -> str:
    """Write mean ± half-width of the 95 % interval, without the unit.

    The half-width keeps two significant digits and the mean as many decimals. An exact estimate
    has no ±, and neither has a single sample: `spread_note` tells the two apart.
    """
    mean = estimate.mean * shown.scale
    half = (estimate.half_width or 0.0) * shown.scale
    if half == 0:
        return number(mean, 4)
    decimals = min(9, max(0, 1 - math.floor(math.log10(half))))
    # A half-width as large as the mean says so with the mean's digits, not with more.
    return f"{mean:,.{decimals}f} ± {half:,.{decimals}f}".replace(",", THIN).replace("-", MINUS)


def median_text(estimate: Estimate, shown: Quantity) -> str:
    """Write the median and the range, without the unit: `1.21 [1.18 – 2.04]`.

    What to quote of measurements in real time, whose spread is one-sided and far from normal.
    """
    median = number(estimate.median * shown.scale)
    if estimate.n == 1:
        return median
    low, high = estimate.minimum * shown.scale, estimate.maximum * shown.scale
    return f"{median} [{number(low)} – {number(high)}]"


def spread_note(estimate: Estimate) -> str:
    """Say why a mean has no ±; empty when it has one."""
    if estimate.ci95 is None:
        return "one run"
    return "exact" if estimate.exact else ""


def verdict_text(comparison: Comparison, metric: str) -> str:
    """Write a comparison as a verdict: `1.32× slower [1.20, 1.45]`."""
    if not comparison.verdict.decided:
        return str(comparison.verdict)
    words = f"{effect_text(comparison, metric)} {outcome_text(comparison, metric)}"
    spread = "(exact)" if comparison.exact else _interval(comparison, metric)
    return f"{words} {spread}"


def outcome_text(comparison: Comparison, metric: str) -> str:
    """Write the verdict without its size: `slower`, `higher`, `no significant difference`."""
    if not comparison.verdict.decided:
        return str(comparison.verdict)
    less = comparison.verdict is Verdict.LESS
    if metric in _LASTING:
        return "shorter" if less else "longer"
    if METRICS[metric].unit in ("s", "ns"):
        return "faster" if less else "slower"
    return "lower" if less else "higher"


def effect_text(comparison: Comparison, metric: str) -> str:
    """Write the size of a difference: `1.32×`, below half a percent `0.21 %`."""
    effect = comparison.effect or 0.0
    if comparison.scale == "difference":
        shown = quantity(metric, effect)
        return f"{number(abs(effect) * shown.scale)} {shown.unit}".rstrip()
    factor = _factor(effect, comparison.verdict)
    return percent(factor - 1, 2) if factor < NEAR_ONE else f"{number(factor, 3)}×"


def p_text(p: float) -> str:
    """Write a p-value: below a thousandth only that much is said."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def percent(ratio: float, digits: int = 3) -> str:
    """Write a ratio as a percentage."""
    return f"{number(ratio * 100, digits)} %"


def favourable(comparison: Comparison, metric: str) -> bool | None:
    """Whether the contender did better; None when nothing was decided."""
    if not comparison.verdict.decided:
        return None
    return (comparison.verdict is Verdict.LESS) == less_is_better(metric)


def _factor(effect: float, verdict: Verdict) -> float:
    """Turn a ratio the way that makes it at least 1: 0.5 is 2× faster."""
    return 1 / effect if verdict is Verdict.LESS else effect


def _interval(comparison: Comparison, metric: str) -> str:
    if comparison.ci95 is None or comparison.effect is None:
        return ""
    low, high = comparison.ci95
    if comparison.scale == "difference":
        scale = quantity(metric, comparison.effect).scale
        if comparison.verdict is Verdict.LESS:
            low, high = -high, -low
        return f"[{number(low * scale)}, {number(high * scale)}]"
    if comparison.verdict is Verdict.LESS:
        low, high = 1 / high, 1 / low
    if _factor(comparison.effect, comparison.verdict) < NEAR_ONE:
        return f"[{percent(low - 1, 2)}, {percent(high - 1, 2)}]"
    return f"[{number(low)}, {number(high)}]"


_STEPS: Mapping[Unit, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "ns": ((1.0, "ns"),),
    "ratio": ((0.01, "%"),),
}
"""Units a metric is shown in, by the unit it is stored in: size and name, largest first."""


def _unit(metric: str, largest: float) -> tuple[str, float]:
    steps = _STEPS.get(METRICS[metric].unit, ((1.0, ""),))
    # Gbit/s and GB only from 10 on: 1 000 Mbit/s is how the field says it.
    for size, unit in steps:
        if largest >= (10 * size if size == 1e9 else size):
            return unit, 1 / size
    return steps[-1][1], 1 / steps[-1][0]


def _title_from_name(metric: str) -> str:
    name = metric
    for suffix in ("_bit_s", "_s", "_bytes", "_ratio"):
        name = name.removesuffix(suffix)
    return name.replace("_", " ").capitalize()
