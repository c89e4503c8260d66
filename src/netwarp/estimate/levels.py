"""Levels of a factor as numbers: what orders them, spaces them on an axis, and fits slopes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.units import (
    UnitError,
    parse_duration_ns,
    parse_queue,
    parse_rate_bit_s,
    parse_ratio,
    parse_size_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TITLES = {
    "path.rtt": "Round-trip time",
    "path.delay": "One-way delay",
    "path.loss": "Packet loss",
    "path.rate": "Bottleneck rate",
    "path.queue": "Queue",
    "path.jitter": "Jitter",
    "path.mtu": "MTU",
    "path.handovers.count": "Handovers",
    "path.outages.count": "Outages",
    "path.outages.length": "Outage",
    "path.redraw.mean": "Mean round-trip time",
    "path.redraw.deviation": "Deviation of the round-trip time",
    "path.trace.down": "Rate trace",
    "transport.mss": "MSS",
    "transport.reconnect": "Reconnection",
    "workload.rule": "Rule of the player",
    "workload.seek": "Seek probability",
    "workload.size": "File size",
}

NAMES = {
    "path.handovers.count": "handovers",
    "path.outages.count": "outages",
    "path.outages.length": "outage",
    "path.redraw.mean": "mean RTT",
    "path.redraw.deviation": "deviation of the RTT",
    "path.trace.down": "rate trace",
    "transport.reconnect": "reconnection",
}


@dataclass(frozen=True)
class Scale:
    """The numbers behind the labels of a factor, in one unit ("" where there is none)."""

    unit: str
    values: Mapping[str, float]

    def text(self, label: str) -> str:
        """Write a level as axes and tables show it: `50 ms`, `1 %`."""
        number = f"{self.values[label]:.6g}"
        return f"{number} {self.unit}" if self.unit else number


def scale_of(labels: Sequence[str]) -> Scale | None:
    """Read all labels as one kind of quantity; None when they are names."""
    for read, unit_of in _KINDS:
        try:
            numbers = {label: float(read(label)) for label in labels}
        except (UnitError, ValueError, TypeError):
            continue
        if not all(map(math.isfinite, numbers.values())):
            continue
        unit, divisor = unit_of(max(numbers.values(), default=0))
        # 12 digits: 100 × 0.07 is not quite 7 in binary.
        shown = {label: float(f"{n / divisor:.12g}") for label, n in numbers.items()}
        return Scale(unit, shown)
    return None


def ordered(labels: Sequence[str]) -> list[str]:
    """Sort levels by number; names stay in the study's order."""
    scale = scale_of(labels)
    return list(labels) if scale is None else sorted(labels, key=scale.values.__getitem__)


def factor_title(factor: str) -> str:
    """Name a factor in words: `path.loss` is "Packet loss"."""
    known = TITLES.get(factor)
    return known or factor.rsplit(".", 1)[-1].replace("_", " ").capitalize()


def level_text(factor: str, label: str) -> str:
    """Write one level as people read it."""
    if factor == "transport":
        return transport_text(label)
    scale = scale_of([label])
    return label if scale is None else scale.text(label)


def transport_text(label: str) -> str:
    """Write a transport's name as people do: `quic` is "QUIC", `tcp-2008` is "TCP-2008"."""
    kind, dash, rest = label.partition("-")
    return (kind.upper() if kind in _TRANSPORTS else kind) + dash + rest


def condition_text(factors: Mapping[str, str]) -> str:
    """Write the levels that cells share as one line: `RTT 50 ms, loss 1 %`."""
    return ", ".join(f"{factor_name(f)} {level_text(f, level)}" for f, level in factors.items())


def cell_text(factors: Mapping[str, str], between: str = " · ") -> str:
    """Name a cell: its transport, then its conditions."""
    rest = condition_text({f: level for f, level in factors.items() if f != "transport"})
    kind = level_text("transport", factors["transport"]) if "transport" in factors else ""
    return between.join(filter(None, [kind, rest])) or "all runs"


def sentence_case(text: str) -> str:
    """Begin with a capital, and leave the rest as it is."""
    return text[:1].upper() + text[1:]


def factor_name(factor: str) -> str:
    """Name a factor in a word or two within a sentence: `path.rtt` is "RTT"."""
    if factor in NAMES:
        return NAMES[factor]
    name = factor.rsplit(".", 1)[-1].replace("_", " ")
    return name.upper() if name in ("rtt", "mtu", "mss") else name


_TRANSPORTS = frozenset({"tcp", "tls", "sctp", "quic", "udp", "mptcp"})


def _time_unit(largest_ns: float) -> tuple[str, float]:
    if largest_ns > 1e10 or largest_ns == 0:
        return "s", 1e9
    return ("ms", 1e6) if largest_ns >= 1e6 else ("µs", 1e3)


def _rate_unit(largest_bit_s: float) -> tuple[str, float]:
    return ("Mbit/s", 1e6) if largest_bit_s >= 1e6 else ("kbit/s", 1e3)


def _size_unit(largest_bytes: float) -> tuple[str, float]:
    return ("MB", 1e6) if largest_bytes >= 1e6 else ("kB", 1e3)


def _queue_in(unit: str) -> Callable[[str], float]:
    def read(label: str) -> float:
        queue = parse_queue(label)
        if queue.unit != unit:
            raise ValueError(f"{label} is not in {unit}")
        return float(queue.amount)

    return read


_KINDS: tuple[tuple[Callable[[str], Any], Callable[[float], tuple[str, float]]], ...] = (
    (float, lambda _: ("", 1)),
    (lambda label: 100 * parse_ratio(label), lambda _: ("%", 1)),
    (parse_duration_ns, _time_unit),
    (parse_rate_bit_s, _rate_unit),
    (parse_size_bytes, _size_unit),
    (_queue_in("bdp"), lambda _: ("BDP", 1)),
    (_queue_in("packets"), lambda _: ("packets", 1)),
)
