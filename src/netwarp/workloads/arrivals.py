"""Arrival processes, used by all workloads that send messages by a schedule."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import DurationNs, KeyValueError, Kind, PeriodNs, Section
from netwarp.measure.run_records import Arrival
from netwarp.measure.select import of_kind
from netwarp.regular_files import read_regular_file
from netwarp.units import NS_PER_S, UnitError, format_duration, parse_duration_ns
from netwarp.wire import Job, Record
from netwarp.workloads.base import W, Workload
from netwarp.workloads.section import FileReader, WorkloadSection

MOST_MESSAGES = 10**7
MOST_TRACED = 10**6
DRAWN_MESSAGES = 100
"""Number of messages that are allowed in addition to twice the expected number, if arrivals are
random."""
MOST_TRACE_BYTES = 32 << 20
MessageCount = Annotated[
    int, Field(ge=1, le=MOST_MESSAGES, strict=True), Kind("a whole number from 1 to 10000000")
]
Times = Annotated[tuple[DurationNs, ...], Kind('a list of times such as `["0s", "20ms"]`')]
ArrivalsName = Literal["constant", "poisson", "onoff", "trace"]
OF_ONE_KIND: Mapping[str, tuple[ArrivalsName, bool]] = {
    "on": ("onoff", True), "off": ("onoff", True), "times": ("trace", False),
    "trace": ("trace", False),
}  # fmt: skip
"""Keys that only one kind of arrivals uses: that kind, and whether it requires the key."""


class ReadTrace(Section):
    """The arrival times of messages, as they were read from a file."""

    label: str
    file: str
    at_ns: Annotated[tuple[int, ...], Field(min_length=1, strict=False)]


Trace = Annotated[ReadTrace, Kind("a file of times")]


def read_trace(name: str) -> Mapping[str, Any]:
    """Read a file with the time of a message on each line; see `WorkloadSection.file_readers`.

    A time is a number of seconds or has a unit; empty lines and those that begin with # are
    ignored.

    Raises:
        UnreadableFileError: it cannot be read.
        KeyValueError: a line is not a time, or earlier than the one before; its key is None.
    """
    remedy = "one time a line, in order, such as 0.02 (seconds) or 20ms"
    text = read_regular_file(Path(name), MOST_TRACE_BYTES).decode("utf-8", errors="replace")
    at_ns: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        try:
            at_ns.append(_time_ns(written))
        except UnitError as error:
            reason = f"line {number}: {error.reason}"
            raise KeyValueError(None, name, reason, remedy) from None
        if len(at_ns) > 1 and at_ns[-1] < at_ns[-2]:
            raise KeyValueError(None, name, f"line {number}: earlier than the one before", remedy)
        if len(at_ns) > MOST_TRACED:
            raise KeyValueError(None, name, f"it has more than {MOST_TRACED} times", "cut it")
    if not at_ns:
        raise KeyValueError(None, name, "it has no times", remedy)
    return {"label": Path(name).name, "file": name, "at_ns": at_ns}


def _time_ns(written: str) -> int:
    is_number = written.replace(".", "", 1).isdecimal()
    return parse_duration_ns(f"{written}s" if is_number else written)


class ArrivalsSection(WorkloadSection):
    """Messages that are sent at given times, whether or not earlier ones have arrived."""

    relative_paths: ClassVar[Mapping[str, str | None]] = {"trace": None}
    file_readers: ClassVar[Mapping[str, FileReader]] = {"trace": read_trace}

    interval_ns: PeriodNs | None = Field(default=None, alias="interval")
    """Time from one message to the next; the mean for `poisson`, within on-periods for `onoff`."""
    count: MessageCount | None = None
    """Number of messages. Either this or `duration`."""
    duration_ns: PeriodNs | None = Field(default=None, alias="duration")
    """Time for which messages are sent."""
    arrivals: ArrivalsName = "constant"
    """When messages are due. `constant`: at equal intervals. `poisson`: a Poisson process. `onoff`:
    at equal intervals in on-periods, none in off-periods, both exponentially distributed. `trace`:
    at the times given by `times` or `trace`."""
    on_ns: PeriodNs | None = Field(default=None, alias="on")
    """Arrivals `onoff`: mean length of an on-period."""
    off_ns: PeriodNs | None = Field(default=None, alias="off")
    """Arrivals `onoff`: mean length of an off-period."""
    times_ns: Times | None = Field(default=None, alias="times")
    """Arrivals `trace`: when each message is due, counted from the start of the flow."""
    trace: Trace | None = None
    """Arrivals `trace`: these times from a file, one on each line, in seconds or with a unit
    (`20ms`); lines that begin with # are ignored. At most a million. A relative path starts at the
    study file."""

    @property
    def given_times_ns(self) -> tuple[int, ...] | None:
        """The arrival times in ns from the study or a file; None if they are generated."""
        return self.trace.at_ns if self.trace is not None else self.times_ns

    @property
    def resolved_interval_ns(self) -> int:
        """The time between generated messages, in ns; the mean if it is random."""
        if self.interval_ns is None:
            raise AssertionError("arrivals that are made have an interval")
        return self.interval_ns

    @property
    def has_pace(self) -> bool:
        """Whether the study sets the time between two messages."""
        return self.interval_ns is not None

    @property
    def lasts_ns(self) -> int:
        """Time from the first message to the last, in ns; the expected time if arrivals are
        random.
        """
        if self.duration_ns is not None:
            return self.duration_ns
        if self.given_times_ns is not None:
            return self.given_times_ns[-1]
        busy_ns = (self.count or 0) * self.resolved_interval_ns
        if self.on_ns is None or self.off_ns is None:
            return busy_ns
        return busy_ns * (self.on_ns + self.off_ns) // self.on_ns

    @property
    def least_ns(self) -> int:
        """Minimum time that the workload lasts, in ns; the expected time if arrivals are random."""
        return self.lasts_ns

    def wire_arrivals(self) -> wire.Arrivals:
        """Return the arrival process as the job states it."""
        match self.arrivals:
            case "constant":
                return wire.ConstantArrivals(kind="constant", interval_ns=self.resolved_interval_ns)
            case "poisson":
                return wire.PoissonArrivals(kind="poisson", interval_ns=self.resolved_interval_ns)
            case "onoff":
                return wire.OnOffArrivals(
                    kind="onoff",
                    interval_ns=self.resolved_interval_ns,
                    on_ns=self.on_ns or 0,
                    off_ns=self.off_ns or 0,
                )
            case "trace":
                return wire.TraceArrivals(kind="trace", at_ns=self.given_times_ns or ())

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse messages that would last longer than the run's limit, and too many messages."""
        if self.lasts_ns >= limit_ns:
            given = {"duration": self.duration_ns, "times": self.times_ns, "trace": self.trace}
            key = next((key for key, value in given.items() if value is not None), "count")
            raise KeyValueError(
                f"workload.{key}",
                None,
                f"the flow lasts {format_duration(self.lasts_ns)}, and the run is given up after"
                f" {limit_ns // NS_PER_S}s",
                "send less, or raise limits.virtual_s",
            )
        if self.duration_ns is not None and self.arrivals != "trace":
            messages = self.duration_ns // self.resolved_interval_ns
            if messages > MOST_MESSAGES:
                reason = f"{messages} messages are more than a flow can have ({MOST_MESSAGES})"
                raise KeyValueError("workload.duration", None, reason, "send fewer")

    @model_validator(mode="after")
    def _arrivals_are_complete(self) -> Self:
        given = {"on": self.on_ns, "off": self.off_ns, "times": self.times_ns, "trace": self.trace}
        for key, (kind, is_needed) in OF_ONE_KIND.items():
            if is_needed and self.arrivals == kind and given[key] is None:
                raise KeyValueError(key, None, f"{kind} arrivals need it", "give it")
            if self.arrivals != kind and given[key] is not None:
                reason = f"{self.arrivals} arrivals do not use it"
                raise KeyValueError(key, None, reason, f'drop it, or choose arrivals = "{kind}"')
        if self.arrivals == "trace":
            self._refuse_beside_times()
            return self
        self._refuse_without_pace()
        if (self.count is None) == (self.duration_ns is None):
            found = "both are given" if self.count is not None else "neither is given"
            raise KeyValueError(
                "count", None, f"of count and duration, {found}", "give one, such as count = 1000"
            )
        return self

    def _refuse_without_pace(self) -> None:
        if not self.has_pace:
            remedy = 'such as interval = "20ms"'
            raise KeyValueError("interval", None, f"{self.arrivals} arrivals need it", remedy)

    def _refuse_beside_times(self) -> None:
        for key in ("interval_ns", "rate_bit_s", "count", "duration_ns"):
            if getattr(self, key, None) is not None:
                name = type(self).model_fields[key].alias or key
                raise KeyValueError(name, None, "times say when each message is due", "drop it")
        times_ns = self.times_ns
        if (times_ns is None) == (self.trace is None):
            found = "both are given" if self.trace is not None else "neither is given"
            remedy = 'give one, such as times = ["0s", "20ms"]'
            raise KeyValueError("times", None, f"of times and trace, {found}", remedy)
        if times_ns is None:
            return
        if not times_ns or any(before > after for before, after in pairwise(times_ns)):
            raise KeyValueError("times", None, "empty, or not in order", 'such as ["0s", "20ms"]')


class ScheduledWorkload(Workload[W]):
    """A workload whose messages are sent by a schedule, and may be lost."""

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return an empty list: messages need not arrive completely."""
        return ()

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the last message arrived or was sent, whichever is later."""
        last_ns = self.chart_end_ns(records)
        return self.start_ns(records) if last_ns is None else last_ns

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return the time at which the last message was sent or arrived, whichever is later."""
        sent = [each.last_ns for each in of_kind(records, wire.FlowSent)]
        arrived = [each.last_received_ns for each in of_kind(records, wire.FlowStats)]
        return max((at_ns for at_ns in (*sent, *arrived) if at_ns is not None), default=None)


def most_messages(asked: wire.Flow | wire.RequestResponse) -> int:
    """Return an upper bound on the number of messages. If arrivals are random, it is twice the
    expected number and `DRAWN_MESSAGES` more.
    """
    arrivals = asked.arrivals
    bounds = [] if asked.messages is None else [asked.messages]
    if isinstance(arrivals, wire.TraceArrivals):
        bounds.append(len(arrivals.at_ns))
    elif asked.duration_ns is not None:
        expected = asked.duration_ns // arrivals.interval_ns + 1
        bounds.append(2 * expected + DRAWN_MESSAGES)
    return min(bounds, default=MOST_MESSAGES)
