"""Parses and formats quantities with units: ``100ms``, ``50mbit``, ``5%``, ``10MB``, ``1bdp``.

Internally everything is a plain number whose unit is part of its name: nanoseconds, bit/s, bytes,
ratios from 0 to 1. Arithmetic is exact (``decimal``): ``0.1ms`` is exactly 100 000 ns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar

from netwarp.errors import InputError
from netwarp.suggestions import did_you_mean

T = TypeVar("T")

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
ETHERNET_HEADER_BYTES = 14
UNLIMITED = "unlimited"

_DURATION_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
}
# Rates are decimal bit/s, as everywhere in networking (and in tc).
_RATE_BIT_S = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_SIZE_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_VALUES: dict[str, dict[str, Decimal]] = {
    "s": {unit: Decimal(ns) / NS_PER_S for unit, ns in _DURATION_NS.items()},
    "ns": {unit: Decimal(ns) for unit, ns in _DURATION_NS.items()},
    "bit/s": {unit: Decimal(bit_s) for unit, bit_s in _RATE_BIT_S.items()},
    "B": {unit: Decimal(size) for unit, size in _SIZE_BYTES.items()},
    "ratio": {"%": Decimal("0.01")},
}
"""Units in which a user can give a metric's value, by the unit in which it is stored."""
_EXAMPLES = {"s": "2.5 s", "ns": "250 us", "bit/s": "50 Mbit/s", "B": "10 MB", "ratio": "1 %"}
# In this spelling they always mean bits, an eighth of a byte.
_BITS = {"kb": "kilobits", "Kb": "kilobits", "Mb": "megabits", "Gb": "gigabits", "Tb": "terabits"}
# Only ASCII digits: Python also reads digits of other scripts as numbers, but nothing else here
# does.
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*([^\d\s].*)?")
# No quantity needs more; arithmetic with millions of digits takes minutes.
_MOST_CHARACTERS = 100
# The kernel stores delays, rates and sizes in signed 64-bit numbers.
_LARGEST = 2**63 - 1


class UnitError(ValueError):
    """A quantity that is not valid: the reason, and the remedy."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(reason, remedy)

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}"


@dataclass(frozen=True)
class QueueLength:
    """The length of the bottleneck's queue, without the delay line."""

    amount: Decimal
    unit: Literal["bdp", "bytes", "packets"]

    def __str__(self) -> str:
        if self.unit == "bytes":
            return format_size(int(self.amount))
        return f"{_plain(self.amount)}{'bdp' if self.unit == 'bdp' else 'p'}"


def parse_duration_ns(text: object) -> int:
    """Parse a duration such as ``100ms``; return it in nanoseconds.

    Raises:
        UnitError: it is not a duration, is negative, or is finer than a nanosecond.
    """
    remedy = 'write a duration such as "100ms", "1.5s" or "250us"'
    return _whole(_scaled(text, _DURATION_NS, "a duration", remedy), "a nanosecond", remedy)


def parse_rate_bit_s(text: object) -> int | None:
    """Parse a rate such as ``50mbit``; return it in bit/s, or None for ``unlimited``.

    Raises:
        UnitError: it is not a rate, or is below 8 bit/s (netem counts in whole bytes per second).
    """
    remedy = 'write a rate such as "50mbit", "1.5gbit" or "unlimited"'
    if isinstance(text, str) and text.strip().lower() == UNLIMITED:
        return None
    # Not "bps": tc reads it as bytes per second, everybody else as bits.
    plain = text.strip().removesuffix("/s") if isinstance(text, str) else text
    rate_bit_s = _whole(_scaled(plain, _RATE_BIT_S, "a rate", remedy), "one bit/s", remedy)
    if rate_bit_s < 8:
        raise UnitError("a rate must be at least 8bit", remedy)
    return rate_bit_s


def parse_size_bytes(text: object) -> int:
    """Parse a size such as ``10MB`` (decimal) or ``4MiB`` (binary); return it in bytes.

    Raises:
        UnitError: it is not a size, is zero or negative, is not a whole number of bytes, or is in
            bits.
    """
    remedy = 'write a size such as "10MB", "64kB" or "4MiB"'
    _refuse_bits(text, remedy)
    size_bytes = _whole(_scaled(text, _SIZE_BYTES, "a size", remedy), "one byte", remedy)
    if size_bytes == 0:
        raise UnitError("a size must be at least 1B", remedy)
    return size_bytes


def parse_ratio(text: object) -> float:
    """Parse a percentage such as ``5%``; return it as a ratio from 0 to 1.

    A bare number is refused unless it is 0, because users have meant five percent both by 0.05 and
    by 5.

    Raises:
        UnitError: it is not a percentage, is negative, or is above 100 %.
    """
    remedy = 'write a percentage from "0%" to "100%"'
    if text == 0 and not isinstance(text, bool):
        return 0.0
    ratio = _scaled(text, {"%": Decimal("0.01")}, "a percentage", remedy)
    if ratio > 1:
        raise UnitError("more than 100 %", remedy)
    return float(ratio)


LOSS_MODELS = ("gemodel", "every", "packets")
"""Loss models that consist of a name and numbers, such as ``every 100``."""


def loss_model(text: object) -> tuple[str | None, list[str]]:
    """Return a loss model's name, None if it has none, and its numbers as texts."""
    words = text.replace(",", " ").split() if isinstance(text, str) else []
    if not words or words[0].lower() not in LOSS_MODELS:
        return None, []
    return words[0].lower(), words[1:]


def parse_queue(text: object) -> QueueLength:
    """Parse a queue length: ``1bdp``, ``64kB`` or ``1000p`` (packets).

    Raises:
        UnitError: it is not a queue length, or is zero: a queue without room drops every packet.
    """
    remedy = 'write a queue such as "1bdp", "64kB" or "1000p" (packets)'
    number, unit = _split(text, "a queue length", remedy)
    if number <= 0:
        raise UnitError("a queue must have room for at least one packet", remedy)
    match unit.lower():
        case "bdp":
            return QueueLength(number, "bdp")
        case "p" | "packet" | "packets":
            return QueueLength(Decimal(_whole(number, "one packet", remedy)), "packets")
        case lowered if lowered in _SIZE_BYTES:
            return QueueLength(Decimal(parse_size_bytes(text)), "bytes")
    raise UnitError(_unknown_unit(unit, ["bdp", "p", "B", "kB", "MB", "KiB", "MiB"]), remedy)


def parse_value(text: str, unit: str) -> float:
    """Parse a metric's value, such as ``2.5 s`` or ``50 Mbit/s``; return it in the unit in which it
    is stored. Counts are plain numbers.

    Args:
        text: the number with its unit.
        unit: the metric's unit, such as ``s``, ``bit/s``, ``ratio`` or ``packets``.

    Raises:
        UnitError: it is not a value in that unit, or is negative.
    """
    if unit == "B":
        _refuse_bits(text, f'write a value such as "{_EXAMPLES[unit]}"')
    remedy = f'write a value such as "{_EXAMPLES.get(unit, "10")}"'
    plain = text.strip().removesuffix("/s") if unit == "bit/s" else text
    if unit in _VALUES:
        return float(_scaled(plain, _VALUES[unit], "a value of this metric", remedy))
    return float(_scaled(plain, {"": 1, unit: 1}, "a value of this metric", remedy))


def option_value(option: str, text: str, parse: Callable[[str], T]) -> T:
    """Parse the value of an option that is a quantity.

    Raises:
        InputError: it is not such a quantity; the message names the option.
    """
    try:
        return parse(text)
    except UnitError as error:
        raise InputError(f"{option} {text}: {error}") from None


def seconds(time_ns: float | None) -> float | None:
    """Convert ns to s; None remains None."""
    return None if time_ns is None else time_ns / NS_PER_S


def format_duration(duration_ns: int) -> str:
    """Return nanoseconds as text in the largest of s, ms, us and ns that is not larger than the
    duration.
    """
    for unit in ("s", "ms", "us"):
        if duration_ns >= _DURATION_NS[unit] or duration_ns == 0:
            return f"{_plain(Decimal(duration_ns) / _DURATION_NS[unit])}{unit}"
    return f"{duration_ns}ns"


def format_size(size_bytes: int) -> str:
    """Return bytes as text, in binary units if they are a whole number of these, else in decimal
    ones.
    """
    for unit in ("GiB", "MiB", "KiB"):
        scale = _SIZE_BYTES[unit.lower()]
        if size_bytes and size_bytes % scale == 0:
            return f"{size_bytes // scale}{unit}"
    for unit in ("GB", "MB", "kB"):
        scale = _SIZE_BYTES[unit.lower()]
        if size_bytes >= scale:
            return f"{_plain(Decimal(size_bytes) / scale)}{unit}"
    return f"{size_bytes}B"


def _scaled(
    text: object, units: dict[str, int] | dict[str, Decimal], what: str, remedy: str
) -> Decimal:
    """Parse a quantity with a unit; return it in the smallest of the units."""
    number, unit = _split(text, what, remedy)
    # Except for `_BITS`, case does not matter: "10MB", "10mb" and "50Mbit" have only one meaning
    # each.
    scale = units.get(unit.lower())
    if scale is None and number == 0 and not unit:
        return Decimal(0)
    if scale is None:
        raise UnitError(_unknown_unit(unit, list(units)), remedy)
    if number < 0:
        raise UnitError(f"{what} cannot be negative", remedy)
    scaled = number * scale
    if scaled > _LARGEST:
        raise UnitError(f"too large for {what}", remedy)
    return scaled


def _refuse_bits(text: object, remedy: str) -> None:
    number, unit = _split(text, "a size", remedy)
    if unit in _BITS:
        byte = f"{unit[0]}B"
        remedy = f'write "{_plain(number / 8)}{byte}", or "{_plain(number)}{byte}" for bytes'
        raise UnitError(f'"{unit}" are {_BITS[unit]}, and a size is in bytes', remedy)


def older_sizes_in_bytes(tables: Any) -> Any:
    """Return the tables of a kept study with its sizes spelled as today: "10MB" for "10Mb", which
    older versions read as bytes.

    Only sizes had such a unit, in either case of its letters.
    """
    match tables:
        case dict():
            return {key: older_sizes_in_bytes(value) for key, value in tables.items()}
        case list():
            return [older_sizes_in_bytes(value) for value in tables]
        case str() if (match := _QUANTITY.fullmatch(tables.strip())) and match[2] in _BITS:
            return tables.strip()[:-1] + "B"
    return tables


def _split(text: object, what: str, remedy: str) -> tuple[Decimal, str]:
    """Return the number and the unit of a quantity."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        if abs(text) > 2**64:
            raise UnitError(f"too large for {what}", remedy)
        text = str(text)
    if not isinstance(text, str):
        raise UnitError(f"not {what}", remedy)
    if len(text) > _MOST_CHARACTERS:
        raise UnitError(f"too long for {what}", remedy)
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise UnitError(f"not {what}", remedy)
    return Decimal(match[1]), (match[2] or "").strip()


def _unknown_unit(unit: str, known: list[str]) -> str:
    if not unit:
        return "the unit is missing"
    return f'unknown unit "{unit}" ({did_you_mean(unit, known).removesuffix("?")})'


def _whole(number: Decimal, grain: str, remedy: str) -> int:
    if number != number.to_integral_value():
        raise UnitError(f"finer than {grain}", remedy)
    return int(number)


def _plain(number: Decimal) -> str:
    """Return a decimal as text, without exponent and trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def span_text(seconds: float) -> str:
    """Return a length of time as text: `1 ms`, `12.3 s`, `4 min 05 s`, `3 d 4 h`."""
    if 0 < seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
