"""Checks that a migrating SCTP association always keeps an address that its peer knows.

By RFC 5061, section 5.3, a new address is announced from one that the peer knows, and may be used
once the peer has acknowledged it. A Linux server accepts nothing from an address that it does not
know (decision 10).
"""

from fractions import Fraction
from math import ceil

from netwarp import wire
from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.path_direction import PathDirection
from netwarp.units import NS_PER_MS, NS_PER_S, format_duration


def refuse_lost_associations(cell: CellSections) -> None:
    """Refuse moves of the client that leave a migrating SCTP association without an address that
    its peer knows.

    Raises:
        KeyValueError: a move does so; the message names the overlap that is needed.
    """
    if not cell.transport.traits.migration_needs_overlap or cell.reconnect != "migrate":
        return
    attached_ns: dict[int, int] = {}
    detached_ns: dict[int, int] = {}
    for event in cell.events:
        other = 1 - event.path
        if isinstance(event.change, wire.Attach):
            attached_ns[event.path] = event.at_ns
            # One exchange for unacknowledged data when the client leaves, one for the deletion.
            least_ns = 2 * exchange_ns(cell, other)
            if event.at_ns - detached_ns.get(event.path, -least_ns) < least_ns:
                raise _comes_back_early(cell, event, least_ns)
        if isinstance(event.change, wire.Detach):
            detached_ns[event.path] = event.at_ns
            attached_ns.pop(event.path, None)
            least_ns = exchange_ns(cell, event.path)
            if event.at_ns - attached_ns.get(other, event.at_ns) < least_ns:
                raise _overlaps_too_little(cell, event, least_ns)


def exchange_ns(cell: CellSections, index: int) -> int:
    """Return the time in ns, in whole ms, that a request and its answer take on a path with a full
    queue.
    """
    delays_ns = sum(PathDirection(cell, each, index).longest_delay_ns for each in DIRECTIONS)
    content = PathDirection(cell, cell.workload.content_direction, index)
    rate_bit_s = content.impairments.usual_rate_bit_s
    if rate_bit_s is None:
        waiting_ns = Fraction(0)
    else:
        # In one direction the packet waits behind a full queue, in the other behind one packet.
        bits = 8 * (content.held_bytes + 2 * content.frame_bytes)
        waiting_ns = Fraction(bits * NS_PER_S, rate_bit_s)
    return ceil((delays_ns + waiting_ns) / NS_PER_MS) * NS_PER_MS


def _overlaps_too_little(cell: CellSections, event: wire.Event, least_ns: int) -> KeyValueError:
    return KeyValueError(
        _handover_key(cell, event.at_ns),
        None,
        "an SCTP association keeps no address that the server knows: it is told of the new one"
        " from the old one",
        f"let them overlap by {format_duration(least_ns)} or more (round trip and full queue),"
        ' or choose reconnect = "new" for sctp',
    )


def _comes_back_early(cell: CellSections, event: wire.Event, least_ns: int) -> KeyValueError:
    return KeyValueError(
        _handover_key(cell, event.at_ns).replace("handovers.overlap", "handovers.every"),
        None,
        f"the client is back on path {event.path + 1} before the server has given up its address"
        " there",
        f"leave {format_duration(least_ns)} or more between a handover's end and the next one,"
        ' or choose reconnect = "new" for sctp',
    )


def _handover_key(cell: CellSections, at_ns: int) -> str:
    """Return the study key of the handover to which an event at this time belongs."""
    for index, entry in enumerate(cell.path.timeline):
        if entry.change == "handover" and at_ns in (entry.at_ns, entry.at_ns + entry.overlap_ns):
            return f"path.timeline.{index}.overlap"
    return "path.handovers.overlap"
