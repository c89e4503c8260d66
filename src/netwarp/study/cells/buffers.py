"""Computes the sizes of socket buffers that a study does not set, and of content that outlasts a
given time.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from netwarp.fields import KeyValueError
from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.path_direction import PathDirection, longest_rtt_ns
from netwarp.units import NS_PER_S
from netwarp.wire import Direction

SMALLEST_BUFFER_BYTES = 4 << 20
UNLIMITED_BUFFER_BYTES = 64 << 20
SMALLEST_ASKED_BUFFER_BYTES = 4608
"""Smallest socket buffer, the kernel's ``SOCK_MIN_SNDBUF`` (``include/net/sock.h``)."""
LARGEST_BUFFER_BYTES = (2**31 - 1) // 2
"""Largest socket buffer: the kernel keeps twice its size in a signed 32-bit number."""
BUFFER_BDPS = 4


def buffer_bytes(cell: CellSections) -> int:
    """Return the size of a cell's socket buffers in bytes: the study's, or one that never limits a
    transfer.

    A sender has a BDP and a full queue in flight, and as much again during loss recovery.

    Raises:
        KeyValueError: it is larger than the kernel's socket buffers can be.
    """
    asked_bytes = cell.transport.buffer_bytes
    if asked_bytes is not None:
        if asked_bytes < SMALLEST_ASKED_BUFFER_BYTES:
            reason = f"the kernel's sockets have {SMALLEST_ASKED_BUFFER_BYTES} bytes or more"
            raise KeyValueError("transport.buffer", None, reason, "choose 4.5KiB or more")
        return _checked_buffer(asked_bytes, "choose a smaller buffer")
    if _is_unlimited(cell):
        return UNLIMITED_BUFFER_BYTES
    needed_bytes = _needed_bytes(cell)
    _checked_buffer(needed_bytes, "set transport.buffer, or lower rate, rtt or queue")
    return min(1 << (needed_bytes - 1).bit_length(), LARGEST_BUFFER_BYTES)


def send_buffer_bytes(cell: CellSections, most_bytes: int) -> int:
    """Return the send buffer in bytes of transports whose buffers the kernel does not auto-tune.

    It is the size that the study asks for, else that of :func:`buffer_bytes` before rounding up. A
    sender fills its buffer even if little of it is in flight, and buffered data takes most of a
    guest's memory.

    Args:
        cell: the cell's sections.
        most_bytes: the result of :func:`buffer_bytes` for the cell.
    """
    if cell.transport.buffer_bytes is not None or _is_unlimited(cell):
        return most_bytes
    return min(most_bytes, _needed_bytes(cell))


def most_content_bytes(cell: CellSections, lasts_ns: int) -> int:
    """Return a size of content in bytes that all paths together cannot transfer within the given
    time.

    Raises:
        KeyValueError: a path's rate is unlimited.
    """
    if _is_unlimited(cell):
        reason = "no rate bounds what arrives in that time"
        remedy = "give it, or path.rate"
        raise KeyValueError("workload.size", None, reason, remedy, missing="path.rate")
    direction = cell.content_direction
    rate_bit_s = sum(each.peak_rate_bit_s for each in _all_paths(cell, direction))
    return ceil(Fraction(rate_bit_s * lasts_ns, 8 * NS_PER_S)) + 1


def _is_unlimited(cell: CellSections) -> bool:
    direction = cell.content_direction
    rates = [path.impairments(direction).usual_rate_bit_s for path in cell.path.all_paths]
    return None in rates


def _needed_bytes(cell: CellSections) -> int:
    flight_bytes = _flight_bytes(cell, cell.content_direction)
    return max(SMALLEST_BUFFER_BYTES, BUFFER_BDPS * flight_bytes)


def _flight_bytes(cell: CellSections, direction: Direction) -> int:
    """Return the bytes that can be in flight or queued on all paths together.

    Data received over a fast path waits for data sent over a slow one, so each path's rate is
    multiplied by the longest round-trip time (RFC 6182, section 5.3). A client that moves uses one
    path at a time, so that only the largest value of a single path counts. This is also the case in
    cells in which the client could move but does not.
    """
    paths = _all_paths(cell, direction)
    rtt_ns = max(longest_rtt_ns(cell, each.index) for each in paths)
    flights = [
        ceil(Fraction(each.peak_rate_bit_s * rtt_ns, 8 * NS_PER_S)) + each.held_bytes
        for each in paths
    ]
    return max(flights) if cell.path.may_hand_over else sum(flights)


def _all_paths(cell: CellSections, direction: Direction) -> list[PathDirection]:
    """Return one direction of all paths of the study, also of those that the cell does not use."""
    indices = range(len(cell.path.all_paths))
    return [PathDirection(cell, direction, index) for index in indices]


def _checked_buffer(size_bytes: int, remedy: str) -> int:
    if size_bytes > LARGEST_BUFFER_BYTES:
        raise KeyValueError(
            "transport.buffer",
            None,
            f"{size_bytes} bytes are more than a socket buffer can have ({LARGEST_BUFFER_BYTES})",
            remedy,
        )
    return size_bytes
