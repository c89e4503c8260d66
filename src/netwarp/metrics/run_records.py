"""The records of a run that succeeded, as metrics read them: each selection is made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from netwarp.metrics import select
from netwarp.metrics.playback import Piece, Span, pieces, spans
from netwarp.wire import Bulk, Calibration, Handover, Player, Probe, Segment, Stream, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netwarp.metrics.select import T
    from netwarp.wire import Direction, Job, Record, Side, Stats, Transfer


@dataclass(frozen=True)
class RunRecords:
    """What was asked and what was written down. Times are in nanoseconds of the run's clock."""

    job: Job
    records: Sequence[Record]

    def of_kind(self, kind: type[T]) -> list[T]:
        """Give the records of one kind, in their order."""
        return select.of_kind(self.records, kind)

    @cached_property
    def measured(self) -> Sequence[Record]:
        """The records that times are taken from: the last transfer's; of a player, all."""
        if isinstance(self.job.workload, Bulk):
            return select.of_last_transfer(self.job, self.records)
        return self.records

    @cached_property
    def span_ns(self) -> tuple[int, int]:
        """First connect and last byte of what is measured; of a player, the session."""
        return select.span_ns(self.job, self.measured)

    @cached_property
    def whole_span_ns(self) -> tuple[int, int]:
        """First connect and last byte of the whole run, all its transfers."""
        return select.span_ns(self.job, self.records)

    @cached_property
    def ready_ns(self) -> int:
        """When the connections were ready for application data for the first time."""
        return select.ready_ns(self.measured)

    @cached_property
    def received(self) -> list[Transfer]:
        """The measured transfers as the receiver saw them; none of a player."""
        return select.received(self.job, self.measured)

    @cached_property
    def content_bits(self) -> int:
        """Content received in what is measured: whole transfers, or whole segments."""
        return 8 * select.content_bytes(self.job, self.measured)

    @cached_property
    def first_byte_ns(self) -> int:
        """When the receiver had the first content byte."""
        received: list[Transfer | Segment] = [*self.received, *self.segments]
        return min(each.first_byte_ns for each in received)

    @cached_property
    def sender_stats(self) -> list[Stats]:
        """What the sender's stack counted on each connection of what is measured."""
        last = select.of_last_transfer(self.job, self.records)
        return [each.stats for each in select.connections(last, select.sender(self.job))]

    @cached_property
    def player(self) -> Stream | None:
        """The workload, where it is a player."""
        return self.job.workload if isinstance(self.job.workload, Stream) else None

    @cached_property
    def segments(self) -> list[Segment]:
        """What a player loaded, in order."""
        return self.of_kind(Segment)

    @cached_property
    def player_actions(self) -> list[Player]:
        """What a player and its viewer did, in order."""
        return self.of_kind(Player)

    @cached_property
    def session(self) -> list[Span]:
        """A player's states over time; empty where there is no player."""
        return [] if self.player is None else spans(self.records, self.span_ns[0])

    @cached_property
    def played(self) -> list[Piece]:
        """What a player showed, piece by piece."""
        return [] if self.player is None else list(pieces(self.session, self.segments, self.player))

    def calibration(self, direction: Direction) -> list[Calibration]:
        """Give what was counted on all links of one direction."""
        return [each for each in self.of_kind(Calibration) if each.direction == direction]

    def cpu_ns(self, side: Side) -> int | None:
        """Give the CPU time of one side's process; None in virtual time, where it is free."""
        used = [each for each in self.of_kind(Usage) if each.side == side]
        return used[-1].user_ns + used[-1].system_ns if used else None

    @cached_property
    def given_up(self) -> int:
        """Connections that were given up because the client moved."""
        return sum(each.abandoned for each in select.connections(self.records, "client"))

    @cached_property
    def handover_gaps_ns(self) -> list[int]:
        """The longest time without new content that each handover made."""
        gaps = (each.longest_gap_ns for each in self.of_kind(Handover))
        return [gap for gap in gaps if gap is not None]

    @cached_property
    def probed_rtts_ns(self) -> list[int]:
        """Smallest round-trip times of the idle paths."""
        rtts = (each.min_rtt_ns for each in self.of_kind(Probe))
        return [rtt for rtt in rtts if rtt is not None]


def total(values: Iterable[int | None]) -> int | None:
    """Add up; None when nothing was counted, or one of them cannot say."""
    counted = list(values)
    if not counted or None in counted:
        return None
    return sum(value for value in counted if value is not None)
