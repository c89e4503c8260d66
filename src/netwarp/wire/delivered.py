"""Records of what the paths really did."""

from __future__ import annotations

from typing import Literal

from netwarp.wire.base import U32, U64, Direction, Wire


class Calibration(Wire):
    """What one direction of a path really did, counted on its links before the probes.

    Where neighbours are cold, ARP's packets are among those offered and delivered, and what waited
    at the router for an answer in vain is counted as offered alone.
    """

    record: Literal["calibration"]
    """Always `calibration`."""
    path: U32
    """Index of the path."""
    direction: Direction
    """The direction that was counted."""
    interval_ns: U64
    """Time from the epoch until the counting."""
    offered_packets: U64
    """Wire packets the sender's link carried to the router."""
    offered_bytes: U64
    """Their bytes, Ethernet headers included."""
    delivered_packets: U64
    """Wire packets the receiver's link carried from the router."""
    delivered_bytes: U64
    """Their bytes, Ethernet headers included."""
    dropped_packets: U64
    """Packets netem dropped: lost at random, or for a full queue."""
    lost_packets: U64 | None
    """Of them, those lost at random; null where the kernel does not tell."""
    left_packets: U64
    """Packets still in netem when counted."""


class Probe(Wire):
    """Idle-path probes after the workload: UDP packets of a few bytes, echoed."""

    record: Literal["probe"]
    """Always `probe`."""
    path: U32
    """Index of the path."""
    sent: U32
    """How many probes were sent."""
    received: U32
    """Probes that came back."""
    min_rtt_ns: U64 | None
    """Smallest time there and back, if any came back."""
    min_delay_down_ns: U64 | None
    """Smallest one-way time, server to client."""
    min_delay_up_ns: U64 | None
    """Smallest one-way time, client to server."""
