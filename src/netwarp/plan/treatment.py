"""Equal treatment: compares the settings of a study's transports, and lists which differ, and why.

Unequal initial windows, buffers and congestion controls explain many published differences between
transports (Wolsing et al., "A performance perspective on web optimized protocol stacks", ANRW
2019). So all transports get the same settings unless the study varies them; every deviation is
listed with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict

from netwarp.stacks import ITS_OWN
from netwarp.study import Study
from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.cell_transport import CellTransport
from netwarp.study.cells.design import Cell
from netwarp.study.sections.transport import OWN_OPTIONS, OwnOption
from netwarp.transports import TransportTraits, rfc9260_window_bytes
from netwarp.units import format_duration, format_size
from netwarp.wire import Job
from netwarp.workloads import workload_of

NOT_ITS_OWN = "–"
"""The text shown for a setting that a transport does not have."""
THE_HOSTS = "the programs' or the hosts' own"
"""The text shown for a setting that programs choose themselves or take from their hosts."""
THE_PROGRAMS = "the programs' own"
"""The text shown for a setting that only programs choose."""
PACED_CONGESTION = frozenset({"bbr", "bbr2"})


class TreatmentRow(TypedDict):
    """One setting of one transport, and whether it differs from the others'."""

    setting: str
    transport: str
    """Label of the transport's level; if there are several workloads, after the workload's name."""
    value: str
    """The setting's values in the study's cells, separated by commas."""
    deviates: bool
    """Whether the value differs from that of most transports of the study."""
    reason: str | None
    """Reason why the value is different; None if it is not."""


def equal_treatment(study: Study, *, sets_hosts: bool = True) -> list[TreatmentRow]:
    """Return the value of each setting for each transport, with the reason for each value that
    differs from the others'.

    Args:
        study: a validated study.
        sets_hosts: whether runs configure the hosts' kernel; if not, programs other than netwarp's
            have the hosts' TCP settings.
    """
    by_transport: dict[str, list[_Treated]] = {}
    for cell in study.cells:
        for label, treated in _treated(cell):
            by_transport.setdefault(label, []).append(treated)
    rows: list[TreatmentRow] = []
    for setting, value_of in (_SETTINGS | _WHERE_THEY_DIFFER).items():
        values = {
            label: ", ".join(
                dict.fromkeys(_value(setting, value_of, each, sets_hosts) for each in of_one)
            )
            for label, of_one in by_transport.items()
        }
        of_its_own = [value for value in values.values() if value != NOT_ITS_OWN]
        is_optional = setting in _WHERE_THEY_DIFFER
        if not of_its_own or (is_optional and len(set(of_its_own)) < 2):
            continue
        usual = Counter(of_its_own).most_common(1)[0][0]
        for label, value in values.items():
            deviates = value not in (usual, NOT_ITS_OWN)
            traits = by_transport[label][0].transport.traits
            reason = _reason(setting, value, traits) if deviates else None
            rows.append(
                TreatmentRow(
                    setting=setting, transport=label, value=value, deviates=deviates, reason=reason
                )
            )
    return rows


def _value(
    setting: str, value_of: Callable[[_Treated], str], treated: _Treated, sets_hosts: bool
) -> str:
    """Return a setting's value as text; if a stack or program decides it itself, the text says
    so.
    """
    if setting in _OF_PROGRAMS and workload_of(treated.job).has_sockets_of_programs:
        return THE_PROGRAMS
    if setting in _OF_HOSTS and not (sets_hosts or workload_of(treated.job).dials(treated.job)):
        return THE_HOSTS
    stack = treated.transport.stack
    if setting in _TOLD and stack is not None and stack.decides_alone:
        return ITS_OWN
    return value_of(treated)


@dataclass(frozen=True)
class _Treated:
    """A transport in a cell, with the sections and the job from which its settings are read."""

    sections: CellSections
    job: Job

    @property
    def transport(self) -> CellTransport:
        return self.sections.transport


def _treated(cell: Cell) -> Iterator[tuple[str, _Treated]]:
    """Yield each transport of a cell with its label and sections, once for each workload of the
    study.
    """
    if not cell.workloads:
        label = cell.levels.get("transport", cell.sections.transport.kind)
        yield label, _Treated(cell.sections, cell.template)
    seen: set[str] = set()
    for one, job in zip(cell.workloads, cell.template.each_alone, strict=False):
        if one.known_as not in seen:
            own = cell.levels.get(f"workload.{one.known_as}.transport", one.sections.transport.kind)
            yield f"{one.known_as}: {own}", _Treated(one.sections, job)
        seen.add(one.known_as)


def _congestion(treated: _Treated) -> str:
    """Return the congestion control as text, with the client's if that is different."""
    transport = treated.transport
    if not transport.traits.repeats_what_is_lost:
        return NOT_ITS_OWN
    client = treated.job.only.transport.client
    own = transport.resolved_congestion
    if client is None or client.congestion == own:
        return own
    return f"{own}; the client {client.congestion}"


def _initial_window(treated: _Treated) -> str:
    transport, path = treated.transport, treated.sections.path
    if not transport.traits.repeats_what_is_lost:
        return NOT_ITS_OWN
    if transport.stack is None and transport.traits.fixed_initial_window is not None:
        return f"{rfc9260_window_bytes(path.mtu_bytes)} bytes"
    return f"{transport.resolved_initial_window_packets(path)} packets"


def _pacing(treated: _Treated) -> str:
    transport = treated.transport
    if transport.has_own_congestion:
        return "if it asks for it"
    paced = transport.traits.is_always_paced or transport.resolved_congestion in PACED_CONGESTION
    return "paced" if paced else "not paced"


def _header_bytes(treated: _Treated) -> int:
    return treated.transport.traits.header_bytes_over(treated.sections.path.ip_version)


def _mss(treated: _Treated) -> str:
    mss_bytes = treated.transport.mss_bytes
    return "what the MTU allows" if mss_bytes is None else f"{mss_bytes} bytes"


def _option_text(option: OwnOption) -> Callable[[_Treated], str]:
    """Return a function that returns the value of an option as text. The option is one that not
    every transport has.
    """

    def value_of(treated: _Treated) -> str:
        if treated.transport.traits.options != option.group:
            return NOT_ITS_OWN
        value = getattr(getattr(treated.job.only.transport, option.group), option.name)
        if value is None:
            return "the kernel's"
        return ("on" if value else "off") if isinstance(value, bool) else str(value)

    return value_of


def _behaviour(setting: str) -> Callable[[_Treated], str]:
    return lambda treated: treated.transport.traits.behaviour.get(setting, NOT_ITS_OWN)


def _reconnection(treated: _Treated) -> str:
    moves = treated.sections.path.may_hand_over
    return treated.transport.resolved_reconnect if moves else NOT_ITS_OWN


def _reliability(treated: _Treated) -> str:
    """Return as text whether lost messages are sent again, and whether messages stay in order."""
    transport = treated.transport
    sctp = transport.resolved_sctp
    if transport.resolved_quic.datagrams or not transport.traits.repeats_what_is_lost:
        return "datagrams, none repeated"
    order = "unordered messages" if sctp.unordered else "in order"
    if sctp.message_lifetime_ns is not None:
        return f"{order}, given up after {format_duration(sctp.message_lifetime_ns)}"
    if sctp.max_retransmissions is not None:
        return f"{order}, repeated {sctp.max_retransmissions} times at most"
    return order


def _connections(treated: _Treated) -> str:
    connections, chunks = treated.sections.connections, treated.sections.parts
    if connections < chunks:
        return f"1 with {chunks} streams"
    return str(connections)


_SETTINGS: dict[str, Callable[[_Treated], str]] = {
    "congestion control": _congestion,
    "initial window": _initial_window,
    "buffers": lambda treated: format_size(treated.job.only.transport.buffer_bytes),
    "pacing": _pacing,
    "MTU": lambda treated: f"{treated.sections.path.mtu_bytes} bytes",
    "MSS": _mss,
    "headers": lambda treated: f"{_header_bytes(treated)} bytes",
    "nodelay": lambda treated: str(treated.transport.nodelay).lower(),
    "encryption": lambda treated: "TLS 1.3" if treated.transport.traits.is_encrypted else "none",
}
_BEHAVIOUR = ("HyStart", "ACK frequency", "UDP payload", "GSO")
"""Properties of an implementation that no option changes (`TransportTraits.behaviour`)."""
_WHERE_THEY_DIFFER: dict[str, Callable[[_Treated], str]] = {
    "ECN": lambda treated: "offered" if treated.transport.ecn else "not offered",
    "model": lambda treated: treated.transport.model,
    **{
        option.described.setting: _option_text(option)
        for option in OWN_OPTIONS.values()
        if option.described.setting is not None
    },
    "reliability": _reliability,
    "resumption": lambda treated: treated.transport.resume,
    "reconnection": _reconnection,
    "connections": _connections,
    "paths": lambda treated: str(len(treated.sections.paths)),
    **{setting: _behaviour(setting) for setting in _BEHAVIOUR},
}
"""Settings that are listed only if transports of the study differ in them."""

_TOLD = frozenset(
    {"congestion control", "initial window", "buffers", "pacing", "MSS", "nodelay", *_BEHAVIOUR}
)
"""Settings whose values are unknown if programs choose them themselves."""

_OF_PROGRAMS = frozenset({"nodelay", "encryption"})
"""Settings that a program chooses for each of its sockets, and that hosts do not have."""

_OF_HOSTS = frozenset({"buffers", "nodelay"})
"""Settings that programs choose or take from their hosts, and whose values netwarp cannot read."""

_BY_DESIGN: Mapping[str, str] = {
    "pacing": "follows from the transport and its congestion control",
    "headers": "the protocol's own; QUIC's own header and TLS records come on top",
    "encryption": "the protocol's own",
    "connections": "chunks go over streams where the transport has them",
    "paths": "a transport that uses one path has the first",
}


def _reason(setting: str, value: str, traits: TransportTraits) -> str:
    if value == ITS_OWN:
        return "the interop runner's contract tells a program nothing of it"
    inherent = traits.inherent.get(setting) or _BY_DESIGN.get(setting)
    own = "the implementation's own" if setting in _BEHAVIOUR else None
    return inherent or own or "the study says so"
