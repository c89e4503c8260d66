"""The records of a successful run in the form that metrics read; each value is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from netwarp.measure import select
from netwarp.measure.select import T
from netwarp.wire import (
    Calibration,
    Direction,
    Handover,
    Job,
    PathMeasurement,
    Probe,
    Record,
    Side,
    Stats,
    Transfer,
    Usage,
)


class Arrival(Protocol):
    """A complete object that the receiver received, such as a transfer, a segment or a resource."""

    @property
    def first_byte_ns(self) -> int | None:
        """Time of the object's first byte, in ns of the run's clock; None if unknown."""

    @property
    def bytes(self) -> int:
        """Size of the object's content in bytes."""


class ContentReader(Protocol):
    """Reads the records of a workload: when it started, when it ended, and what arrived."""

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return the time at which the client started, in ns of the run's clock."""

    def breaks_off(self, job: Job) -> bool:
        """Return whether the workload is aborted after a given time, instead of ending when all
        content has arrived.
        """
        return False

    def may_end_unconnected(self, job: Job) -> bool:
        """Return whether the workload may end before its connection is established. By default,
        that is the case if it ends after a given time.
        """
        return self.breaks_off(job)

    def measured(self, job: Job, records: Sequence[Record]) -> Sequence[Record]:
        """Return the records from which times are taken; by default all of them."""
        return records

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return the complete objects that the receiver received."""

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the workload was completed, in ns of the run's clock, before connections are
        closed.
        """

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return how the records contradict a complete run, in words; None if they do not. By
        default, no record is required.
        """
        return None


@dataclass(frozen=True)
class RunRecords:
    """A run's job and records. Times are in ns of the run's clock."""

    job: Job
    records: Sequence[Record]
    reader: ContentReader
    of_run: Job | None = None
    """The job of the whole run, if `job` is that of one of its workloads alone; else None."""
    _made: dict[Callable[[RunRecords], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of_kind(self, kind: type[T]) -> list[T]:
        """Return the records of one kind, in their order."""
        return select.of_kind(self.records, kind)

    def computed_once(self, make: Callable[[RunRecords], T]) -> T:
        """Return a value that several metrics need; it is computed once for each run."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    @cached_property
    def measured(self) -> Sequence[Record]:
        """The records from which times are taken, such as those of the last transfer."""
        return self.reader.measured(self.job, self.records)

    @cached_property
    def span_ns(self) -> tuple[int, int]:
        """Times of the first connect and of completion, in ns, of the measured part of the run."""
        return self._span_ns(self.measured)

    @cached_property
    def whole_span_ns(self) -> tuple[int, int]:
        """Times of the first connect and of completion, in ns, of the whole run with all its
        transfers.
        """
        return self._span_ns(self.records)

    @cached_property
    def ready_ns(self) -> int:
        """Time in ns at which the initial connections were ready for application data."""
        return select.ready_ns(self.measured)

    @cached_property
    def received(self) -> list[Transfer]:
        """The measured transfers, as the receiver recorded them; empty for a streaming player."""
        return select.received(self.job, self.measured)

    @cached_property
    def content_bits(self) -> int:
        """Content received in the measured part of the run, in bits."""
        return 8 * self._content_bytes(self.measured)

    @cached_property
    def whole_content_bytes(self) -> int:
        """Content received in the whole run, in bytes."""
        return self._content_bytes(self.records)

    @cached_property
    def first_byte_ns(self) -> int | None:
        """Time in ns at which the receiver had the first byte of content; None if none arrived."""
        arrivals = [each for each in self.reader.arrivals(self.job, self.measured) if each.bytes]
        times_ns = [each.first_byte_ns for each in arrivals if each.first_byte_ns is not None]
        return min(times_ns, default=None)

    @cached_property
    def sender_stats(self) -> list[Stats]:
        """Counters of the sender's stack, for each measured connection."""
        sides = select.connections(self.measured, select.sender(self.job))
        return [each.stats for each in sides]

    def calibration(self, direction: Direction) -> list[Calibration]:
        """Return the packet counts of a direction, for all paths, or for the first link of a
        network.
        """
        counted = (each for each in self.of_kind(Calibration) if each.direction == direction)
        return [each for each in counted if self.job.network is None or each.path == 0]

    def cpu_ns(self, side: Side) -> int | None:
        """Return the CPU time in ns of one side's process; None in virtual time."""
        used = [each for each in self.of_kind(Usage) if each.side == side]
        return used[-1].user_ns + used[-1].system_ns if used else None

    @cached_property
    def given_up(self) -> int:
        """Number of connections that the client abandoned because it moved to another path."""
        return sum(each.abandoned for each in select.connections(self.records, "client"))

    @cached_property
    def handover_gaps_ns(self) -> list[int]:
        """For each handover, the longest time in ns in which no new content arrived."""
        gaps = (each.longest_gap_ns for each in self.of_kind(Handover))
        return [gap for gap in gaps if gap is not None]

    @cached_property
    def probed_rtts_ns(self) -> list[int]:
        """Smallest round-trip times that probes measured on idle paths, in ns."""
        rtts = [each.min_rtt_ns for each in self.of_kind(Probe)]
        rtts += [each.min_rtt_ns for each in self.path_measurements]
        return [rtt for rtt in rtts if rtt is not None]

    @cached_property
    def path_measurements(self) -> list[PathMeasurement]:
        """Measurements of the network between two hosts, before the run and after it."""
        return select.network_alone(self.records)

    @cached_property
    def imposed_rtt_ns(self) -> int | None:
        """Increase of the smallest round-trip time, in ns, by the impairments at two hosts; None if
        it was not measured.
        """
        measured = self.of_kind(PathMeasurement)
        imposed = [each.min_rtt_ns for each in measured if each.moment == "imposed"]
        alone = [each.min_rtt_ns for each in self.path_measurements]
        known = [each for each in alone if each is not None]
        if not known or not imposed or imposed[0] is None:
            return None
        return max(0, imposed[0] - min(known))

    def _span_ns(self, records: Sequence[Record]) -> tuple[int, int]:
        return self.reader.start_ns(records), self.reader.end_ns(self.job, records)

    def _content_bytes(self, records: Sequence[Record]) -> int:
        return sum(each.bytes for each in self.reader.arrivals(self.job, records))


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum of counts; None if there are none, or if one is unknown."""
    counted = list(values)
    if not counted or None in counted:
        return None
    return sum(value for value in counted if value is not None)
