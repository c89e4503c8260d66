"""``[workload]`` with ``kind = "command"``: programs of the machine, unmodified."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from netwarp import wire
from netwarp.fields import Kind
from netwarp.units import UnitError
from netwarp.wire import Direction
from netwarp.workloads.base import WorkloadSection

SHELL = ("/bin/sh", "-c")
PORT = re.compile(r"port:([0-9]{1,5})")


def parse_ready(value: object) -> wire.Ready:
    """Read when a server is ready.

    Raises:
        UnitError: not one of the ways in which a server can say so.
    """
    if isinstance(value, wire.Listening | wire.Line | wire.ReadyFile):
        return value
    text = value if isinstance(value, str) else ""
    port = PORT.fullmatch(text)
    if text == "listening":
        return wire.Listening(kind="listening", port=None)
    if port and int(port[1]) in range(1, 2**16):
        return wire.Listening(kind="listening", port=int(port[1]))
    way, _, rest = text.partition(":")
    if way == "line" and rest:
        return wire.Line(kind="line", pattern=rest)
    if way == "file" and rest.startswith("/"):
        return wire.ReadyFile(kind="file", path=rest)
    reason = "not a way in which a server says that it is ready"
    remedy = "listening, port:8080, line:REGEX, or file:/ABSOLUTE/PATH"
    raise UnitError(reason, remedy)


def parse_command(value: object) -> tuple[str, ...]:
    """Read a command: a text is the shell's to read, a list is a program and its arguments.

    Raises:
        UnitError: neither, or nothing in it.
    """
    if isinstance(value, str) and value.strip():
        return (*SHELL, value)
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        return tuple(value)
    reason = "neither a text for the shell nor a list of a program and its arguments"
    raise UnitError(reason, 'such as "curl -s http://server/"')


CommandLine = Annotated[
    tuple[str, ...],
    BeforeValidator(parse_command),
    Kind('a text for the shell, or a list such as `["curl", "-s", "http://server/"]`'),
]
ReadyField = Annotated[
    wire.Ready,
    BeforeValidator(parse_ready),
    Kind('`"listening"`, `"port:8080"`, `"line:REGEX"` or `"file:/PATH"`'),
]


class CommandSection(WorkloadSection):
    """A server and a client, programs of the machine, unmodified.

    Each runs on its host, with the machine's files below a layer in memory that takes what it
    writes. The names `server` and `client` resolve to the hosts' addresses. `/tmp`, `/run` and the
    home directory are empty.
    """

    relative_paths: ClassVar[Mapping[str, str | None]] = {"directory": "."}

    kind: Literal["command"] = "command"
    """Programs of the machine, unmodified."""
    server: CommandLine
    """The server. It is asked to end (SIGTERM) when the client has ended."""
    client: CommandLine
    """The client, started when the server is ready. The run fails unless it exits with status
    0."""
    ready: ReadyField = wire.Listening(kind="listening", port=None)
    """When the server is ready: a socket waits for clients, at any port (`"listening"`) or at one
    (`"port:8080"`), it has printed a line that matches (`"line:REGEX"`), or there is a file
    (`"file:/PATH"`). Default: `"listening"`."""
    environment: dict[str, str] = Field(default={})
    """What both have in their environment beside PATH, HOME, LANG, TERM, USER and LOGNAME; nothing
    of the caller's."""
    directory: str = "."
    """Where both start; a relative path starts at the study file."""

    @property
    def content_direction(self) -> Direction:
        """Servers send more than clients, as a rule."""
        return "down"

    def job(self, parts: int) -> wire.Command:
        """Give what the endpoint is told."""
        del parts
        return wire.Command(
            kind="command",
            server=self.server,
            client=self.client,
            ready=self.ready,
            environment=tuple(
                wire.Variable(name=name, value=value) for name, value in self.environment.items()
            ),
            working_directory=self.directory,
        )


def command_text(argv: tuple[str, ...]) -> str:
    """Write a command as it was given."""
    return argv[2] if argv[:2] == SHELL and len(argv) == len(SHELL) + 1 else shlex.join(argv)
