"""The impairments that a study asks for in one direction of a path, and refusals of those that no
kernel can apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netwarp import wire
from netwarp.fields import LARGEST_JITTER_NS, MOST_REPAIRS, KeyValueError
from netwarp.study.sections.mahimahi import RateTrace
from netwarp.units import NS_PER_S, QueueLength
from netwarp.wire import Direction

LARGEST_AGGREGATE_NS = 10 * NS_PER_S


@dataclass(frozen=True)
class AskedImpairments:
    """The impairments of one direction of a path as the study sets them, before the queue's size is
    known.
    """

    netem: Mapping[str, Any]
    """Fields of `wire.Impairments` with the study's values."""
    rate_bit_s: int | None
    trace: RateTrace | None
    queue: QueueLength | None
    discipline: wire.DisciplineKind | None
    """Queueing discipline at the bottleneck; None is FIFO."""
    any_ect: bool
    """Whether DualPI2 puts the packets of all ECN-capable senders into its low-latency queue."""
    ack_filter: bool
    """Whether CAKE drops superfluous acknowledgements."""

    @property
    def delay_ns(self) -> int:
        """One-way delay of the idle path, in ns."""
        delay_ns: int = self.netem["delay_ns"]
        return delay_ns

    @property
    def jitter_ns(self) -> int:
        """Spread of the delay, in ns."""
        jitter_ns: int = self.netem["jitter_ns"]
        return jitter_ns

    @property
    def longest_repair_ns(self) -> int:
        """Longest time in ns by which the link delays a packet while it repeats lost
        transmissions.
        """
        repair_ns: int = self.netem["link_repair_ns"]
        return MOST_REPAIRS * repair_ns if self.netem["link_loss_ratio"] else 0

    @property
    def policer_bytes(self) -> int | None:
        """Size of the policer's token bucket in bytes; None if there is a queue instead of a
        policer.
        """
        policer_bytes: int | None = self.netem["policer_bytes"]
        return policer_bytes

    @property
    def in_order(self) -> bool:
        """Whether packets stay in order although there is jitter; true if there is none."""
        in_order: bool = self.netem["in_order"]
        return in_order

    @property
    def loss(self) -> wire.Loss:
        """The model by which packets are lost in this direction."""
        loss: wire.Loss = self.netem["loss"]
        return loss

    @property
    def reorders(self) -> bool:
        """Whether the study asks for packets to be reordered."""
        reorder: wire.Reorder = self.netem["reorder"]
        return reorder.ratio > 0

    @property
    def asked_packets(self) -> int | None:
        """Size of the queue in packets if the study states it so; else None."""
        if self.queue is None or self.queue.unit != "packets":
            return None
        return int(self.queue.amount)

    @property
    def duplicates(self) -> bool:
        """Whether packets are duplicated."""
        return bool(self.netem["duplicate_ratio"])

    @property
    def collects(self) -> bool:
        """Whether packets are collected and released together."""
        return bool(self.netem["aggregate_ns"])

    @property
    def usual_rate_bit_s(self) -> int | None:
        """Rate in bit/s from which the size of the queue follows (of a trace, the mean); None if it
        is unlimited.
        """
        return self.rate_bit_s if self.trace is None else self.trace.mean_bit_s

    @property
    def peak_rate_bit_s(self) -> int:
        """Largest rate in bit/s without timeline entries; 0 if it is unlimited."""
        return (self.rate_bit_s or 0) if self.trace is None else self.trace.peak_bit_s


def refuse_impossible(impairments: AskedImpairments, direction: Direction) -> None:
    """Refuse impairments, and combinations of them, that the kernel does not support.

    Raises:
        KeyValueError: some are not supported; the error names the key.
    """
    if impairments.jitter_ns > LARGEST_JITTER_NS:
        raise KeyValueError(
            "jitter", None, "netem's jitter ends at 2.147483647s", "choose a smaller jitter"
        )
    if impairments.jitter_ns > impairments.delay_ns:
        raise KeyValueError(
            "jitter",
            None,
            f"jitter is larger than the {direction} delay: packets would arrive before being sent",
            "choose a jitter not above the one-way delay",
        )
    if impairments.longest_repair_ns and impairments.jitter_ns:
        reason = f"netem draws one time for each packet, and jitter {direction} is another"
        raise KeyValueError("link_loss", None, reason, "drop link_loss or jitter")
    if impairments.netem["link_repair_ns"] > LARGEST_JITTER_NS:
        reason = "netem's times end at 2.147483647s"
        raise KeyValueError("link_repair", None, reason, "choose a shorter time")
    _refuse_impossible_policer(impairments, direction)
    if impairments.netem["aggregate_ns"] and impairments.netem["duplicate_ratio"]:
        reason = f"the kernel has no second netem beside one that duplicates {direction}"
        raise KeyValueError("aggregate", None, reason, "drop aggregate or duplicate")
    if impairments.netem["aggregate_ns"] > LARGEST_AGGREGATE_NS:
        reason = "no link collects packets for so long"
        raise KeyValueError("aggregate", None, reason, "choose 10s or less")
    _refuse_impossible_discipline(impairments, direction)
    if impairments.reorders and impairments.delay_ns == 0:
        raise KeyValueError(
            "reorder",
            None,
            f"there is no {direction} delay to overtake",
            "give rtt or delay",
            missing="rtt",
        )


def _refuse_impossible_policer(impairments: AskedImpairments, direction: Direction) -> None:
    if impairments.policer_bytes is None:
        return
    beside = {
        "queue": impairments.queue is not None,
        "discipline": impairments.discipline is not None,
        "reorder": impairments.reorders,
        "trace": impairments.trace is not None,
    }
    met = next((key for key, is_met in beside.items() if is_met), None)
    if met is not None:
        reason = f"what a policer {direction} has no tokens for is lost, and {met} has no place"
        raise KeyValueError("policer", None, reason, f"drop policer or {met}")
    if impairments.rate_bit_s is None:
        reason = f"no rate fills the bucket of the policer {direction}"
        raise KeyValueError("policer", None, reason, f"give rate_{direction}", missing="rate")


def _refuse_impossible_discipline(impairments: AskedImpairments, direction: Direction) -> None:
    if impairments.discipline is None:
        return
    if impairments.usual_rate_bit_s is None:
        reason = f"no queue forms where the {direction} rate is unlimited"
        remedy = f"give rate or rate_{direction} too, or a discipline to the other direction alone"
        raise KeyValueError("discipline", None, reason, remedy, missing="rate")
    if impairments.reorders:
        reason = f"netem keeps the {direction} queue itself where packets overtake"
        raise KeyValueError("discipline", None, reason, "drop reorder, or choose fifo")
    if impairments.discipline == "cake" and impairments.trace is not None:
        raise KeyValueError(
            "discipline", None, "cake keeps one rate by its own shaper", "drop the trace, or cake"
        )
