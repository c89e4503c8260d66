"""How long the peer's window and the send buffer limited a sender, by the counters in its samples
and those at its connection's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.wire import ConnectionSamples, Stats


@dataclass(frozen=True)
class Counted:
    """Times in ns, of which the last two are parts of the first and do not overlap."""

    busy_ns: int
    """Time with data to send."""
    rwnd_ns: int
    """Time in which the peer's window limited the sender."""
    sndbuf_ns: int
    """Time in which the send buffer limited the sender."""

    @classmethod
    def within(cls, busy_ns: int, rwnd_ns: int, sndbuf_ns: int) -> Counted:
        """Return the counted times, with the parts bounded by the whole."""
        rwnd_ns = min(max(rwnd_ns, 0), busy_ns)
        return cls(busy_ns, rwnd_ns, min(max(sndbuf_ns, 0), busy_ns - rwnd_ns))


def counted_between(samples: ConnectionSamples) -> list[Counted]:
    """Return the counted times between each sample and the next.

    The kernel counts in ticks of its clock (10 ms at HZ = 100), which may be longer than the time
    between two samples: what exceeds that time is part of the time after it.
    """
    found = []
    left_busy_ns = left_rwnd_ns = left_sndbuf_ns = 0
    for index in range(len(samples.at_ns) - 1):
        lasted_ns = samples.at_ns[index + 1] - samples.at_ns[index]
        left_busy_ns += _step(samples.busy_ns, index)
        left_rwnd_ns += _step(samples.rwnd_limited_ns, index)
        left_sndbuf_ns += _step(samples.sndbuf_limited_ns, index)
        counted = Counted.within(min(left_busy_ns, lasted_ns), left_rwnd_ns, left_sndbuf_ns)
        left_busy_ns -= counted.busy_ns
        left_rwnd_ns -= counted.rwnd_ns
        left_sndbuf_ns -= counted.sndbuf_ns
        found.append(counted)
    return found


def shares_after(samples: ConnectionSamples, at_end: Stats | None) -> tuple[float, float]:
    """Return in which shares of the time after the last sample the peer's window and the send
    buffer limited the sender.

    Args:
        samples: the connection's samples.
        at_end: the connection's counters at its end; None if they are not known, so that the shares
            are those between the last two samples, or 0 if everything had been sent by then.
    """
    if at_end is not None and at_end.busy_ns is not None and samples.busy_ns:
        counted = Counted.within(
            at_end.busy_ns - samples.busy_ns[-1],
            (at_end.receive_window_limited_ns or 0) - samples.rwnd_limited_ns[-1],
            (at_end.send_buffer_limited_ns or 0) - samples.sndbuf_limited_ns[-1],
        )
    elif len(samples.at_ns) > 1 and not samples.has_sent_all[-1]:
        counted = counted_between(samples)[-1]
    else:
        return 0.0, 0.0
    if counted.busy_ns <= 0:
        return 0.0, 0.0
    return counted.rwnd_ns / counted.busy_ns, counted.sndbuf_ns / counted.busy_ns


def _step(column: Sequence[int], index: int) -> int:
    """Return by how much a column grows until the next sample; 0 if the column was not recorded."""
    return column[index + 1] - column[index] if column else 0
