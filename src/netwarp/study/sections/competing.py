"""``[[workload]]``: one of several workloads that share the path, with a name and a transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from netwarp.fields import DurationNs, KeyValueError, Kind, PeriodNs, Section

FIRST_PORT = 4433
"""Where servers listen, the first workload's here, and each other's at the next."""
ALL = "all"
"""The level of the factor ``workloads`` at which all run."""
WorkloadName = Annotated[
    str,
    Field(pattern="^[a-z][a-z0-9_-]{0,31}$"),
    Kind("up to 32 lower-case letters, digits, `_` and `-`, a letter first"),
]
Port = Annotated[int, Field(ge=1, lt=2**16, strict=True), Kind("a whole number from 1 to 65535")]
TransportField = Annotated[
    Any, Kind('a transport such as `"quic"`, or a table such as `{ kind = "tcp", mss = 1200 }`')
]


class CompetingSection(Section):
    """One of several workloads that share the path, each with a server and a client of its own, all
    on the same two hosts. Beside these keys it has those of its kind.

    A factor varies any key of it by its name: `"workload.NAME.size"`, `"workload.NAME.transport"`.
    The factor `workloads` has levels such as `"all"`, `"NAME"` or `"NAME+OTHER"`: which of them
    run. What the two hosts have once is one for all: TCP's options, its initial window and its
    buffers, and whether they offer ECN.
    """

    name: WorkloadName
    """What it is called; its metrics are `NAME.goodput_bit_s` and so on. `all` is taken."""
    transport: TransportField = None
    """What carries it. Default: what `[transport]` or the factor `transport` says."""
    start_ns: DurationNs = Field(default=0, alias="start")
    """When its client begins."""
    stop_ns: PeriodNs | None = Field(default=None, alias="stop")
    """When it ends, in place of `duration`: a `bulk` is broken off then, a `flow` or `rr` sends
    nothing more."""
    port: Port | None = None
    """Where its server listens. Default: 4433 for the first workload, one more for each after
    it."""


OWN_KEYS = frozenset(field.alias or name for name, field in CompetingSection.model_fields.items())
"""The keys that are not those of its kind."""


def workload_names(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the names of a study's ``[[workload]]`` tables; none where it has one ``[workload]``.

    Raises:
        KeyValueError: no table, or two of one name.
    """
    tables = raw.get("workload")
    if not isinstance(tables, list):
        return ()
    names: list[str] = []
    for index, table in enumerate(tables):
        if not isinstance(table, Mapping):
            raise KeyValueError(f"workload.{index}", table, "not a table", "write [[workload]]")
        name = table.get("name")
        if name in names or name == ALL:
            reason = "two workloads have this name" if name in names else "it stands for all"
            raise KeyValueError(f"workload.{index}.name", name, reason, "choose another")
        names.append(str(name))
    if not names:
        raise KeyValueError("workload", None, "there is none", "write [[workload]] for each")
    return tuple(names)
