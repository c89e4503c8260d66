"""How much earlier than a link two hosts deliver packets that may overtake others at a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netwarp.wire import Job

ETHERNET_HEADER_BYTES = 14


def early_s(job: Job) -> float:
    """Give the time in s that a full-size packet takes on the link and nothing takes between hosts.

    Where packets may overtake others, a shaper keeps the rate and starts each when the link is
    free. Over a path of netwarp's a second stage then takes the packet's time; what a host imposes
    on packets that come in has none (decision 46). 0 where netem keeps the rate.
    """
    path = job.paths[0]
    rates = (each.rate_bit_s for each in (path.down, path.up) if each.reorder.ratio > 0)
    frame_bits = (path.mtu_bytes + ETHERNET_HEADER_BYTES) * 8
    return max((frame_bits / rate for rate in rates if rate is not None), default=0.0)
