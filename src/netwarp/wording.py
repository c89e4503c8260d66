"""Texts of numbers, factors and levels, for tables, axes and the report.

Metrics are stored in the base units of the registry, and shown in a readable unit, rounded to the
significant digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from netwarp.estimate.levels import scale_of
from netwarp.estimate.unseen import unseen_share
from netwarp.metrics import Unit, metric_named
from netwarp.path_properties import PATH_PROPERTIES
from netwarp.transports import IMPLEMENTATIONS, TRANSPORTS

if TYPE_CHECKING:
    from netwarp.estimate.stats import Estimate

MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"
MOST_DIGITS = 6  # most significant digits of a mean
WIDE = 0.2  # half-width as a ratio to the mean above which an interval is written with both bounds
UNKNOWN = 100.0  # ratio of its bounds above which an interval does not determine the mean

_ACRONYMS = ("rtt", "mtu", "mss", "http", "tls")
FACTOR_TITLES = {
    **{f"path.{key}": title for row in PATH_PROPERTIES for key, title in row.titles.items()},
    "path.handovers.count": "Handovers",
    "path.outages.count": "Outages",
    "path.outages.length": "Outage",
    "path.redraw.mean": "Mean round-trip time",
    "path.redraw.deviation": "Deviation of the round-trip time",
    "path.trace.down": "Rate trace",
    "topology.rtts": "Round-trip times of the pairs",
    "topology.pairs": "Pairs of hosts",
    "topology.hosts": "Hosts",
    "topology.senders": "Senders",
    "topology.hops": "Links in a row",
    "topology.bottlenecks": "Bottlenecks in a row",
    "host.count": "Number of hosts",
    "transport.mss": "MSS",
    "transport.reconnect": "Reconnection",
    "workload.rule": "Rule of the player",
    "workload.seek": "Seek probability",
    "workload.size": "File size",
    "workload.http": "Version of HTTP",
    "workload.kind": "Workload",
    "transport.kind": "Transport",
    "transport.model": "Kernel or simulator",
    "kernel": "Kernel",
}

FACTOR_UNITS = {
    **{f"path.{row.key}": row.unit for row in PATH_PROPERTIES if row.unit},
    "transport.mss": "B",
    "transport.initial_window": "packets",
}
"""Units of the factors whose levels are plain numbers."""

FACTOR_NAMES = {
    "path.second": "second path",
    "path.handovers.count": "handovers",
    "path.outages.count": "outages",
    "path.outages.length": "outage",
    "path.redraw.mean": "mean RTT",
    "path.redraw.deviation": "deviation of the RTT",
    "path.trace.down": "rate trace",
    "transport.reconnect": "reconnection",
}

_TELLING_FACTORS = frozenset({"workload.http", "transport.model"})
"""Factors whose levels are clear without the name of the factor, such as transports."""

_MODEL_NAMES: Mapping[str, str] = {
    "kernel": "real kernel",
    "ns3": "ns-3 set up like Linux",
    "ns3default": "ns-3 as it comes",
}
"""Levels of `transport.model` in words."""
_WITHOUT_CAPITAL = ("ns-3", *IMPLEMENTATIONS)
"""Names that begin with a small letter even at the start of a sentence."""


@dataclass(frozen=True)
class Quantity:
    """How a metric is shown: `stored × scale` is the number in `unit`."""

    title: str
    unit: str
    scale: float

    @property
    def axis_title(self) -> str:
        """Title with the unit, for axes and column headings."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def quantity(metric: str, largest: float) -> Quantity:
    """Return title and unit for a metric whose largest shown value is `largest` (in the stored
    unit).
    """
    return quantities(metric, largest)[-1]


def quantities(metric: str, largest: float) -> list[Quantity]:
    """Return how a metric can be shown, from the largest unit down to the one that fits this
    value.
    """
    title = metric_named(metric).title
    return [Quantity(title, unit, scale) for unit, scale in _units(metric, abs(largest))]


def less_is_better(metric: str) -> bool:
    """Return whether smaller values are better: true for times and counts, false for rates."""
    return metric_named(metric).better != "higher"


def number(value: float, digits: int = 3) -> str:
    """Return a number as text, with this many significant digits and no exponent."""
    if value == 0:
        return "0"
    # The exponent after rounding: 9.996 is 10.0, not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    decimals = max(0, digits - 1 - exponent)
    text = f"{value:,.{min(decimals, 9)}f}".replace(",", THIN)
    return text.replace("-", MINUS)


def rate_text(rate_bit_s: float | None, unlimited: str = "unlimited") -> str:
    """Return a rate of a path as text in Mbit/s; `unlimited` if the path has none."""
    return unlimited if rate_bit_s is None else f"{number(rate_bit_s / 1e6)} Mbit/s"


def digits_to_tell(*values: float) -> int:
    """Return how many significant digits, from 3 to 8, are needed to distinguish different
    values.
    """
    largest = max(map(abs, values))
    apart = min((abs(a - b) for a, b in combinations(values, 2) if a != b), default=largest)
    if largest == 0 or apart == 0:
        return 3
    return min(8, max(3, 1 + math.ceil(math.log10(largest / apart) - 1e-9)))


def count(whole: int) -> str:
    """Return a whole number as text with its thousands separated."""
    return f"{whole:,}".replace(",", THIN)


def difference_unit(unit: str) -> str:
    """Return the unit of the difference of two values. For two shares it is percentage points,
    because per cent would be read as a ratio.
    """
    return "percentage points" if unit == "%" else unit


def value_text(metric: str, value: float) -> str:
    """Return a value of a metric as text with its unit."""
    shown = quantity(metric, value)
    return f"{number(value * shown.scale)} {shown.unit}".rstrip()


def mean_text(estimate: Estimate, shown: Quantity) -> str:
    """Return mean ± half-width of the 95 % interval as text, without the unit.

    The half-width keeps two significant digits and the mean as many decimals, but the mean has no
    more than `MOST_DIGITS`: then the half-width is rounded up. A wide interval, which is not
    symmetric, is shown with both bounds: `10.0 [4.1, 24]`. If it is so wide that the samples do not
    determine the mean, their range is shown instead: `1.00 to 27.0`. Equal samples have no ±, and
    neither has a single sample; `spread_note` distinguishes the two.
    """
    mean = estimate.mean * shown.scale
    half = (estimate.half_width or 0.0) * shown.scale
    if half == 0 or estimate.ci95 is None:
        return count_text(mean, shown) or number(mean, 4)
    if half > WIDE * abs(mean):
        low, high = (bound * shown.scale for bound in estimate.ci95)
        if is_mean_unknown(estimate):
            least, most = estimate.minimum * shown.scale, estimate.maximum * shown.scale
            return f"{number(least)} to {number(most)}"
        return f"{number(mean)} [{number(low, 2)}, {number(high, 2)}]"
    decimals = max(0, 1 - math.floor(math.log10(half)))
    most = max(0, MOST_DIGITS - 1 - math.floor(math.log10(abs(mean))))
    if decimals > most:
        decimals, half = most, math.ceil(half * 10**most) / 10**most
    # A half-width as large as the mean has no more digits than the mean.
    return f"{mean:,.{decimals}f} ± {half:,.{decimals}f}".replace(",", THIN).replace("-", MINUS)


def is_mean_unknown(estimate: Estimate) -> bool:
    """Return whether the confidence interval of a mean is so wide that the samples do not determine
    the mean.
    """
    low, high = estimate.ci95 or (0.0, 0.0)
    return low > 0 and high / low > UNKNOWN


def count_text(value: float, shown: Quantity) -> str:
    """Return a whole number as text without decimals; "" if it is not whole."""
    return count(int(value)) if not shown.unit and value == int(value) else ""


def median_text(estimate: Estimate, shown: Quantity) -> str:
    """Return the median and the range as text, without the unit: `1.21 [1.18 – 2.04]`.

    These suit measurements in real time, whose spread is one-sided and far from normal.
    """
    median = number(estimate.median * shown.scale)
    if estimate.n == 1:
        return median
    low, high = estimate.minimum * shown.scale, estimate.maximum * shown.scale
    return f"{median} [{number(low)} – {number(high)}]"


def spread_note(estimate: Estimate, *, is_random: bool) -> str:
    """Return the reason why a mean has no ±; empty if it has one.

    Args:
        estimate: the estimate from a cell's runs.
        is_random: whether something in them was planned to be random, or this is unknown: then
            further runs may differ, although these are equal.
    """
    if estimate.ci95 is None:
        return "one run"
    if not estimate.all_equal:
        return ""
    return "all equal" if is_random else "exact"


def percent(ratio: float, digits: int = 3) -> str:
    """Return a ratio as text in per cent."""
    return f"{number(ratio * 100, digits)} %"


def unseen_text(n: int) -> str:
    """Return a sentence with the upper bound on the probability of an event that happened in none
    of n replicates.
    """
    return (
        f"with {count(n)} replicates, what happens in less than {percent(unseen_share(n), 2)} of"
        " the runs may not have been seen"
    )


def factor_title(factor: str) -> str:
    """Return the name of a factor for titles: `path.loss` is "Packet loss"."""
    workload, own = _split_factor(factor)
    if workload:
        return f"{workload}: {factor_name(own)}"
    known = FACTOR_TITLES.get(factor)
    name = _last_word(factor)
    return known or (name.upper() if name in _ACRONYMS else name.capitalize())


def factor_unit(factor: str) -> str:
    """Return the unit of a factor whose levels are plain numbers; "" if they are counts."""
    return FACTOR_UNITS.get(factor, "")


def level_text(factor: str, label: str) -> str:
    """Return a level as users read it: with its unit, transports by their usual names."""
    _, factor = _split_factor(factor)
    if factor in ("transport", "transport.kind"):
        return transport_text(label)
    if factor == "workload.http":
        return f"HTTP/{label}"
    if factor == "transport.model":
        return _MODEL_NAMES.get(label, label)
    scale = scale_of([label])
    if scale is None:
        return label
    unit = "" if scale.unit else factor_unit(factor)
    return f"{scale.text(label)} {unit}".rstrip()


def contender_text(factor: str, label: str) -> str:
    """Return a level as the name of a contender. A number has the factor's name, because alone it
    would not say what it is.
    """
    text = level_text(factor, label)
    return f"{factor_name(factor)} {text}" if text.isdecimal() else text


def transport_text(label: str) -> str:
    """Return a transport's usual name: "QUIC" for `quic`, "TCP-2008" for `tcp-2008`. Names of
    implementations are not changed.
    """
    if label.startswith(IMPLEMENTATIONS):
        return label
    kind, dash, rest = label.partition("-")
    names = (traits.name for known, traits in TRANSPORTS.items() if known == kind)
    return next(names, kind) + dash + rest


def condition_text(factors: Mapping[str, str]) -> str:
    """Return the levels that cells share as one line of text: `RTT 50 ms, loss 1 %`."""
    return ", ".join(
        level_text(f, level)
        if f in _TELLING_FACTORS
        else f"{factor_name(f)} {level_text(f, level)}"
        for f, level in factors.items()
    )


def cell_text(factors: Mapping[str, str], between: str = " · ") -> str:
    """Return the name of a cell: its transport, then its conditions."""
    rest = condition_text({f: level for f, level in factors.items() if f != "transport"})
    kind = level_text("transport", factors["transport"]) if "transport" in factors else ""
    return between.join(filter(None, [kind, rest])) or "all runs"


def number_of_cells(n: int) -> str:
    """Return a number of cells as text: "1 cell" or "18 cells"."""
    return "1 cell" if n == 1 else f"{n} cells"


def cells_text(cells: Sequence[Mapping[str, str]]) -> str:
    """Return as text the first five of these cells, and the number of the others."""
    names = "; ".join(cell_text(factors, ", ") for factors in cells[:5])
    return f"{names} and {len(cells) - 5} more" if len(cells) > 5 else names


def sentence_case(text: str) -> str:
    """Return a text with a capital first letter, unless it begins with a name that has none."""
    if text.startswith(_WITHOUT_CAPITAL):
        return text
    return text[:1].upper() + text[1:]


def factor_name(factor: str) -> str:
    """Return a factor in one or two words within a sentence: `path.rtt` is "RTT"."""
    workload, own = _split_factor(factor)
    if workload:
        return f"{workload}'s {factor_name(own)}"
    if factor in FACTOR_NAMES:
        return FACTOR_NAMES[factor]
    name = _last_word(factor)
    return name.upper() if name in _ACRONYMS else name


def _last_word(factor: str) -> str:
    """Return the last word of a factor's key, which is "stack" for the name of a stack."""
    own = factor.removesuffix(".name") if factor.endswith(".stack.name") else factor
    return own.rsplit(".", 1)[-1].replace("_", " ")


def _split_factor(factor: str) -> tuple[str, str]:
    """Split a factor such as `workload.NAME.size` into the name of its workload, link or host, and
    the factor within it, which for a link is named as for a path. The name is "second path" for a
    factor of the second path, and empty for a factor of none of these.
    """
    if factor.startswith(SECOND_PATH):
        return "second path", f"path.{factor.removeprefix(SECOND_PATH)}"
    section, _, rest = factor.partition(".")
    name, dot, own = rest.partition(".")
    if section not in ("workload", "link", "host") or not dot:
        return "", factor
    if section == "link":
        return name, f"path.{own}"
    return name, own if own.startswith("transport") else f"{section}.{own}"


SECOND_PATH = "path.second."
"""Prefix of the factors of the second path."""
_STEPS: Mapping[Unit, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "1/s": ((1.0, "/s"),),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "ns": ((1.0, "ns"),),
    "ratio": ((0.01, "%"),),
}
"""Units in which a metric is shown, by the unit in which it is stored: size and name, largest
first.
"""


def _units(metric: str, largest: float) -> list[tuple[str, float]]:
    """Return the units of a metric, each with the factor to convert to it, from the largest one
    down to the one that fits its largest value.
    """
    steps = _STEPS.get(metric_named(metric).unit, ((1.0, ""),))
    # Gbit/s and GB are used only from 10 on: 1 000 Mbit/s is the usual way to write it.
    suits = (
        at for at, (size, _) in enumerate(steps) if largest >= size * (10 if size == 1e9 else 1)
    )
    return [(unit, 1 / size) for size, unit in steps[: 1 + next(suits, len(steps) - 1)]]
