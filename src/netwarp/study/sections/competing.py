"""The ``[[workload]]`` section: one of several workloads that share the path."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from netwarp.fields import DurationNs, KeyValueError, Kind, PeriodNs, Section
from netwarp.study.tables import Table, plain

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
    """One of several workloads that share the path, each with its own server and client, all on the
    same two hosts. It has these keys in addition to those of its kind.

    A factor names any key of it by the workload's name: `"workload.NAME.size"`,
    `"workload.NAME.transport"`. The factor `workloads` selects which of them run, with levels such
    as `"all"`, `"NAME"` or `"NAME+OTHER"`. Settings of the two hosts are the same for all
    workloads: TCP's options, initial window and buffers, and whether the hosts offer ECN.
    """

    name: WorkloadName
    """Name of the workload; its metrics are `NAME.goodput_bit_s` and so on. `all` is reserved."""
    transport: TransportField = None
    """The workload's transport. Default: that of `[transport]` or of the factor `transport`."""
    start_ns: DurationNs = Field(default=0, alias="start")
    """Time at which the workload's client starts."""
    stop_ns: PeriodNs | None = Field(default=None, alias="stop")
    """Time at which the workload ends, instead of `duration`: a `bulk` is aborted, a `flow` or `rr`
    stops sending."""
    client: str | None = Field(default=None, alias="from")
    """In a network of several hosts, the host of the workload's client, which opens connections:
    `"client1"`. The name of several hosts without a number, `"client"`, makes a workload for each
    of them, in pairs if `to` has as many; their metrics are computed over all of them: means, sums
    of counts, shares and Jain's index, and quantiles of completion times. Default: in a `dumbbell`
    the client with the number of the workload, in an `incast` the `receiver`, in a `chain` the
    `client`."""
    server: str | None = Field(default=None, alias="to")
    """In a network of several hosts, the host of the workload's server: `"server1"`, or the name of
    several. Default: in a `dumbbell` the server with the number of the workload, in an `incast`
    each `sender`, in a `chain` the `server`."""
    port: Port | None = None
    """Port on which the workload's server listens. Default: 4433 for the first workload, 4434 for
    the second, etc."""


OWN_KEYS = frozenset(field.alias or name for name, field in CompetingSection.model_fields.items())
"""Keys that workloads of every kind have in a ``[[workload]]`` table."""


def named_workloads(study: Table) -> Mapping[str, Table]:
    """Return a study's ``[[workload]]`` tables by their names; empty if it has one ``[workload]``.

    Raises:
        KeyValueError: one is not a table, or a name is used twice.
    """
    written = study.find("workload")
    if not isinstance(written.value, list):
        return {}
    named: dict[str, Table] = {}
    for index in range(len(written.value)):
        table = Table.at(written.inside(str(index)), "write [[workload]]")
        name = table.find("name")
        text = str(plain(name.value))
        if text in named or text == ALL:
            reason = "two workloads have this name" if text in named else "it stands for all"
            raise KeyValueError(name.place, plain(name.value), reason, "choose another")
        named[text] = table
    if not named:
        raise KeyValueError("workload", None, "there is none", "write [[workload]] for each")
    return named
