"""Types of the values in a study file: read from text with a unit, stored as plain numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from netwarp import wire
from netwarp.path_profiles import PROFILES
from netwarp.suggestions import nearest
from netwarp.units import (
    QueueLength,
    UnitError,
    loss_model,
    parse_duration_ns,
    parse_queue,
    parse_rate_bit_s,
    parse_ratio,
    parse_size_bytes,
)
from netwarp.wire import Direction
from netwarp.wire.path import MOST_LISTED_LOSSES

DIRECTIONS: tuple[Direction, ...] = ("down", "up")


@dataclass(frozen=True)
class Kind:
    """The form of a value in words, for the generated reference of study keys."""

    words: str


class Section(BaseModel):
    """A table of a study file. Unknown keys are refused. Names of attributes end in their unit."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True
    )
    impossible: ClassVar[Mapping[str, str]] = {}
    """Messages about keys that users look for but that no study can have, by key."""


class KeyValueError(ValueError):
    """A value that is invalid by itself or with others; the error has the value's key."""

    def __init__(
        self,
        key: str | None,
        value: Any,
        reason: str,
        remedy: str | None = None,
        missing: str | None = None,
    ) -> None:
        self.key = key
        """Dotted key, relative to the section if it is within one; None if the error belongs to no
        key.
        """
        self.value = value
        """The value that was found; None if it is missing or not known here."""
        self.reason = reason
        self.remedy = remedy
        self.missing = missing
        """Dotted key that the value needs and that is not set, relative in the same way as `key`;
        None if there is none.
        """
        super().__init__(key, value, reason, remedy, missing)

    def __str__(self) -> str:
        return self.reason


_GEMODEL_REMEDY = (
    'write "gemodel p r 1-h 1-k" in percentages, such as "gemodel 1% 30% 100% 0%", or a table'
    ' { p = "1%", r = "30%", loss_bad = "100%", loss_good = "0%" }'
)
_EVERY_REMEDY = 'write "every 100": the 100th packet is lost, the 200th, and so on'
_PACKETS_REMEDY = 'write their numbers, the first packet being 1: "packets 5 9 20"'
_REORDER_REMEDY = (
    'write a percentage, or a table { ratio = "25%", correlation = "50%", gap = 5 } in which the'
    " last two may be left out"
)


def parse_loss(value: object) -> wire.Loss:
    """Parse a study's loss: ``"5%"``, ``"gemodel 1% 30% 100% 0%"``, a table of Gilbert-Elliott's
    parameters, ``"every 100"`` or ``"packets 5 9 20"``.

    In the string of `gemodel` the last one or two may be left out: loss is then 100 % in the bad
    state and 0 % in the good one (the simple Gilbert model).

    Raises:
        UnitError: the value has none of these forms, or a parameter is not valid.
    """
    if isinstance(value, dict):
        unknown = set(value) - {"p", "r", "loss_bad", "loss_good"}
        if unknown or not {"p", "r"} <= set(value):
            raise UnitError("not a Gilbert-Elliott model", _GEMODEL_REMEDY)
        return _gemodel(
            [value["p"], value["r"], value.get("loss_bad", "100%"), value.get("loss_good", "0%")]
        )
    model, words = loss_model(value)
    if model == "gemodel":
        if not 2 <= len(words) <= 4:
            raise UnitError("gemodel takes two to four percentages", _GEMODEL_REMEDY)
        return _gemodel([*words, *["100%", "0%"][len(words) - 2 :]])
    if model == "every":
        return _periodic_loss(words)
    if model == "packets":
        return _listed_loss(words)
    ratio = parse_ratio(value)
    if ratio == 0:
        return wire.NoLoss(kind="none")
    return wire.RandomLoss(kind="random", ratio=ratio, correlation=0.0)


def _gemodel(parameters: list[Any]) -> wire.GemodelLoss:
    """Parse the four parameters of `gemodel`."""
    ratios = []
    for name, value in zip(("p", "r", "1-h", "1-k"), parameters, strict=True):
        try:
            ratios.append(parse_ratio(value))
        except UnitError as error:
            raise UnitError(f"gemodel's {name}: {error.reason}", _GEMODEL_REMEDY) from None
    p, r, loss_bad, loss_good = ratios
    if p > 0 and r == 0:
        raise UnitError("gemodel's r is 0: the bad state would never end", _GEMODEL_REMEDY)
    return wire.GemodelLoss(kind="gemodel", p=p, r=r, loss_bad=loss_bad, loss_good=loss_good)


def _periodic_loss(words: list[str]) -> wire.PeriodicLoss:
    numbers = _packet_numbers(words, _EVERY_REMEDY)
    if len(numbers) != 1:
        raise UnitError("every takes one number of packets", _EVERY_REMEDY)
    if numbers[0] == 1:
        raise UnitError("every packet would be lost", 'write "100%", or a larger number')
    return wire.PeriodicLoss(kind="every", packets=numbers[0])


def _listed_loss(words: list[str]) -> wire.ListedLoss:
    numbers = _packet_numbers(words, _PACKETS_REMEDY)
    if not 1 <= len(numbers) <= MOST_LISTED_LOSSES:
        reason = f"packets takes one to {MOST_LISTED_LOSSES} numbers, not {len(numbers)}"
        raise UnitError(reason, _PACKETS_REMEDY)
    if len(set(numbers)) < len(numbers):
        raise UnitError("a packet is listed twice", "leave one of them out")
    return wire.ListedLoss(kind="packets", numbers=tuple(sorted(numbers)))


def _packet_numbers(words: list[str], remedy: str) -> list[int]:
    numbers = []
    for word in words:
        if not re.fullmatch("[0-9]{1,10}", word) or not 1 <= int(word) < 2**32:
            raise UnitError(f"{word} is not a number of packets from 1 to 4294967295", remedy)
        numbers.append(int(word))
    return numbers


def parse_reorder(value: object) -> wire.Reorder:
    """Parse a study's reordering: ``"25%"``, or a table of ratio, correlation and gap.

    Raises:
        UnitError: the value has neither form.
    """
    if not isinstance(value, dict):
        return wire.Reorder(ratio=parse_ratio(value), correlation=0.0, gap=0)
    gap = value.get("gap", 0)
    whole = isinstance(gap, int) and not isinstance(gap, bool) and 0 <= gap < 2**32
    if set(value) - {"ratio", "correlation", "gap"} or "ratio" not in value or not whole:
        raise UnitError("not a reordering model", _REORDER_REMEDY)
    return wire.Reorder(
        ratio=parse_ratio(value["ratio"]),
        correlation=parse_ratio(value.get("correlation", "0%")),
        gap=gap,
    )


def parse_one_of_two(usual: str, other: str, reason: str, *, true: str) -> Callable[[object], bool]:
    """Return a function that parses a key which has one of two words as its value.

    Args:
        usual: the word for the default.
        other: the word for the opposite.
        reason: the reason in the `UnitError` that is raised for anything else.
        true: which of the two words is parsed as true.
    """

    def parse(value: object) -> bool:
        if value not in (usual, other):
            raise UnitError(reason, f'write "{usual}" or "{other}"')
        return value == true

    return parse


def parse_switch(value: object) -> bool:
    """Parse ``true`` or ``false``: a boolean of TOML or, from a command line, text.

    Raises:
        UnitError: the value is neither.
    """
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise UnitError("neither true nor false", "write `true` or `false`")
    return value == "true"


Switch = Annotated[bool, BeforeValidator(parse_switch), Kind("`true` or `false`")]
DurationNs = Annotated[
    int, BeforeValidator(parse_duration_ns), Kind('a duration such as `"100ms"` or `"1.5s"`')
]


def parse_sampling(value: object) -> int | str:
    """Parse ``"auto"``, ``"off"`` or the time between two samples.

    Raises:
        UnitError: the value is none of these, or the time is 0.
    """
    if value in ("auto", "off"):
        return str(value)
    interval_ns = parse_duration_ns(value)
    if interval_ns < LEAST_SAMPLING_NS:
        raise UnitError("less than 10 µs between two samples", 'choose "1ms" or more, or "auto"')
    return interval_ns


LEAST_SAMPLING_NS = 10_000
SamplingField = Annotated[
    int | str,
    BeforeValidator(parse_sampling),
    Kind('`"auto"`, `"off"`, or a duration such as `"10ms"`'),
]
PeriodNs = Annotated[DurationNs, Field(ge=1)]
# netem stores the spread in a signed 32-bit number of nanoseconds (sch_netem.c, tabledist).
LARGEST_JITTER_NS = 2**31 - 1
MOST_REPAIRS = 3
"""Maximum number of times that a link repeats a packet (`endpoint/wire/src/facts/path.rs`)."""
SizeBytes = Annotated[
    int, BeforeValidator(parse_size_bytes), Kind('a size such as `"10MB"` or `"4MiB"`')
]
RateBitS = Annotated[
    int | None,
    BeforeValidator(parse_rate_bit_s),
    Kind('a rate such as `"50mbit"`, or `"unlimited"`'),
]
RatioField = Annotated[
    float, BeforeValidator(parse_ratio), Kind('a percentage from `"0%"` to `"100%"`')
]
Queue = Annotated[
    QueueLength,
    BeforeValidator(parse_queue),
    Kind('`"1bdp"`, a size such as `"64kB"`, or packets such as `"1000p"`'),
]
LossField = Annotated[
    wire.NoLoss | wire.RandomLoss | wire.GemodelLoss | wire.PeriodicLoss | wire.ListedLoss,
    BeforeValidator(parse_loss),
    Kind(
        'a percentage, `"gemodel p r 1-h 1-k"` in percentages, or a table of `p`, `r`, `loss_bad`,'
        ' `loss_good`; `"every 100"` or `"packets 5 9 20"` for packets by number'
    ),
]
ReorderField = Annotated[
    wire.Reorder,
    BeforeValidator(parse_reorder),
    Kind("a percentage, or a table of `ratio`, `correlation`, `gap`"),
]
if TYPE_CHECKING:
    ProfileName = str
else:
    ProfileName = Literal[tuple(PROFILES)]
JitterOrder = Annotated[
    bool,
    BeforeValidator(parse_one_of_two("kept", "free", "not an order of packets", true="kept")),
    Kind('`"kept"` or `"free"`'),
]
"""Whether packets stay in order although there is jitter."""
AckFilter = Annotated[
    bool,
    BeforeValidator(
        parse_one_of_two("kept", "dropped", "not what becomes of acknowledgements", true="dropped")
    ),
    Kind('`"kept"` or `"dropped"`'),
]
"""Whether superfluous TCP acknowledgements are dropped."""
L4sQueue = Annotated[
    bool,
    BeforeValidator(
        parse_one_of_two("ect1", "ect", "no packets of a low-latency queue", true="ect")
    ),
    Kind('`"ect1"` or `"ect"`'),
]
"""Whether all ECN-capable packets are put into the low-latency queue."""
Distribution = wire.Distribution
Neighbours = wire.Neighbours
Duplex = Literal["full", "half"]


KernelField = Annotated[
    str,
    Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+~-]{0,99}$"),
    Kind('a version or name of a guest kernel, in quotes, such as "6.12"'),
]
"""A guest kernel's version, the beginning of one, or the name of a build."""

DISCIPLINES: tuple[wire.DisciplineKind, ...] = get_args(get_args(wire.DisciplineKind)[0])
"""The queueing disciplines that a bottleneck may have, besides `fifo`."""


def _one_of(*names: str) -> str:
    *others, last = (f'`"{name}"`' for name in names)
    return f"{', '.join(others)} or {last}"


def parse_ip(value: object) -> Literal[4, 6, "dual"]:
    """Parse the version of IP, a number, or `dual` for both.

    Raises:
        UnitError: it is none of these.
    """
    if value == 4 and type(value) is int:
        return 4
    if value == 6 and type(value) is int:
        return 6
    if value == "dual":
        return "dual"
    raise UnitError("IP has the versions 4 and 6", 'write 4, 6 or "dual"')


def parse_discipline(value: object) -> wire.DisciplineKind | None:
    """Parse the name of a queueing discipline; None for ``fifo``.

    Raises:
        UnitError: the kernel has no discipline of this name.
    """
    if value == "fifo":
        return None
    for name in DISCIPLINES:
        if value == name:
            return name
    also = {
        "l4s": "L4S's queue is dualpi2; ",
        "droptail": "that is fifo; ",
        "pfifo": "that is fifo; ",
    }
    near = nearest(str(value), ["fifo", *DISCIPLINES])
    hint = also.get(str(value).lower(), f'did you mean "{near}"? ' if near else "")
    raise UnitError(
        "no queueing discipline of this name", f"{hint}choose fifo, {', '.join(DISCIPLINES)}"
    )


Streams = Annotated[int, Field(ge=1, lt=2**16, strict=True), Kind("a whole number from 1 to 65535")]
Retransmissions = Annotated[
    int, Field(ge=0, le=1000, strict=True), Kind("a whole number from 0 to 1000")
]
DisciplineName = Annotated[
    wire.DisciplineKind | None,
    BeforeValidator(parse_discipline),
    Kind(_one_of("fifo", *DISCIPLINES)),
]
IpVersion = Annotated[Literal[4, 6, "dual"], BeforeValidator(parse_ip), Kind('4, 6 or `"dual"`')]
# 576 is the size that every IPv4 host must accept (RFC 791); 65535 is the largest IP packet.
Mtu = Annotated[int, Field(ge=576, le=65535, strict=True), Kind("a whole number from 576 to 65535")]
