"""The ``[transport]`` section: the transport protocol and its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

from pydantic import BeforeValidator, Field, create_model

import netwarp.fields
from netwarp.fields import KeyValueError, Kind, Section, SizeBytes, Switch
from netwarp.stacks import StackField, refuse_as_transport
from netwarp.study.tables import Table, Written
from netwarp.transports import (
    TRANSPORTS,
    OptionsTable,
    TransportTraits,
    congestion_controls_in_words,
)
from netwarp.wire import (
    Model,
    QuicOptions,
    Reconnect,
    Resume,
    SctpOptions,
    TcpOptions,
    TransportKind,
)
from netwarp.wire.base import Option, Wire

DEFAULT_INITIAL_WINDOW_PACKETS = 10
"""Default initial window of all transports in packets, which is also that of TCP and MPTCP in the
kernel (RFC 6928, `TCP_INIT_CWND`) if no route sets another."""

Preset = Literal["tcp-2008"]
Window = Annotated[int, Field(ge=1, le=1000, strict=True), Kind("a whole number from 1 to 1000")]
# 88: the kernel's smallest (TCP_MIN_MSS in include/net/tcp.h).
Mss = Annotated[int, Field(ge=88, le=65495, strict=True), Kind("a whole number from 88 to 65495")]


NamedTransport = Annotated[TransportKind, BeforeValidator(refuse_as_transport)]


class CommonOptions(Section):
    """Options that every transport has. All transports use the same values unless the study sets
    different ones.
    """

    stack: StackField | None = None
    """QUIC: the implementation; default: quinn. It is the name of a stack in `netwarp stack list`,
    or `{ interop = "PROGRAM" }`, a program that implements the endpoint interface of the QUIC
    interop runner; or `{ client = …, server = … }`, with one of these for each end."""
    model: Model = "kernel"
    """Where transport and path are implemented. `kernel`: in the Linux kernel. `ns3`: in the
    simulator ns-3, configured like Linux, over point-to-point links. `ns3default`: in ns-3 with its
    defaults except `congestion` and `mss`, over a CSMA link with ns-3's own queues. `netwarp ns3
    install` installs ns-3; what ns-3 cannot do is refused."""
    congestion: str | None = Field(
        default=None,
        description="Congestion control, by its name in the transport's stack."
        f" {congestion_controls_in_words()}; `own:NAME` is one that a kernel was built with"
        " (`netwarp kernel build --module`). Default: the first of them.",
    )
    buffer_bytes: SizeBytes | None = Field(default=None, alias="buffer")
    """Size of socket buffers and flow-control windows, at each end. Default: four times BDP plus
    queue, rounded up to a power of two (or the kernel's largest, a byte less than 1GiB), and at
    least 4MiB; 64MiB if the rate is unlimited. Senders of `sctp` and `quic` hold four times BDP
    plus queue, not rounded."""
    initial_window_packets: Window | None = Field(default=None, alias="initial_window")
    """Initial congestion window in full-size packets. Default: 10 (RFC 6928); `sctp` has RFC
    9260's, which is fixed."""
    mss_bytes: Mss | None = Field(default=None, alias="mss")
    """Largest payload of a packet in bytes; for `tcp` and `tls` together with TCP options, of which
    timestamps take 12 bytes (RFC 9293, 3.7.1); for `sctp` of a DATA chunk, several of which may
    share a packet. Default: what the MTU allows."""
    nodelay: Switch = True
    """Send small writes at once (Nagle's algorithm off; for `sctp`, no waiting to bundle)."""
    ecn: Switch = False
    """Both hosts offer Explicit Congestion Notification (RFC 3168; RFC 9000, section 13.4), and a
    `path.discipline` that can mark then marks packets instead of dropping them. Congestion control
    `dctcp` offers it in any case."""
    resume: Resume = "none"
    """How later transfers of a run resume sessions of earlier ones. `1rtt`: TLS 1.3 session tickets
    (`tls`, `quic`). `0rtt`: tickets with early data, for `tcp` Fast Open. Early data can be
    replayed by whoever recorded it (RFC 8446, section 8), so it is only for requests that may be
    answered twice. A transfer resumes sessions of earlier transfers, never one of its own; a
    reconnection after a handover resumes sessions of the connections before it. If packets are
    lost, quinn 0.11 sometimes waits for ever when early data fills its first window (about 10 kB);
    such a run gives up, or fails at its limit of virtual time, with that as the reason."""
    reconnect: Reconnect | None = None
    """What happens to connections when the client moves to another path (`[path.handovers]`).
    `new`: they are abandoned, and unfinished content is continued over new ones, from the byte that
    it had reached. `migrate`: they continue over the new address (`quic`: RFC 9000, section 9;
    `sctp`: RFC 5061; `mptcp`, which does nothing else: RFC 8684, section 3.2). Default: new, for
    `mptcp` migrate."""
    preset: Preset | None = None
    """A generation of TCP, which sets the options that the study does not set. `tcp-2008` (`tcp`,
    `tls`): no SACK, no timestamps, `recovery` classic, Reno, and the initial window of RFC 3390, as
    in Linux 2.6."""


Group = TypeVar("Group", TcpOptions, SctpOptions, QuicOptions)
_TABLES: Mapping[str, type[Wire]] = dict(
    zip(get_args(OptionsTable), (TcpOptions, SctpOptions, QuicOptions), strict=True)
)
"""The tables of a job's transport part that only some transports have, by their keys."""


@dataclass(frozen=True)
class OwnOption:
    """An option that only some transports have: a field of a table in the transport part of a
    job.
    """

    group: str
    """Key of the table: `TransportTraits.options`."""
    name: str
    described: Option
    annotation: Any
    """Type of the field, with its bounds."""

    @property
    def key(self) -> str:
        """The study's key: the name without its unit."""
        return self.name.removesuffix("_ns").removesuffix("_bytes")

    @property
    def field(self) -> Any:
        """The field of the study's section, as an argument of `pydantic.create_model`."""
        of_type = self.described.type
        of_values = self.annotation if of_type is None else getattr(netwarp.fields, of_type)
        if bool in (of_values, *get_args(of_values)):
            of_values = Switch
        alias = self.key if self.key != self.name else None
        return of_values | None, Field(default=None, alias=alias, description=self.described.help)


OWN_OPTIONS: Mapping[str, OwnOption] = {
    name: OwnOption(group, name, described, field.annotation)
    for group, table in _TABLES.items()
    for name, field in table.model_fields.items()
    for described in field.metadata
    if isinstance(described, Option)
}
"""The options that only some transports have, by the name of the job's field."""


def _usual(group: type[Group]) -> Group:
    return group.of_checked(
        {name: OWN_OPTIONS[name].described.usual for name in group.model_fields}
    )


TODAYS_TCP = _usual(TcpOptions)
"""TCP options with the current kernel's defaults."""


TCP_2008 = TcpOptions(sack=False, timestamps=False, window_scaling=True, recovery="classic")
"""TCP options of 2008: loss recovery by three duplicate acknowledgements and timeouts."""
USUAL_SCTP = _usual(SctpOptions)
"""Default options of SCTP: one stream, 16 KiB messages, and the kernel's defaults
(net/sctp/protocol.c)."""
USUAL_QUIC = _usual(QuicOptions)


def settings_of_hosts(asked: TcpOptions) -> dict[str, str]:
    """Return the host-wide settings that TCP options change, by the options' keys in order. Options
    with the kernel's default are left out, and options whose value connections report.
    """
    differing = (
        OWN_OPTIONS[name]
        for name in TcpOptions.model_fields
        if getattr(asked, name) != getattr(TODAYS_TCP, name)
    )
    found = {each.key: each.described.of_host for each in differing}
    return {key: found_of for key, found_of in sorted(found.items()) if found_of is not None}


if TYPE_CHECKING:
    TransportOptions = CommonOptions
else:
    TransportOptions = create_model(
        "TransportOptions",
        __base__=CommonOptions,
        __doc__=CommonOptions.__doc__,
        **{name: option.field for name, option in OWN_OPTIONS.items()},
    )


def owners(name: str) -> list[TransportKind]:
    """Return the transports that have this option, which not every transport has."""
    group = OWN_OPTIONS[name].group if name in OWN_OPTIONS else None
    return [
        kind
        for kind, traits in TRANSPORTS.items()
        if name in traits.own_keys or (group is not None and group == traits.options)
    ]


class _TransportSection(TransportOptions):
    """The transport. Options here apply to all transports of the study.

    `[transport.tcp]`, `[transport.quic]` and so on set the same options for one transport only; as
    the transports are then configured differently, the provenance lists this. The levels of the
    factor `transport` can be names and tables: `["quic", { kind = "tcp", congestion = "bbr", label
    = "tcp-bbr" }]`.
    """

    kind: NamedTransport | None = None
    """The transport protocol, if `transport` is not a factor."""


def _options_of(traits: TransportTraits) -> Any:
    needs = "; needs `[path.second]`" if traits.second_path == "needed" else ""
    description = f"Options of {traits.stack}{needs}."
    return (TransportOptions | None, Field(default=None, description=description))


TransportSection: type[_TransportSection] = create_model(
    "TransportSection",
    __base__=_TransportSection,
    __doc__=_TransportSection.__doc__,
    **{kind: _options_of(traits) for kind, traits in TRANSPORTS.items()},
)
"""The `[transport]` section with a table of options for each transport."""


def merged_transport(section: Table, level: Table, varied: Mapping[str, Written]) -> Table:
    """Return the options of a cell's transport, merged from everything that sets them.

    The level's own options take precedence over those of its kind (``[transport.quic]``), and these
    over the section's.

    Args:
        section: the ``[transport]`` table.
        level: the level of the factor ``transport`` as a table, or empty.
        varied: levels of factors on single options, by option.

    Raises:
        KeyValueError: a factor sets an option that a level or ``[transport.<kind>]`` sets as well.
    """
    kind = level.text("kind") if "kind" in level else section.text("kind")
    own = section.table(kind) if kind is not None and kind in TRANSPORTS else Table({})
    if twice := [option for option in level if option in varied and option != "kind"]:
        reason = f"{twice[0]} is a factor, and stands in a level of transport as well"
        remedy = "keep it in one place"
        raise KeyValueError(f"transport.{twice[0]}", level[twice[0]].value, reason, remedy)
    if rivals := [option for option in own if option in varied]:
        reason = f"{rivals[0]} is a factor as well"
        remedy = "drop one of them, or write the variants as levels of transport"
        raise KeyValueError(own[rivals[0]].place, own[rivals[0]].value, reason, remedy)
    common = section.without(TRANSPORTS)
    return common.replaced(varied).replaced(own).replaced(level.without(["label"]))
