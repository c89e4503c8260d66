"""The workload of programs that are not netwarp's own, and what came of each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U64, Direction, Meaning, Wire
from netwarp.wire.transfers import Side

U8 = Annotated[int, Field(ge=0, lt=2**8)]
U16 = Annotated[int, Field(ge=0, lt=2**16)]


class Command(Wire):
    """A server and a client, programs of the machine, each in its host's namespaces.

    They see the machine's files below a layer in memory that takes what they write.
    """

    kind: Literal["command"]
    """Always `command`."""
    server: tuple[str, ...] = Field(min_length=1, strict=False)
    """The server's program and its arguments."""
    client: tuple[str, ...] = Field(min_length=1, strict=False)
    """The client's, started when the server is ready. The run is over when it has ended."""
    ready: Ready
    """When the server is ready."""
    environment: tuple[Variable, ...] = Field(strict=False)
    """What both have in their environment beside the usual."""
    working_directory: str
    """Where both start; an absolute path of the machine."""
    memory_bytes: U64
    """Memory of the guest; the files that programs write take theirs from it."""
    keep: bool
    """Keep what they wrote, in `written/` of the run directory."""
    metrics: tuple[PrintedMetric, ...] = Field(strict=False)
    """Numbers that are read from what they print when the run is over; not by the endpoint."""

    @property
    def direction(self) -> Direction:
        """Servers send more than clients, as a rule."""
        return "down"


class Variable(Wire):
    """A variable of an environment."""

    name: str
    """The variable's name."""
    value: str
    """What it is set to."""


class PrintedMetric(Wire):
    """A number that a program prints."""

    name: str
    """Name of the metric; ends in its unit."""
    by_server: bool
    """Whether the server's program prints it, on standard output; else the client's does."""
    extraction: Extraction
    """Where in what was printed it is."""
    scale: float
    """What it is multiplied with, to be in the unit that the name says."""


class JsonValue(Wire):
    """A value of the JSON document that a program prints."""

    kind: Literal["json"]
    """Always `json`."""
    path: str
    """Names and, in arrays, numbers on the way to it, joined by dots."""


class Pattern(Wire):
    """What a regular expression finds; if it does so several times, the last."""

    kind: Literal["regex"]
    """Always `regex`."""
    pattern: str
    """An expression of Python's `re`, a line at a time; its group is the number, or all of it."""


Extraction = Annotated[
    JsonValue | Pattern,
    Field(discriminator="kind"),
    Meaning("Where in a program's output a number is."),
]


class Listening(Wire):
    """A socket in the server's namespace waits for clients (TCP, UDP or SCTP)."""

    kind: Literal["listening"]
    """Always `listening`."""
    port: U16 | None
    """At this port; null for any."""


class Line(Wire):
    """The server has printed a line."""

    kind: Literal["line"]
    """Always `line`."""
    pattern: str
    """A regular expression that the line matches somewhere."""


class ReadyFile(Wire):
    """A file has come to be."""

    kind: Literal["file"]
    """Always `file`."""
    path: str
    """Its absolute path, as the server sees it."""


Ready = Annotated[
    Listening | Line | ReadyFile,
    Field(discriminator="kind"),
    Meaning("What says that a server is ready for its client."),
]


class Program(Wire):
    """One program, written when it has ended."""

    record: Literal["program"]
    """Always `program`."""
    side: Side
    """The host whose program it is."""
    started_ns: U64
    """Its process was started."""
    ready_ns: U64 | None
    """Server: it was ready."""
    ended_ns: U64
    """Its process ended."""
    exit_status: U8 | None
    """Its exit status; null when a signal ended it."""
    signal: U8 | None
    """The signal that ended it; null when it exited."""
    stdout_bytes: U64
    """What it printed, all together."""
    stderr_bytes: U64
    """What it printed on standard error."""
    stdout: str
    """The first MiB of what it printed; bytes that are no UTF-8 are replaced."""


class Download(Wire):
    """The file that a client's program has left, in a run by the interop runner's contract. What it
    does on the way is its own to know, so times are of its process and of its host's packets.
    """

    record: Literal["download"]
    """Always `download`."""
    started_ns: U64
    """The client's process was started."""
    ended_ns: U64
    """It ended."""
    first_packet_ns: U64
    """The client's first packet left its host."""
    last_packet_ns: U64
    """The last packet of the server's that reached the client's host before the process ended."""
    bytes: U64
    """Size of the file."""
    sha256: str
    """Its hex SHA-256."""

    @property
    def first_byte_ns(self) -> None:
        """When its first byte came is the program's to know."""
        return None
