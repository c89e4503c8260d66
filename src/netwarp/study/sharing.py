"""Converts a comparison of ``netwarp compare`` to one on a network of several hosts: ``--rtts``,
``--shape``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from netwarp.fields import KeyValueError
from netwarp.options.networks import SHAPES, USUAL_STOP, misfits
from netwarp.study.refusal import Refusals
from netwarp.study.sections.topology import SIZES, Shape
from netwarp.suggestions import did_you_mean

USUAL_RESPONSE = "256kB"
"""Default size of the content that each sender of an incast sends (Phanishayee et al., FAST
2008)."""
_START_JITTER = "100ms"
"""Upper bound of the random delay before each flow starts, so that it differs between replicates
which flow is first."""
_INCAST_JITTER = "100us"
_FLOW = "flow"


@dataclass(frozen=True)
class Asked:
    """The options of `compare` that define a network."""

    rtts: Sequence[Any] | None
    """Round-trip time of each flow; None if the option is not given."""
    shapes: Sequence[Any] | None
    """Levels of `--shape`, such as `incast:16`."""
    levels: Mapping[str, Sequence[Any]]
    """Levels of all other options."""
    given: Mapping[str, Any]
    """All options that were given, by name."""


def on_a_network(tables: Mapping[str, Any], asked: Asked, command: str) -> dict[str, Any]:
    """Return a comparison on the network that the options define; if they define none, it is
    unchanged.

    Args:
        tables: the tables of the comparison between two hosts.
        asked: what the options say about the network.
        command: the command that has these options, for messages.

    Raises:
        StudyError: a shape is not known, or an option does not fit the network.
    """
    try:
        return _on_a_network(tables, asked)
    except KeyValueError as misfit:
        raise Refusals(command).study_error(misfit) from None


def _on_a_network(tables: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    if asked.rtts is None and asked.shapes is None:
        _refuse_misfits(asked, None)
        return dict(tables)
    shape, sizes = _shape(asked)
    _refuse_misfits(asked, shape)
    topology: dict[str, Any] = {"shape": shape}
    factors = dict(tables["factors"])
    if asked.rtts is not None:
        topology["rtts"] = list(asked.rtts)
    if len(sizes) > 1:
        factors[f"topology.{SIZES[shape]}"] = sizes
    if sizes:
        topology[SIZES[shape]] = sizes[0]
    whole = {**tables, "factors": factors, "topology": topology}
    match shape:
        case "incast":
            return _incast(whole, asked)
        case "chain":
            return _chain(whole)
        case "parking-lot":
            return _sharing(whole, asked, ("long", "client", "server"), ("cross", "left", "right"))
        case _ if asked.rtts is None:
            return _sharing(whole, asked, (_FLOW, "client", "server"))
        case _:
            return _at_distances(whole, asked, asked.rtts)


def _refuse_misfits(asked: Asked, shape: Shape | None) -> None:
    for name, (reason, remedy) in misfits(shape).items():
        if name in asked.given:
            raise KeyValueError(f"--{name}", asked.given[name], reason, remedy)


def _shape(asked: Asked) -> tuple[Shape, list[int]]:
    """Return the shape, and the levels of its size. There are no levels if the size follows from
    the round-trip times.
    """
    if asked.shapes is None:
        return "dumbbell", []
    read = [_shape_of(str(level)) for level in asked.shapes]
    (shape, _), *others = read
    if any(other != shape for other, _ in others):
        reason = "these are different shapes, which have different workloads"
        remedy = f"vary the number: {SHAPES[shape]},{shape}:8"
        raise KeyValueError("--shape", ",".join(map(str, asked.shapes)), reason, remedy)
    return shape, [size for _, size in read if size is not None]


def _shape_of(level: str) -> tuple[Shape, int | None]:
    found = re.fullmatch(r"([a-z-]+)(?::([0-9]{1,6}))?", level)
    names = [name for name in get_args(Shape) if name in SHAPES]
    name = next((each for each in names if found and found[1] == each), None)
    if found is None or name is None:
        remedy = did_you_mean(level.partition(":")[0], names)
        raise KeyValueError("--shape", level, "not a shape with its number", remedy)
    return name, int(found[2]) if found[2] else None


def _sharing(
    tables: dict[str, Any], asked: Asked, *between: tuple[str, str, str]
) -> dict[str, Any]:
    """Return a comparison of flows that share links until they are stopped; each flow has a name
    and two hosts.
    """
    flows = [_flow(tables, asked, *each) for each in between]
    metrics = [f"{name}.goodput_bit_s" for name, _, _ in between]
    return _with_flows(tables, flows, metrics if len(between) > 1 else ["jain_index", *metrics])


def _at_distances(tables: dict[str, Any], asked: Asked, rtts: Sequence[Any]) -> dict[str, Any]:
    """Return a comparison of flows that share a path, each with its own round-trip time."""
    if len(rtts) < 2:
        reason, remedy = "one flow shares nothing", "give one for each flow, as --rtts 20ms,160ms"
        raise KeyValueError("--rtts", rtts[0], reason, remedy)
    flows = [
        _flow(tables, asked, f"flow{number}", f"client{number}", f"server{number}")
        for number in range(1, len(rtts) + 1)
    ]
    shares = [f"{each['name']}.share_ratio" for each in flows]
    whole = _with_flows(tables, flows, [*shares, "jain_index"], drawn=shares)
    title = f"{tables['title']}: {len(flows)} flows of {', '.join(map(str, rtts))}"
    return whole | {"title": title}


def _flow(tables: dict[str, Any], asked: Asked, name: str, start: str, end: str) -> dict[str, Any]:
    return {
        "name": name, "kind": "bulk", "from": start, "to": end,
        "stop": asked.given.get("stop", USUAL_STOP), "start_jitter": _START_JITTER,
    } | _direction(tables)  # fmt: skip


def _direction(tables: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tables["workload"][key] for key in ("direction",) if key in tables["workload"]}


def _incast(tables: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """Return a comparison in which all senders send to the receiver at the same time."""
    usual = {} if "size" in asked.given else {"size": USUAL_RESPONSE}
    metrics = ["flow.completion_time_s_p99", "flow.completion_time_s"]
    return _one_flow(tables, usual | {"start_jitter": _INCAST_JITTER}, metrics)


def _chain(tables: dict[str, Any]) -> dict[str, Any]:
    """Return a comparison in which one flow crosses all links in a row of routers."""
    ends = {"from": "client", "to": "server"}
    return _one_flow(tables, ends, ["flow.completion_time_s"])


def _one_flow(
    tables: dict[str, Any], keys: Mapping[str, Any], metrics: list[str]
) -> dict[str, Any]:
    """Return a comparison of one flow with the size that the options give; if they give several
    sizes, the size is a factor.
    """
    factors: dict[str, Any] = tables["factors"]
    sizes = factors.pop("workload.size", None)
    if sizes:
        factors[f"workload.{_FLOW}.size"] = sizes
        keys = {"size": sizes[0], **keys}
    sent = {**tables["workload"], "name": _FLOW, **keys}
    return _with_flows(tables, [sent], metrics)


def _with_flows(
    tables: dict[str, Any],
    flows: list[dict[str, Any]],
    metrics: list[str],
    drawn: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the comparison's tables with these workloads, compared by these metrics."""
    racing = next(iter(tables["factors"]))
    figures = [{"kind": "bar", "x": racing, "y": each} for each in drawn or metrics[:1]]
    return {**tables, "metrics": metrics, "workload": flows, "figure": figures}
