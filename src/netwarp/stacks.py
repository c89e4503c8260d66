"""Third-party implementations of a transport (stacks): their abilities, and where they are found.

A stack is a directory with a manifest and a program that implements the role protocol
(`docs/role-protocol.md`), or only a program that the QUIC interop runner could test. If a study
names a stack, all its properties are copied into the study's tables, so that the same tables give
the same study even if the directory is removed.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from netwarp import plugins, wire
from netwarp.cache import cache_directory
from netwarp.errors import InputError
from netwarp.fields import Kind, Section, Switch
from netwarp.regular_files import UnreadableFileError, is_file, read_regular_file
from netwarp.suggestions import nearest
from netwarp.transports import TRANSPORTS, Missing, TransportTraits
from netwarp.units import UnitError
from netwarp.wire import Resume

# A wheel carries the sources inside the package, a clone beside it.
PLACES = (Path(__file__).parent / "stack_sources", Path(__file__).resolve().parents[2] / "stacks")
SOURCES = next((place for place in PLACES if place.is_dir()), PLACES[-1])
"""Folder with the sources of the stacks that netwarp ships."""
ROLE_PROTOCOL = 2
"""Version of the protocol between a role and its orchestrator that this netwarp uses."""
MANIFEST = "stack.toml"
MOST_MANIFEST_BYTES = 1 << 16
EMPTY_IN_GUESTS = (Path("/tmp"), Path("/run"))  # noqa: S108 - where nothing of the machine is seen
ITS_OWN = "its own"
"""Text for a setting that a program chooses itself."""
PATH_VARIABLE = "NETWARP_STACKS"
Behaviour = dict[Literal["HyStart", "ACK frequency", "UDP payload", "GSO"], str]
"""Properties in which QUIC implementations differ, besides their options."""
Names = Annotated[tuple[str, ...], Field(min_length=1)]


class Manifest(Section):
    """The manifest of a stack, `stack.toml`."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")
    """Name by which studies refer to the stack."""
    version: str
    """The implementation's own version, pinned."""
    role_protocol: int
    """Version of the role protocol that the stack's program uses."""
    kind: Literal["quic"]
    """The transport that the stack implements."""
    program: str
    """Name of the program in the manifest's directory."""
    build: tuple[str, ...] = ()
    """Command that builds the program, run in the directory of its sources; `{out}` is where the
    program is written."""
    needs: tuple[str, ...] = ()
    """Programs that the build needs, besides the one that `build` starts."""
    congestion: Names
    """Congestion controls, the default first."""
    workloads: Names
    """Workloads that the stack supports."""
    chunks: Switch = False
    """Whether the stack can transfer a content in chunks, over several streams of one
    connection.
    """
    resume: tuple[Resume, ...] = ()
    """Ways in which later connections can resume earlier ones."""
    initial_window: Annotated[int, Field(ge=1)] | None = None
    """Initial window in packets, if it is fixed."""
    paced: Switch = False
    """Whether the stack paces packets with every congestion control."""
    interop: Switch = False
    """Whether the stack's program, started without arguments, also has the interface of the QUIC
    interop runner."""
    behaviour: Behaviour = Field(default={})
    """Behaviour that no option changes, for the report's table of the settings of all
    transports."""
    treatment: dict[str, str] = Field(default={})
    """Reasons why settings differ from those of other transports, for the report's table of the
    settings of all transports (equal treatment)."""


class Stack(Manifest):
    """An installed stack: its manifest, with the path of its program."""

    contract: wire.Contract = "roles"
    """The interface with which the stack's program is started."""
    client: Stack | None = None
    """The implementation at the client's end, if that is a different one; else None."""

    @property
    def decides_alone(self) -> bool:
        """Whether the stack's program chooses the transport's options by itself."""
        return self.contract == "interop"

    @property
    def shown_name(self) -> str:
        """The stack's name and version; with two implementations, first the client's and then the
        server's.
        """
        own = f"{self.name} {self.version}"
        return own if self.client is None else f"{self.client.shown_name} to {own}"

    def client_end(self, congestion: str | None) -> wire.ClientEnd | None:
        """Return the client's part of the job, if another implementation is at that end.

        Args:
            congestion: the study's congestion control; None leaves each end its own default.
        """
        if self.client is None:
            return None
        own = congestion or self.client.congestion[0]
        return wire.ClientEnd(stack=self.client.in_job(), congestion=own)

    def in_job(self) -> wire.Stack:
        """Return the stack part of a job."""
        return wire.Stack(
            name=self.name, version=self.version, program=self.program, contract=self.contract
        )

    def traits(self, usual: TransportTraits) -> TransportTraits:
        """Return the properties of the transport in this implementation."""
        fixed = f"{self.name}'s initial window is fixed" if self.initial_window else None
        lacks = Missing(f"{self.name} does not resume connections so")
        if self.decides_alone:
            fixed = f"the interop runner's contract does not tell {self.name} any"
        return replace(
            usual,
            stack=f"{usual.name} ({self.shown_name})",
            congestion_controls=self.congestion,
            is_always_paced=self.paced,
            fixed_initial_window=fixed,
            missing_resume={way: lacks for way in ("1rtt", "0rtt") if way not in self.resume},
            missing_reconnect={"migrate": Missing(f"{self.name}'s role does not migrate")},
            inherent=self.treatment,
            behaviour={str(setting): value for setting, value in self.behaviour.items()},
        )


StackField = Annotated[Stack, Kind("the name of a stack, as `netwarp stack list` has it")]


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a stack.

    Raises:
        InputError: there is no manifest, or this version cannot read it.
    """
    file = directory / MANIFEST
    try:
        tables = tomllib.loads(read_regular_file(file, MOST_MANIFEST_BYTES).decode())
        manifest = Manifest.model_validate(tables)
    except UnreadableFileError as error:
        raise InputError(f"{file}: {error.reason}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{file}: {key}: {first['msg']}; if another version of netwarp has built it, then"
            f" `netwarp stack build {directory.name}`"
        ) from None
    except ValueError as error:
        raise InputError(f"{file}: not a manifest: {error}") from None
    if manifest.role_protocol != ROLE_PROTOCOL:
        raise InputError(
            f"{file}: it speaks version {manifest.role_protocol} of the role protocol, and this"
            f" netwarp version {ROLE_PROTOCOL}: build it anew"
        )
    return manifest


def stack_in(directory: Path) -> Stack:
    """Return the stack in a directory, ready to be started.

    Raises:
        InputError: there is none, or its program does not exist, or guests cannot see it.
    """
    manifest = read_manifest(directory)
    program = (directory / manifest.program).resolve()
    missing = missing_program(manifest.name, str(program))
    if missing is not None:
        raise InputError(missing)
    _refuse_unseen(program)
    return Stack(**manifest.model_dump() | {"program": str(program)})


def missing_program(name: str, program: str) -> str | None:
    """Return the message that a stack's program does not exist, with the remedy; None if it
    exists.
    """
    if os.access(program, os.X_OK):
        return None
    said = f"the stack {name} has no program at {program}"
    if is_file(SOURCES / name / MANIFEST):
        return f"{said}: `netwarp stack build {name}`"
    if name in plugins.added("stacks"):
        package = plugins.package_of("stacks", name)
        return (
            f"{said}: the package {package} adds it without; build the program as {package} says,"
            " put it there and make it executable (chmod +x)"
        )
    return f"{said}: put it there, and make it executable (chmod +x)"


def find_stack(name: str, environ: Mapping[str, str] = os.environ) -> Stack:
    """Return the stack with a name: one that is built, or one that netwarp can build.

    Raises:
        InputError: there is no stack of this name, or it cannot be started.
    """
    for directory in places(environ):
        if is_file(directory / name / MANIFEST):
            return stack_in(directory / name)
    if is_file(SOURCES / name / MANIFEST):
        # Its abilities are known before it is built; a run reports that it must be built.
        manifest = read_manifest(SOURCES / name)
        program = built_stacks(environ) / name / manifest.program
        return Stack(**manifest.model_dump() | {"program": str(program)})
    if name in plugins.added("stacks"):
        return stack_in(plugins.folder("stacks", name))
    there = installed(environ)
    near = nearest(name, [*there, *shipped()])
    if near is not None:
        raise InputError(f'no stack {name}: did you mean "{near}"?')
    raise InputError(
        f"no stack {name} is built here (built: {', '.join(there) or 'none'}): `netwarp stack build"
        f" {name}` if netwarp ships it, else put its directory below one that {PATH_VARIABLE} names"
    )


def shipped() -> list[str]:
    """Return the names of the stacks that netwarp can build from its own sources."""
    return sorted(found.parent.name for found in _manifests(SOURCES))


def installed(environ: Mapping[str, str] = os.environ) -> Sequence[str]:
    """Return the names of the stacks that are found on this machine."""
    found = {found.parent.name for place in places(environ) for found in _manifests(place)}
    return sorted({*found, *plugins.added("stacks")})


def refuse_as_transport(value: object) -> object:
    """Refuse the name of a stack as a value of `transport`; return any other value unchanged.

    Raises:
        UnitError: it is a stack's name; the remedy shows how a study names a stack.
    """
    if not isinstance(value, str) or value in TRANSPORTS:
        return value
    if value in {*installed(), *shipped()}:
        own = f'{{ kind = "quic", stack = "{value}", label = "{value}" }}'
        raise UnitError(
            "a stack of QUIC, and no transport",
            f'write a study in which it races: transport = ["tcp", {own}]',
        )
    return value


def places(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the directories in which stacks are looked for: the user's, then netwarp's own."""
    named = (Path(each) for each in environ.get(PATH_VARIABLE, "").split(os.pathsep) if each)
    return (*named, built_stacks(environ))


def built_stacks(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the stacks that `netwarp stack build` has built.

    Each version of the role protocol has its own directory, so that several versions of netwarp can
    share a machine.
    """
    return cache_directory(environ) / f"stacks-{ROLE_PROTOCOL}"


def _manifests(place: Path) -> Iterator[Path]:
    yield from place.glob(f"*/{MANIFEST}")


def interop_stack(
    named: str,
    folder: Path,
    *,
    name: str | None = None,
    version: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Stack:
    """Return the stack made of a program that has the interface of the QUIC interop runner.

    Args:
        named: the program's path, or the name of a stack whose program also has that interface.
        folder: the folder to which relative paths belong.
        name: the stack's name. Default: the name of the program's file.
        version: the implementation's own version.
        environ: environment variables, which determine where stacks are looked for.

    Raises:
        InputError: there is no such program, guests cannot see it, or the name is not allowed.
    """
    if os.sep not in named:
        known = find_stack(named, environ)
        if not known.interop:
            raise InputError(
                f"the stack {named} speaks the role protocol alone; a program of this name in the"
                f" study's folder is ./{named}"
            )
        program, usual_version, usual_name = Path(known.program), known.version, f"{named}-interop"
    else:
        program = (folder / Path(named).expanduser()).resolve()
        if not os.access(program, os.X_OK) or not program.is_file():
            raise InputError(f"{program} is not a program: name an executable file")
        _refuse_unseen(program)
        usual_version = "unknown"
        usual_name = re.sub(r"[^a-z0-9_.-]", "-", program.name.lower()).lstrip("_.-")
    try:
        return Stack(
            name=name or usual_name,
            version=version or usual_version,
            role_protocol=ROLE_PROTOCOL,
            kind="quic",
            program=str(program),
            congestion=(ITS_OWN,),
            workloads=("bulk",),
            contract="interop",
        )
    except ValidationError:
        raise InputError(
            f"{name} is no name of a stack: write small letters, digits and _.-"
        ) from None


def _refuse_unseen(program: Path) -> None:
    for emptied in EMPTY_IN_GUESTS:
        if program.is_relative_to(emptied):
            raise InputError(
                f"{program} is below {emptied}, which guests find empty: put it elsewhere"
            )
