"""Equal treatment: what each transport of a study was given, and where that differs.

Unequal initial windows, buffers and congestion controls explain many published differences between
transports (Wolsing et al., "A performance perspective on web optimized protocol stacks", ANRW
2019). So all get the same unless the study varies it; every deviation is listed with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypedDict

from netwarp.study import Study
from netwarp.study.cells.conditions import Conditions
from netwarp.study.cells.factors import Cell
from netwarp.study.cells.sizing import buffer_bytes
from netwarp.study.sections.transport import HEADER_BYTES
from netwarp.units import format_size

NOT_ITS_OWN = "–"
"""Value of a setting that a transport does not have."""
PACED_CONGESTION = frozenset({"bbr"})


class TreatmentRow(TypedDict):
    """One setting of one transport."""

    setting: str
    transport: str
    """Label of the transport's level."""
    value: str
    """All values it has in the study's cells."""
    deviates: bool
    """Whether it differs from what most transports of the study get."""
    reason: str | None
    """Why it deviates."""


def equal_treatment(study: Study) -> list[TreatmentRow]:
    """List setting × transport with values, and mark each deviation with its reason."""
    by_transport: dict[str, list[Conditions]] = {}
    for cell in study.cells:
        by_transport.setdefault(_label(cell), []).append(cell.conditions)
    rows: list[TreatmentRow] = []
    for setting, value_of in (_SETTINGS | _WHERE_THEY_DIFFER).items():
        values = {
            label: _distinct(value_of(conditions) for conditions in of_one)
            for label, of_one in by_transport.items()
        }
        of_its_own = [value for value in values.values() if value != NOT_ITS_OWN]
        if setting in _WHERE_THEY_DIFFER and len(set(of_its_own)) < 2:
            continue
        usual = Counter(of_its_own).most_common(1)[0][0]
        for label, value in values.items():
            deviates = value not in (usual, NOT_ITS_OWN)
            kind = by_transport[label][0].transport.kind
            reason = _reason(setting, kind) if deviates else None
            rows.append(
                TreatmentRow(
                    setting=setting, transport=label, value=value, deviates=deviates, reason=reason
                )
            )
    return rows


def _label(cell: Cell) -> str:
    return cell.levels.get("transport", cell.conditions.transport.kind)


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _initial_window(conditions: Conditions) -> str:
    mtu_bytes = conditions.path.mtu_bytes
    if conditions.transport.kind == "sctp":
        return f"{min(4 * mtu_bytes, max(2 * mtu_bytes, 4380))} bytes"
    return f"{conditions.transport.resolved_initial_window_packets(mtu_bytes)} packets"


def _pacing(conditions: Conditions) -> str:
    transport = conditions.transport
    paced = transport.kind == "quic" or transport.resolved_congestion in PACED_CONGESTION
    return "paced" if paced else "not paced"


def _mss(conditions: Conditions) -> str:
    mss_bytes = conditions.transport.mss_bytes
    return "what the MTU allows" if mss_bytes is None else f"{mss_bytes} bytes"


def _encryption(conditions: Conditions) -> str:
    return "TLS 1.3" if conditions.transport.kind in ("tls", "quic") else "none"


def _tcp(name: str) -> Callable[[Conditions], str]:
    def value_of(conditions: Conditions) -> str:
        if conditions.transport.kind not in ("tcp", "tls", "mptcp"):
            return NOT_ITS_OWN
        value = getattr(conditions.transport.resolved_tcp, name)
        return ("on" if value else "off") if isinstance(value, bool) else str(value)

    return value_of


def _reconnection(conditions: Conditions) -> str:
    return conditions.transport.resolved_reconnect if conditions.path.may_hand_over else NOT_ITS_OWN


def _connections(conditions: Conditions) -> str:
    connections, chunks = conditions.connections, conditions.chunks
    if connections < chunks:
        return f"1 with {chunks} streams"
    return str(connections)


_SETTINGS: dict[str, Callable[[Conditions], str]] = {
    "congestion control": lambda conditions: conditions.transport.resolved_congestion,
    "initial window": _initial_window,
    "buffers": lambda conditions: format_size(buffer_bytes(conditions)),
    "pacing": _pacing,
    "MTU": lambda conditions: f"{conditions.path.mtu_bytes} bytes",
    "MSS": _mss,
    "headers": lambda conditions: f"{HEADER_BYTES[conditions.transport.kind]} bytes",
    "nodelay": lambda conditions: str(conditions.transport.nodelay).lower(),
    "encryption": _encryption,
}
_WHERE_THEY_DIFFER: dict[str, Callable[[Conditions], str]] = {
    "SACK": _tcp("sack"),
    "timestamps": _tcp("timestamps"),
    "window scaling": _tcp("window_scaling"),
    "loss recovery": _tcp("recovery"),
    "resumption": lambda conditions: conditions.transport.resume,
    "reconnection": _reconnection,
    "connections": _connections,
    "paths": lambda conditions: str(len(conditions.paths)),
}
"""Listed only in studies that treat transports differently in them."""

_INHERENT: Mapping[tuple[str, str], str] = {
    ("congestion control", "sctp"): "the kernel's SCTP has RFC 9260's built in, nothing else",
    ("initial window", "sctp"): "fixed in the kernel's SCTP (RFC 9260, section 7.2.1)",
    ("reconnection", "mptcp"): "its subflows come and go while the connection stays",
    ("pacing", "quic"): "quinn always paces; the kernel's TCP paces under bbr alone",
}
_BY_DESIGN: Mapping[str, str] = {
    "pacing": "follows from the transport and its congestion control",
    "headers": "the protocol's own; QUIC's own header and TLS records come on top",
    "encryption": "the protocol's own",
    "connections": "chunks go over streams where the transport has them",
}


def _reason(setting: str, kind: str) -> str:
    inherent = _INHERENT.get((setting, kind)) or _BY_DESIGN.get(setting)
    return inherent or "the study says so"
