"""The records, which the endpoint writes as one JSON object per line.

Times are integer nanoseconds since the run's epoch, at which the path has been built and nothing
has been sent. Both sides use the same clock.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from netwarp.errors import RecordError
from netwarp.wire.base import RECORD_FORMAT, U64, Meaning, Wire, first_error
from netwarp.wire.command import Download, Program
from netwarp.wire.delivered import Calibration, DisciplineInForce, Imposed, PathMeasurement, Probe
from netwarp.wire.flow import FlowSent, FlowStats
from netwarp.wire.page import PageLoad, Resource
from netwarp.wire.playing import CutSegment, Player, Segment
from netwarp.wire.samples import ConnectionSamples, QueueSamples
from netwarp.wire.timeline import Event
from netwarp.wire.traffic import FlowTable
from netwarp.wire.transfers import Connection, Goodput, Handover, Merged, Side, Transfer

ClockKind = Annotated[
    Literal["virtual", "real"],
    Meaning(
        "The clock of the records.",
        {"virtual": "The guest's clock, which jumps when idle.", "real": "Real time."},
    ),
]


class Start(Wire):
    """First record: the run, and the endpoint and kernel that carried it out."""

    record: Literal["start"]
    """Always `start`."""
    format: Literal[1]
    """Version of the format of records."""
    run: str
    """The job's name."""
    endpoint: str
    """Version of the endpoint."""
    kernel: str
    """`uname -sr` of the kernel that carried the packets."""
    clock: ClockKind
    """The clock of all times in the records."""


class TimelineEvent(Wire):
    """An event of the timeline that was applied."""

    record: Literal["event"]
    """Always `event`."""
    at_ns: U64
    """When the event was applied."""
    event: Event
    """The event as the job lists it, or as the trace or the random draw produced it."""


class Usage(Wire):
    """CPU time of one side's process, and of the program that it ran. It is recorded in real time
    only: in virtual time computing takes no time.
    """

    record: Literal["usage"]
    """Always `usage`."""
    side: Side
    """The side whose process used the CPU time."""
    user_ns: U64
    """CPU time in the process's own code."""
    system_ns: U64
    """CPU time in the kernel on behalf of the process."""


class OfWorkload(Wire):
    """A record of one of several workloads of a run, with the workload's name."""

    record: Literal["of_workload"]
    """Always `of_workload`."""
    workload: str
    """The workload's name."""
    line: Record
    """The record that the workload's server or client wrote."""


class GaveUp(Wire):
    """One side's transport has given up, because the peer no longer answered. This is a result of
    the path between the two sides; the records that the workload would have written are missing.
    """

    record: Literal["gave_up"]
    """Always `gave_up`."""
    side: Side
    """The side whose transport gave up first."""
    at_ns: U64
    """When the transport of that side gave up, in nanoseconds after the run's epoch."""
    cause: str
    """The operation that failed, and how it ended."""


class End(Wire):
    """Last record: how the run ended. A run without it did not finish."""

    record: Literal["end"]
    """Always `end`."""
    virtual_ns: U64
    """Time of the run's clock at the end."""
    failure: Failure | None
    """Why the run failed; null if it succeeded."""


class Failure(Wire):
    """Why a run failed."""

    stage: str
    """The stage that failed: `setup`, `server`, `client`, `limit`, `verify`, `teardown`."""
    message: str
    """What failed, and on what."""


Record = Annotated[
    Start
    | Connection
    | Transfer
    | Merged
    | Segment
    | CutSegment
    | Player
    | Handover
    | Goodput
    | Program
    | Download
    | FlowSent
    | FlowStats
    | FlowTable
    | Resource
    | PageLoad
    | Calibration
    | QueueSamples
    | ConnectionSamples
    | DisciplineInForce
    | Imposed
    | Probe
    | PathMeasurement
    | TimelineEvent
    | Usage
    | OfWorkload
    | GaveUp
    | End,
    Field(discriminator="record"),
    Meaning("One line of `records.jsonl`."),
]

MOST_BYTES = 256 << 20
"""Maximum size in bytes of a file of records that is read; also of the records that a server may
send for a run."""
MOST_LINE_BYTES = 64 << 20
"""Maximum length in bytes of a line in a file of records. The record of a program with 1 MiB of
output has 7 MiB if every byte is escaped."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))


def record_from_json(line: str | bytes, source: str = "record") -> Record:
    """Parse one line of ``records.jsonl``.

    Raises:
        RecordError: it is not a record of this format; the message names ``source``.
    """
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        raise RecordError(
            f"{source}: not a record of format {RECORD_FORMAT}: {first_error(error)}"
        ) from None


def record_to_json(record: Record) -> str:
    """Return a record as one line, without the newline, exactly as the endpoint writes it."""
    return json.dumps(record.to_json(), separators=(",", ":"))


def read_records(path: str | PathLike[str]) -> list[Record]:
    """Return a run's records, read from their file.

    Raises:
        RecordError: the file is unreadable, or a line is not a record; the message names file and
            line. A last line without newline was not written completely.
    """
    try:
        with Path(path).open("rb") as file:
            return [
                _whole_record(line, f"{path}:{number}")
                for number, line in enumerate(_lines(file), start=1)
            ]
    except OSError as error:
        raise RecordError(f"cannot read the records in {path}: {error}") from None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines one by one. Only a line feed ends a line, because JSON may contain characters
    such as U+2028.
    """
    read_bytes = 0
    while line := file.readline(MOST_LINE_BYTES + 1):
        read_bytes += len(line)
        if read_bytes > MOST_BYTES:
            raise OSError(errno.EFBIG, f"more than the {MOST_BYTES >> 20} MiB that are read")
        yield line


def _whole_record(line: bytes, source: str) -> Record:
    if len(line) > MOST_LINE_BYTES:
        raise RecordError(f"{source}: a record of more than {MOST_LINE_BYTES >> 20} MiB")
    if not line.endswith(b"\n"):
        raise RecordError(
            f"{source}: the last line was cut short: the run was stopped while writing"
        )
    return record_from_json(line, source)
