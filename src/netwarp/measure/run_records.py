"""The records of a run that succeeded, as metrics read them: each selection is made once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from netwarp.measure import select
from netwarp.wire import Calibration, Handover, PathMeasurement, Probe, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from netwarp.measure.select import T
    from netwarp.wire import Direction, Job, Record, Side, Stats, Transfer


class Arrival(Protocol):
    """Something whole that the receiver got."""

    @property
    def first_byte_ns(self) -> int | None:
        """When the first of it was at hand; None where nobody can say."""

    @property
    def bytes(self) -> int:
        """Size of its content."""


class ContentReader(Protocol):
    """How a workload's records tell of its content."""

    def start_ns(self, records: Sequence[Record]) -> int:
        """Say when the client began."""

    def breaks_off(self, job: Job) -> bool:
        """Say whether it goes on for a time, rather than until all of something is done."""
        del job
        return False

    def measured(self, job: Job, records: Sequence[Record]) -> Sequence[Record]:
        """Give the records that times are taken from: all of them, unless it says otherwise."""
        del job
        return records

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Give what the receiver got, each whole."""

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Say when all that was asked had happened; closing connections is not counted."""


@dataclass(frozen=True)
class RunRecords:
    """What was asked and what was written down. Times are in nanoseconds of the run's clock."""

    job: Job
    records: Sequence[Record]
    reader: ContentReader
    _made: dict[Callable[[RunRecords], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of_kind(self, kind: type[T]) -> list[T]:
        """Give the records of one kind, in their order."""
        return select.of_kind(self.records, kind)

    def once(self, make: Callable[[RunRecords], T]) -> T:
        """Make something of the run that several metrics need, when the first one asks for it."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    @cached_property
    def measured(self) -> Sequence[Record]:
        """The records that times are taken from, such as the last transfer's."""
        return self.reader.measured(self.job, self.records)

    @cached_property
    def span_ns(self) -> tuple[int, int]:
        """First connect and end of what is measured."""
        return self._span_ns(self.measured)

    @cached_property
    def whole_span_ns(self) -> tuple[int, int]:
        """First connect and end of the whole run, all its transfers."""
        return self._span_ns(self.records)

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
        """Content received in what is measured."""
        return 8 * self._content_bytes(self.measured)

    @cached_property
    def whole_content_bytes(self) -> int:
        """Content received in the whole run."""
        return self._content_bytes(self.records)

    @cached_property
    def first_byte_ns(self) -> int:
        """When the receiver had the first content byte."""
        arrivals = self.reader.arrivals(self.job, self.measured)
        return min(each.first_byte_ns for each in arrivals if each.first_byte_ns is not None)

    @cached_property
    def sender_stats(self) -> list[Stats]:
        """What the sender's stack counted on each connection of what is measured."""
        sides = select.connections(self.measured, select.sender(self.job))
        return [each.stats for each in sides]

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
        rtts = [each.min_rtt_ns for each in self.of_kind(Probe)]
        rtts += [each.min_rtt_ns for each in self.path_measurements]
        return [rtt for rtt in rtts if rtt is not None]

    @cached_property
    def path_measurements(self) -> list[PathMeasurement]:
        """What was measured of a path between two hosts, before the run and after it."""
        return self.of_kind(PathMeasurement)

    def _span_ns(self, records: Sequence[Record]) -> tuple[int, int]:
        return self.reader.start_ns(records), self.reader.end_ns(self.job, records)

    def _content_bytes(self, records: Sequence[Record]) -> int:
        return sum(each.bytes for each in self.reader.arrivals(self.job, records))


def total(values: Iterable[int | None]) -> int | None:
    """Add up; None when nothing was counted, or one of them cannot say."""
    counted = list(values)
    if not counted or None in counted:
        return None
    return sum(value for value in counted if value is not None)
