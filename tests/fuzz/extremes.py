"""Studies at the edges of what the key reference allows: pure, made from a seed.

Keys, types and ranges are those of the models that `docs/study-format.md` is written from, so that
a new key is drawn without a line here. A study is an ordinary one in which two keys, every pair in
its turn, and sometimes a third have values from their type's range, ends included.

Bounded here alone is what a run costs: sizes, counts, and how long it may take.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from netwarp.fields import (
    LARGEST_JITTER_NS,
    parse_discipline,
    parse_loss,
    parse_reorder,
    parse_sampling,
)
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.transport import TransportOptions
from netwarp.transports import TRANSPORTS
from netwarp.units import (
    parse_duration_ns,
    parse_queue,
    parse_rate_bit_s,
    parse_ratio,
    parse_size_bytes,
)
from netwarp.wire import DisciplineKind
from netwarp.workloads import WORKLOADS

Table = dict[str, Any]
TRACE = Path(__file__).parents[2] / "studies" / "traces" / "sawtooth.down"
RATIOS = ("0%", "0.01%", "1%", "10%", "50%", "99%", "100%")
DURATIONS = (
    "0ns", "1ns", "1us", "99us", "1ms", "10ms", "99ms", "1s", "10s", "1min",
    f"{LARGEST_JITTER_NS}ns",
)  # fmt: skip
RATES = ("100bit", "1kbit", "64kbit", "384kbit", "3mbit", "100mbit", "10gbit", "1000gbit",
         "unlimited")  # fmt: skip
QUEUES = ("1p", "2p", "1B", "1514B", "64kB", "0.01bdp", "1bdp", "8bdp", "100bdp", "10000p")
SIZES = ("1B", "2B", "100B", "1448B", "4KiB", "4607B", "4608B", "18kB", "100kB")
BUFFERS = ("1B", "4KiB", "4607B", "4608B", "64KiB", "4MiB", "64MiB")
VALUES: Mapping[Any, Sequence[Any]] = {
    parse_duration_ns: DURATIONS,
    parse_rate_bit_s: RATES,
    parse_ratio: RATIOS,
    parse_queue: QUEUES,
    parse_size_bytes: SIZES,
    parse_loss: (
        *RATIOS,
        "gemodel 1% 30%",
        "gemodel 100% 100%",
        "gemodel 1% 30% 100% 100%",
        "every 2",
        "every 4294967295",
        "packets 1 2 3",
    ),
    parse_reorder: (*RATIOS, {"ratio": "25%", "correlation": "100%", "gap": 2**32 - 1}),
    parse_sampling: ("auto", "off", "10us", "1ms", "10s"),
    parse_discipline: ("fifo", *get_args(get_args(DisciplineKind)[0])),
}
"""Values of a type, the ends of its range included, by what reads them."""
OF_KEYS: Mapping[str, Sequence[Any]] = {
    "transport.buffer": BUFFERS,
    "transport.max_message": ("9B", "10B", "1448B", "16KiB", "64KiB"),
    "workload.count": (1, 2, 50),
    "workload.transfers": (1, 2, 5),
    "workload.segments": (1, 2, 20),
    "workload.connections": (1, 2, 6),
    "workload.payload": ("1B", "100B", "1200B", "9000B", "65507B"),
    "workload.request": ("24B", "1200B", "9000B", "65507B"),
    "workload.response": ("24B", "1200B", "9000B", "65507B"),
    "workload.qualities": ({"only": "1B"}, {"low": "1B", "high": "60kB"}),
    "workload.delay_bounds": (["1ms"], ["1s"]),
    "workload.times": (["0ms"], ["0ms", "0ms", "1s"]),
    "workload.page": ("web-30",),
    "path.trace": ({"down": str(TRACE)}, {"up": str(TRACE)},
                   {"down": str(TRACE), "up": str(TRACE)}),
    "path.timeline": (
        [{"at": "1ms", "change": "outage"}, {"at": "2s", "change": "restore"}],
        [{"at": "0ms", "change": "delay", "rtt": "1s"}],
    ),
    "path.outages": ({"every": "1s", "length": "1ms", "count": 3},
                     {"every": "2s", "length": "1999ms", "count": 2}),
    "path.redraw": ({"period": "1ms", "deviation": "1ms"}, {"period": "10s", "deviation": "0ms"}),
    "path.handovers": ({"every": "500ms", "count": 0}, {"every": "100ms", "count": 5}),
    "path.second": ({}, {"rtt": "1ms"}, {"rate": "100kbit"}),
}  # fmt: skip
"""Values of keys whose model has no range, or whose range costs more than a test may."""
ELSEWHERE = {
    "kind", "model", "stack", "qlog", "file", "har", "directory", "client", "server", "trace",
    "packet_table", "duration",
}  # fmt: skip
"""Keys of transports and workloads that other lanes have: files, programs and foreign stacks."""
BASE: Mapping[str, Table] = {
    "bulk": {"size": "20kB"},
    "stream": {"watch": "4s", "segment": "1s", "qualities": {"low": "5kB", "high": "20kB"},
               "rule": "throughput"},
    "flow": {"rate": "100kbit", "payload": "500B", "count": 20},
    "rr": {"interval": "50ms", "count": 10, "request": "100B", "response": "2kB"},
    "page": {"page": "web-30"},
}  # fmt: skip
"""An ordinary workload of each kind, small."""
SHARES = {"third key": 0.4, "several workloads": 0.1, "several hosts": 0.15, "short": 0.1,
          "cold and far": 0.02}  # fmt: skip
"""How often a study has what no pair of keys brings."""


def extreme_study(seed: int, attempt: int = 0) -> Table:
    """Make a study of one cell and one run, with two or three keys anywhere in their ranges.

    Args:
        seed: the same one gives the same study. Seeds one after another have all pairs in turn.
        attempt: another one gives the same keys other values, where the planner refused these.

    Returns:
        Tables as `tomllib` reads them from a study file.
    """
    rng = Random(f"{seed} {attempt}")  # noqa: S311 - repeatable, not secret
    kind = rng.choice(list(TRANSPORTS))
    workload = Random(seed).choice(list(BASE))  # noqa: S311
    if kind == "udp" and workload not in ("flow", "rr"):
        kind = "tcp"
    study: Table = {
        "title": f"extremes {seed}",
        "replicates": 1,
        "seed": rng.randrange(2**32),
        "path": {"rtt": "20ms", "rate": "10mbit"},
        "transport": {"kind": kind},
        "workload": {"kind": workload, **BASE[workload]},
        "limits": {"virtual_s": 3600},
    }
    if kind == "mptcp":
        study["path"]["second"] = {}
    keys = _keys(workload)
    pairs = list(itertools.combinations(keys, 2))
    chosen = list(pairs[seed % len(pairs)])
    if rng.random() < SHARES["third key"]:
        chosen.append(rng.choice(keys))
    for key in chosen:
        _set(rng, study, key)
    if workload in ("bulk", "flow", "rr") and rng.random() < SHARES["short"]:
        study["workload"].pop("count" if workload != "bulk" else "chunks", None)
        study["workload"]["duration"] = rng.choice(["1ns", "1us", "1ms", "19ms", "41ms", "1s"])
        if workload == "bulk":
            study["workload"]["direction"] = rng.choice(["down", "up"])
    if workload == "stream" and rng.random() < SHARES["short"]:
        study["workload"] |= {"watch": rng.choice(["1ms", "19ms"]), "viewer_clock": "wall"}
    if rng.random() < SHARES["cold and far"]:
        # A router's three requests for an address last three seconds.
        study["path"] |= {"neighbours": "cold", rng.choice(["delay_up", "delay_down"]): "5s"}
        study["path"].pop("rtt", None)
    if workload == "bulk" and rng.random() < SHARES["several workloads"]:
        _beside(rng, study)
    elif workload in ("bulk", "rr") and attempt % 2 == 0 and rng.random() < SHARES["several hosts"]:
        # Of the other attempts are the keys that no dumbbell has.
        _beside(rng, study)
        _between_hosts(rng, study)
    return study


def _beside(rng: Random, study: Table) -> None:
    """Have a second workload share the path."""
    kind = rng.choice(["tcp", "quic", "udp"])
    other = "flow" if kind == "udp" else rng.choice(["bulk", "rr"])
    study["workload"] = [
        {"name": "first", "transport": study.pop("transport"), **study["workload"]},
        {"name": "other", "transport": kind, "kind": other, **BASE[other],
         "start": rng.choice(["0ms", "1ns", "10ms", "1s"])},
    ]  # fmt: skip


def _between_hosts(rng: Random, study: Table) -> None:
    """Put two workloads between hosts of a dumbbell, each pair at a distance from its range."""
    pairs = rng.choice([2, 3, 40])
    study["topology"] = {"shape": "dumbbell", "rtts": rng.choices(DURATIONS[:-2], k=pairs)}
    for key in ("rtt", "delay", "delay_down", "delay_up", "profile", "second"):
        study["path"].pop(key, None)
    first, other = study["workload"]
    if first["transport"]["kind"] == "mptcp":
        first["transport"] = "tcp"
    if other["kind"] == "flow":
        other |= {"kind": "rr", **BASE["rr"]}
        del other["rate"], other["payload"]
    other |= {"from": f"client{rng.randint(1, pairs)}", "to": f"server{pairs}"}


def _set(rng: Random, study: Table, key: str) -> None:
    section, _, name = key.partition(".")
    study[section][name] = rng.choice(_values(key))
    # Of a key and those of its directions the planner takes one.
    bare = name.removesuffix("_down").removesuffix("_up")
    for other in (bare, f"{bare}_down", f"{bare}_up"):
        if other != name and (other == bare) != (name == bare):
            study[section].pop(other, None)
    if name.startswith("delay"):
        study[section].pop("rtt", None)


@cache
def _keys(workload: str) -> tuple[str, ...]:
    """List all keys of a path, a transport and a kind of workload that have values."""
    return tuple(
        f"{section}.{name}"
        for section, model in _models(workload).items()
        for name, _ in _fields(model)
        if (section == "path" or name not in ELSEWHERE) and _values(f"{section}.{name}", model)
    )


def _models(workload: str) -> Mapping[str, type[BaseModel]]:
    return {
        "path": PathSection,
        "transport": TransportOptions,
        "workload": WORKLOADS[workload].section,
    }


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        yield field.alias or name, field


@cache
def _values(key: str, model: type[BaseModel] | None = None) -> tuple[Any, ...]:
    if key in OF_KEYS:
        return tuple(OF_KEYS[key])
    section, _, name = key.partition(".")
    models = [model] if model else [
        _models(workload)[section] for workload in BASE
    ]  # fmt: skip
    for each in models:
        for alias, field in _fields(each):
            if alias == name:
                return tuple(drawn_from(field.annotation, field.metadata))
    return ()


def drawn_from(annotation: Any, metadata: Sequence[Any] = ()) -> Iterator[Any]:
    """Give values of a type of the models, the ends of its range included; none of a table."""
    reader = next((each.func for each in metadata if isinstance(each, BeforeValidator)), None)
    if reader in VALUES:
        yield from VALUES[reader]
        return
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        yield from drawn_from(inner, [*_flat(more), *metadata])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            if part is not NoneType:
                yield from drawn_from(part, metadata)
    elif origin is Literal:
        yield from get_args(annotation)
    elif annotation is bool:
        yield from (True, False)
    elif annotation is int:
        yield from _whole_numbers(metadata)


def _flat(metadata: Sequence[Any]) -> Iterator[Any]:
    for each in metadata:
        if isinstance(each, FieldInfo):
            yield from each.metadata
        else:
            yield each


def _whole_numbers(metadata: Sequence[Any]) -> Iterator[int]:
    """Give both ends of a range, their neighbours and a number between; none of one without."""
    least = [each.ge for each in metadata if isinstance(each, Ge)]
    least += [each.gt + 1 for each in metadata if isinstance(each, Gt)]  # type: ignore[operator]
    most = [each.le for each in metadata if isinstance(each, Le)]
    most += [each.lt - 1 for each in metadata if isinstance(each, Lt)]  # type: ignore[operator]
    if least and most:
        low, high = int(least[0]), int(most[0])  # type: ignore[call-overload]
        middle = round((max(low, 1) * high) ** 0.5)
        yield from sorted({low, min(low + 1, high), middle, max(high - 1, low), high})
