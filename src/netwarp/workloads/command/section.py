"""The section ``[workload]`` with ``kind = "command"``: unmodified programs of the host."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from netwarp import wire
from netwarp.fields import KeyValueError, Kind, Section, SizeBytes, Switch
from netwarp.options.readiness import read_ready
from netwarp.units import UnitError
from netwarp.wire import Direction, TransportKind
from netwarp.workloads.base import GUEST_MEMORY_BYTES
from netwarp.workloads.command.dates import START_DATE, StartDate
from netwarp.workloads.command.printed import PrintedSection, refuse_names_without_unit
from netwarp.workloads.command.words import USUAL_PORT, filled, refuse_useless
from netwarp.workloads.section import WorkloadSection

SHELL = ("/bin/sh", "-c")
LEAST_MEMORY_BYTES = 128 << 20
MOST_MEMORY_BYTES = 64 << 30


def parse_ready(value: object) -> wire.Ready:
    """Parse the condition under which a server counts as ready.

    Raises:
        UnitError: it is none of the known conditions.
    """
    if isinstance(value, wire.Listening | wire.Line | wire.ReadyFile):
        return value
    found = read_ready(value if isinstance(value, str) else "")
    match found.way:
        case "listening":
            return wire.Listening(kind="listening", port=found.port)
        case "line":
            return wire.Line(kind="line", pattern=found.text)
        case "file":
            return wire.ReadyFile(kind="file", path=found.text)


def parse_word(value: object) -> str:
    """Parse a study's value for a placeholder in commands.

    Raises:
        UnitError: the value is neither a text nor a number.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise UnitError("neither a text nor a number", 'write it as "…"')


def parse_command(value: object) -> tuple[str, ...]:
    """Parse a command: a text for the shell, or a list of a program and its arguments.

    Raises:
        UnitError: it is neither, is empty, or cannot be passed to the kernel.
    """
    words: tuple[str, ...] = ()
    if isinstance(value, str) and value.strip():
        words = (*SHELL, value)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        words = tuple(value)
    if any("\0" in word for word in words):
        raise UnitError("no program is given a NUL", "drop it")
    if words and words[0].strip():
        return words
    reason = "neither a text for the shell nor a list of a program and its arguments"
    raise UnitError(reason, 'such as "curl -s http://server/"')


CommandLine = Annotated[
    tuple[str, ...],
    BeforeValidator(parse_command),
    Kind('a text for the shell, or a list such as `["curl", "-s", "http://server/"]`'),
]
Word = Annotated[str, BeforeValidator(parse_word), Kind("a text or a number")]
ReadyField = Annotated[
    wire.Ready,
    BeforeValidator(parse_ready),
    Kind('`"listening"`, `"port:8080"`, `"line:REGEX"` or `"file:/PATH"`'),
]


class ProgramSection(Section):
    """A program on a further host of a network, beside a `command`'s server and client. It starts
    when the server and the programs before it are ready; the client starts when all are ready. It
    gets SIGTERM when the client has ended, and the run fails if it ends with another status than 0
    before.
    """

    host: str
    """The host on which the program runs. A host has at most one program of the study, but a
    command can start several."""
    command: CommandLine
    """The command that starts the program."""
    ready: ReadyField = wire.Listening(kind="listening", port=None)
    """When the program is ready, in the form of the server's `ready`. Default: `"listening"`."""


class CommandSection(WorkloadSection):
    """A server and a client, unmodified programs of the machine.

    Each runs on its host, and sees the machine's files below an overlay in memory to which it
    writes, and which the other does not see. The names `server` and `client` resolve to the hosts'
    addresses. `/tmp`, `/run` and `$HOME` are empty.

    Between two hosts of a network it is the run's only `[[workload]]`, and further hosts have the
    programs of `[[workload.program]]`. The names of all hosts resolve, on each of them.
    """

    relative_paths: ClassVar[Mapping[str, str | None]] = {"directory": "."}

    kind: Literal["command"] = "command"
    """Programs of the machine, unmodified."""
    server: CommandLine
    """The server's command. It gets SIGTERM when the client has ended."""
    client: CommandLine
    """The client's command, started when the server is ready. It must exit with status 0, or the
    run fails."""
    ready: ReadyField = wire.Listening(kind="listening", port=None)
    """When the server is ready: a socket waits for clients, at any port (`"listening"`) or at one
    (`"port:8080"`), it has printed a line that matches (`"line:REGEX"`), or there is a file
    (`"file:/PATH"`). Default: `"listening"`."""
    environment: dict[str, str] = Field(default={})
    """Environment variables of both programs, besides PATH, HOME, LANG, TERM, USER and LOGNAME; the
    caller's environment is not passed on."""
    words: dict[str, Word] = Field(default={})
    """Values of placeholders `{NAME}` in commands and environment; the factor `command.NAME` varies
    one. `{server}` and `{client}` are the hosts' names, `{port}` is the port of `ready`, or 80, and
    `{run}` is the run's name; braces around anything else are left as they are."""
    metrics: dict[str, PrintedSection] = Field(default={})
    """Metrics that the study reads from the programs' output, each a table: `json = "a.b.0"` (the
    path to the number, by names and indices, in the JSON document that the program prints) or
    `regex = "(…) s"` (Python's; its group in the last match); `program` (the program whose output
    is read: `client`, the default, `server`, or the host of a further program); and `scale`, by
    which the number is multiplied. Names end in their unit: `_s`, `_ns`, `_bit_s`, `_per_s`,
    `_bytes`, `_packets`, `_ratio`, `_count`, and `_min`, `_max`, `_p99`
    and so on may follow. A run without the number has failed."""
    directory: str = "."
    """Working directory of both programs; a relative path starts at the study file."""
    memory_bytes: SizeBytes = Field(default=GUEST_MEMORY_BYTES, alias="memory")
    """Memory of programs and of the files they write, which take at most half of it. Default:
    1GiB."""
    start_date: StartDate = START_DATE
    """The date, in UTC, at which programs start in virtual time, such as `"2026-11-23"` or
    `"2026-11-23T12:00:00"`. Certificates are checked against it: one that was made after it is not
    yet valid. The date of the machine is never used, so that runs repeat exactly. Default:
    2027-01-01."""
    coarse_clocks: Literal["ticks", "exact"] = "ticks"
    """What `CLOCK_MONOTONIC_COARSE` and `CLOCK_REALTIME_COARSE` show in virtual time. `ticks`: as
    in the kernel, they advance at its ticks, every 10 ms, and stand still while programs compute.
    `exact`: the time of the precise clocks, for programs that measure or wait by the coarse ones;
    each reading then costs some 100 µs of CPU time."""
    shared: Switch = False
    """Whether the programs share the files that they write, Unix sockets, shared memory and message
    queues. By default each host has its own, as on two machines, so that only the path connects the
    programs."""
    keep: Switch = False
    """Whether files that the programs wrote are kept, in `written/server/` and `written/client/` of
    the run's directory (in a network, by the hosts' names), or in `written/` if they share them."""
    programs: tuple[ProgramSection, ...] = Field(default=(), alias="program")
    """Programs on further hosts of a network, as `[[workload.program]]`, in the order in which they
    start."""

    @model_validator(mode="after")
    def _refuse_what_cannot_be(self) -> Self:
        refuse_names_without_unit(self.metrics)
        of_programs = (word for each in self.programs for word in each.command)
        refuse_useless(
            self.words, (*self.server, *self.client, *of_programs, *self.environment.values())
        )
        self._refuse_metrics_of_no_program()
        if not LEAST_MEMORY_BYTES <= self.memory_bytes <= MOST_MEMORY_BYTES:
            reason, remedy = "no memory for a guest", "write 128MiB to 64GiB"
            raise KeyValueError("memory", self.memory_bytes, reason, remedy)
        return self

    def _refuse_metrics_of_no_program(self) -> None:
        """Refuse a metric that is read from a program which the study does not have."""
        known = ("client", "server", *self.further_hosts)
        for name, metric in self.metrics.items():
            if metric.program not in known:
                reason = f"the programs are {', '.join(known)}"
                remedy = "choose one of them, or add [[workload.program]]"
                raise KeyValueError(f"metrics.{name}.program", metric.program, reason, remedy)

    @property
    def further_hosts(self) -> tuple[str, ...]:
        """The hosts, besides client and server, on which the study has programs."""
        return tuple(each.host for each in self.programs)

    @property
    def usual_transport(self) -> TransportKind:
        """The transport `tcp`: programs open their own sockets, and the TCP of their hosts is
        configured for them.
        """
        return "tcp"

    @property
    def must_be_alone(self) -> bool:
        """True: programs must be the only workload of a run."""
        return True

    @property
    def takes_networks(self) -> bool:
        """True: programs find the hosts of a network by their names."""
        return True

    @property
    def content_direction(self) -> Direction:
        """Direction of most bytes: down, as servers usually send more than clients."""
        return "down"

    def job(self, parts: int) -> wire.Command:
        """Return the workload part of the job."""
        port = self.ready.port if isinstance(self.ready, wire.Listening) else None
        words = {"server": "server", "client": "client", "port": str(port or USUAL_PORT)}
        words |= self.words
        return wire.Command(
            kind="command",
            server=tuple(filled(each, words) for each in self.server),
            client=tuple(filled(each, words) for each in self.client),
            ready=self.ready,
            environment=tuple(
                wire.Variable(name=name, value=filled(value, words))
                for name, value in self.environment.items()
            ),
            working_directory=self.directory,
            memory_bytes=self.memory_bytes >> 20 << 20,
            start_date_s=int(self.start_date.timestamp()),
            exact_coarse_clocks=self.coarse_clocks == "exact",
            shared=self.shared,
            keep=self.keep,
            metrics=tuple(each.rule(name) for name, each in self.metrics.items()),
            programs=tuple(
                wire.HostProgram(
                    host=each.host,
                    command=tuple(filled(word, words) for word in each.command),
                    ready=each.ready,
                )
                for each in self.programs
            ),
        )


def command_text(argv: tuple[str, ...]) -> str:
    """Return a command as text: as it was given for the shell, or its arguments quoted."""
    return argv[2] if argv[:2] == SHELL and len(argv) == len(SHELL) + 1 else shlex.join(argv)
