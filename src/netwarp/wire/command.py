"""The workload of programs that are not netwarp's own, and the record of how each of them ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netwarp.wire.base import U64, Direction, Extended, Meaning, Wire
from netwarp.wire.network import NodeName
from netwarp.wire.transfers import Side

U8 = Annotated[int, Field(ge=0, lt=2**8)]
U16 = Annotated[int, Field(ge=0, lt=2**16)]


class Command(Extended):
    """A server and a client that are installed programs, each in its host's namespaces.

    They see the machine's files, but the files that they write are in layers in memory above these.
    """

    before: ClassVar[Mapping[str, object]] = {
        "start_date_s": 1_767_225_600,  # 2026-01-01
        "exact_coarse_clocks": False,
        "shared": True,
    }

    kind: Literal["command"]
    """Always `command`."""
    server: tuple[str, ...] = Field(min_length=1, strict=False)
    """The server's program and its arguments."""
    client: tuple[str, ...] = Field(min_length=1, strict=False)
    """The client's program and its arguments, started when the server is ready. The run ends when
    this program has ended."""
    ready: Ready
    """How to see that the server is ready."""
    environment: tuple[Variable, ...] = Field(strict=False)
    """Environment variables of both programs, besides the usual ones."""
    working_directory: str
    """The directory in which both programs start; an absolute path of the machine."""
    memory_bytes: U64
    """Memory of the guest in bytes, which also contains the files that programs write."""
    start_date_s: U64
    """Date at which the programs start, by the clock in virtual time, in seconds since 1970."""
    exact_coarse_clocks: bool
    """Whether programs that read coarse clocks get exact times, in virtual time."""
    shared: bool
    """Whether both hosts share one file system, so that each sees the files and Unix sockets of the
    other; otherwise each has its own."""
    keep: bool
    """Whether the files that the programs write are kept, in `written/` of the run directory."""
    metrics: tuple[PrintedMetric, ...] = Field(strict=False)
    """Numbers that are read from the programs' output when the run is over; the endpoint does not
    read them."""
    programs: tuple[HostProgram, ...] = Field(default=(), strict=False)
    """Programs on further hosts of the job's network, in the order in which they are started: the
    first one is started when the server is ready, each other one when the one before it is ready,
    and the client when all are ready. Left out: none."""

    @property
    def direction(self) -> Direction:
        """Direction of the content: down, as servers usually send more than clients."""
        return "down"


class HostProgram(Wire):
    """A program on a further host of a network. When the run ends, it is ended like the server."""

    host: NodeName
    """The host on which the program runs. No other program of the job runs there."""
    command: tuple[str, ...] = Field(min_length=1, strict=False)
    """The program and its arguments."""
    ready: Ready
    """How to see that the program is ready."""


class Variable(Wire):
    """An environment variable."""

    name: str
    """The variable's name."""
    value: str
    """The variable's value."""


class PrintedMetric(Wire):
    """A number that a program prints."""

    name: str
    """Name of the metric; ends in its unit."""
    by_server: bool
    """Whether the server's program prints the number on its standard output; otherwise the client's
    does."""
    extraction: Extraction
    """Where the number is in the output."""
    scale: float
    """The factor that converts the number to the unit in the name."""
    host: NodeName | None = None
    """Host of the program that prints the number, if that is neither the server's nor the
    client's.
    """


class JsonValue(Wire):
    """A value of the JSON document that a program prints."""

    kind: Literal["json"]
    """Always `json`."""
    path: str
    """The path to the value: names and, in arrays, indices, joined by dots."""


class Pattern(Wire):
    """The match of a regular expression; the last one if there are several."""

    kind: Literal["regex"]
    """Always `regex`."""
    pattern: str
    """A regular expression of Python's `re`, matched line by line. Its group, or else the whole
    match, is the number."""


Extraction = Annotated[
    JsonValue | Pattern,
    Field(discriminator="kind"),
    Meaning("The way to find a number in a program's output."),
]


class Listening(Wire):
    """The program is ready when a socket in its host's namespace listens (TCP, UDP or SCTP)."""

    kind: Literal["listening"]
    """Always `listening`."""
    port: U16 | None
    """The port; null for any."""


class Line(Wire):
    """The program is ready when it has printed a matching line."""

    kind: Literal["line"]
    """Always `line`."""
    pattern: str
    """A regular expression that matches a part of the line."""


class ReadyFile(Wire):
    """The program is ready when a file exists."""

    kind: Literal["file"]
    """Always `file`."""
    path: str
    """The file's absolute path, as the server sees it."""


Ready = Annotated[
    Listening | Line | ReadyFile,
    Field(discriminator="kind"),
    Meaning("How to detect that a server is ready for its client."),
]


class Program(Wire):
    """How one program ran, written when it has ended."""

    record: Literal["program"]
    """Always `program`."""
    side: Side
    """The side whose program it is. Programs on further hosts of a network count as servers."""
    started_ns: U64
    """When the program's process was started."""
    ready_ns: U64 | None
    """When the server was ready; null for a client."""
    ended_ns: U64
    """When the program's process ended."""
    exit_status: U8 | None
    """The program's exit status; null if a signal ended it."""
    signal: U8 | None
    """The signal that ended the program; null if it exited."""
    stdout_bytes: U64
    """Number of bytes that the program printed on standard output."""
    stderr_bytes: U64
    """Number of bytes that the program printed on standard error."""
    stdout: str
    """The first MiB of the program's standard output; bytes that are not UTF-8 are replaced."""
    host: NodeName | None = None
    """The program's host in a network, after which the files of its output are named."""


class Download(Wire):
    """The file that a client's program has downloaded, in a run of programs with the interface of
    the interop runner. netwarp does not see what the program does, so times are those of its
    process and of its host's packets.
    """

    record: Literal["download"]
    """Always `download`."""
    started_ns: U64
    """When the client's process was started."""
    ended_ns: U64
    """When the client's process ended."""
    first_packet_ns: U64
    """When the client's first packet left its host."""
    last_packet_ns: U64
    """When the server's last packet before the process ended reached the client's host."""
    bytes: U64
    """Size of the file."""
    sha256: str
    """The SHA-256 of the file's content, in hexadecimal digits."""

    @property
    def first_byte_ns(self) -> None:
        """Return None: only the program knows when its first byte arrived."""
        return None
