"""The ``[[workload]]`` section: one of several workloads that share the path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from netwarp.fields import DurationNs, KeyValueError, Kind, PeriodNs, Section

FIRST_PORT = 4433
"""Port of the first workload's server; each further workload has the next port."""
ALL = "all"
"""The level of the factor ``workloads`` at which all workloads run."""
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
    on the same two hosts. It has these keys beside those of its kind.

    A factor names any key of it by the workload's name: `"workload.NAME.size"`,
    `"workload.NAME.transport"`. The factor `workloads` selects which of them run, with levels such
    as `"all"`, `"NAME"` or `"NAME+OTHER"`. Settings of the two hosts are the same for all
    workloads: TCP's options, initial window and buffers, and whether the hosts offer ECN.
    """

    name: WorkloadName
    """Name of the workload; its metrics are `NAME.goodput_bit_s` and so on. `all` is reserved."""
    transport: TransportField = None
    """Its transport. Default: that of `[transport]` or of the factor `transport`."""
    start_ns: DurationNs = Field(default=0, alias="start")
    """Time at which its client starts."""
    stop_ns: PeriodNs | None = Field(default=None, alias="stop")
    """Time at which it ends, in place of `duration`: a `bulk` is aborted, a `flow` or `rr` stops
    sending."""
    port: Port | None = None
    """Port on which its server listens. Default: 4433 for the first workload, 4434 for the second,
    etc."""


OWN_KEYS = frozenset(field.alias or name for name, field in CompetingSection.model_fields.items())
"""Keys that workloads of every kind have in a ``[[workload]]`` table."""


def workload_names(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the names of a study's ``[[workload]]`` tables; empty where it has one ``[workload]``.

    Raises:
        KeyValueError: not a table, or a name used twice.
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
