"""What a workload is for the rest of netwarp: its keys, its jobs, and how its records are read.

A workload is a folder here with one subclass of `Workload`, and a model in
`netwarp.wire.workload`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from pydantic import Field

from netwarp import wire
from netwarp.errors import BackendError
from netwarp.fields import DurationNs, Section
from netwarp.measure import select
from netwarp.measure.metric import Metric
from netwarp.measure.run_records import Arrival, ContentReader
from netwarp.wire import Direction, Job, Record, Resume, TransportKind

GUEST_MEMORY_BYTES = 1 << 30
"""Memory of a guest that runs nobody's programs but netwarp's."""
NO_PROGRAMS = (
    "it runs programs, and a server runs none by another host's word: use the virtual backend"
)
NO_FILES = (
    "it sends files, and a server reads none by another host's word: give the workload a size, or"
    " use the virtual backend"
)
"""Why servers of other hosts refuse a workload."""
FileSize = Callable[[str], int]
"""Looks up the size of a file in bytes."""
FileReader = Callable[[str], Mapping[str, Any]]
"""Reads a file or folder into the table that stands for it in a study from then on: it has a
`label`, and all that runs need to know.

Raises:
    UnreadableFileError: it cannot be read.
    KeyValueError: it is not what it should be; the key is None.
"""
W = TypeVar("W", bound=wire.Workload)


@dataclass(frozen=True)
class ServerCommand:
    """A command of a client's that a server is to run."""

    text: str
    """As it was given."""
    port: int | None
    """The port at which it is waited for; None for any, or another sign."""


class WorkloadSection(Section):
    """What travels: the keys that all workloads have."""

    kind: str
    start_jitter_ns: DurationNs = Field(default=0, alias="start_jitter")
    """The client begins later than it could by a random time below this, drawn evenly for each
    replicate and the same for all cells. Where nothing else is random, replicates differ by it: in
    their phase against the kernel's timer ticks (10 ms) and against what happens at fixed times."""
    relative_paths: ClassVar[Mapping[str, str | None]] = {}
    """Keys that name files or folders, where a relative one starts at the study; with what stands
    for a key that is not given."""
    file_readers: ClassVar[Mapping[str, FileReader]] = {}
    """Of these, the keys whose files are read with the study, each with what reads it."""

    takes_losses: ClassVar[bool] = False
    """Whether it makes sense over a transport that repeats nothing."""
    uses_stream_both_ways: ClassVar[bool] = False
    """Whether one stream carries it both ways at the same time."""
    follows_client: ClassVar[bool] = True
    """Whether it goes on when the client moves to another path."""

    @property
    @abstractmethod
    def content_direction(self) -> Direction:
        """Which way most bytes go: that direction's queue and buffers are sized for them."""

    @property
    def lone_message_bytes(self) -> int | None:
        """Size of its messages, where each may travel by itself one way and be lost; else None."""
        return None

    @property
    def dials_again(self) -> bool:
        """Whether connections follow others of the run although the client stays where it is."""
        return False

    @property
    def is_alone(self) -> bool:
        """Whether it shares a run with no other workload."""
        return False

    @property
    def has_table(self) -> bool:
        """Whether a run writes a table of its messages beside its records."""
        return False

    @property
    def least_ns(self) -> int:
        """How long it goes on at least after it began, as far as its keys say."""
        return 0

    @property
    def breaks_off(self) -> bool:
        """Whether it is broken off after a time, whole or not."""
        return False

    @property
    def fills_ns(self) -> int | None:
        """How long it sends as much as goes through; None where it has a size, or a pace."""
        return None

    def filled(self, job: wire.Workload, size_bytes: int) -> wire.Workload:
        """Give the same with content of a size that does not pass in the time it has."""
        del size_bytes
        return job

    @property
    def usual_transport(self) -> TransportKind | None:
        """What carries it where the study names no transport; None where it has to."""
        return None

    def parts(self, streams: int | None) -> int:
        """Give the number of parts that travel at once.

        Args:
            streams: those of the transport's own connections, where the study gives them.
        """
        del streams
        return 1

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse what cannot be done within a run.

        Args:
            limit_ns: the run has failed when its own clock says more than this.
            parts: see `parts`.

        Raises:
            KeyValueError: with a key from the top of the study.
        """

    def refuse_transport(self, kind: TransportKind, *, moves: bool) -> None:
        """Refuse a transport that does not carry it.

        Args:
            kind: the transport.
            moves: whether the client moves between paths.

        Raises:
            KeyValueError: with a key from the top of the study.
        """

    def refuse_resume(self, kind: TransportKind, resume: Resume) -> None:
        """Refuse a way to use earlier connections that it does not go over a transport with.

        Raises:
            KeyValueError: with a key from the top of the study.
        """

    @abstractmethod
    def job(self, parts: int) -> wire.Workload:
        """Give what the endpoint is told, with seeds of 0."""


@dataclass(frozen=True)
class Program:
    """A program of the machine that runs can need."""

    name: str
    """As people call it."""
    names: tuple[str, ...]
    """What its executable may be called, the preferred one first."""
    install: str
    """How to come by it."""


Tone = Literal["grade", "start", "stopped", "moving"]
"""What a phase is to who waits: content of some grade, or a wait: for the first of it, because
nothing is left, or after having moved."""


@dataclass(frozen=True)
class Phase:
    """A stretch of time in which a workload did one thing."""

    start_ns: int
    end_ns: int
    label: str


@dataclass(frozen=True)
class Item:
    """One of many things that were done at the same time."""

    name: str
    phases: Sequence[Phase]
    """In order of time, none over another."""


@dataclass(frozen=True)
class Activity:
    """What a workload did over time, for charts. Times are in nanoseconds of the run's clock."""

    title: str = ""
    """Whose activity it is, such as `The player`."""
    phases: Sequence[Phase] = ()
    """The phases in order of time, without overlap."""
    tones: Mapping[str, Tone] = field(default_factory=dict)
    """How the labels of phases are to be shown; grades from the worst to the best."""
    buffered_ns: Sequence[tuple[int, int]] = ()
    """The play time buffered, as corners of a line: time and level."""
    jumps: Sequence[tuple[int, str]] = ()
    """Moments at which the viewer moved, with where to."""
    items: Sequence[Item] = ()
    """Things done at the same time, in the order in which they are to be shown."""
    milestones: Sequence[tuple[int, str]] = ()
    """Moments at which something was reached, with what."""


@dataclass(frozen=True)
class HttpArchive:
    """A run as HAR 1.2 has it: one of its pages, and that page's entries."""

    page: Mapping[str, Any]
    entries: Sequence[Mapping[str, Any]]


class Workload(ContentReader, ABC, Generic[W]):
    """A kind of workload."""

    section: ClassVar[type[WorkloadSection]]
    """The model of its keys, whose `kind` is a literal with its name."""
    wire_type: type[W]
    """The wire model of its jobs."""
    metrics: ClassVar[tuple[Metric, ...]] = ()
    """The metrics that only it has."""

    def own_metrics(self, job: Job) -> tuple[Metric, ...]:
        """Give those that the study itself has named."""
        del job
        return ()

    def memory_bytes(self, job: Job) -> int:
        """Say how much memory a guest has for it."""
        del job
        return GUEST_MEMORY_BYTES

    @property
    def name(self) -> str:
        """The value of `kind`."""
        (name,) = get_args(self.section.model_fields["kind"].annotation)
        return str(name)

    def of(self, job: Job) -> W:
        """Give the workload section of a job, which must be of this kind.

        Raises:
            TypeError: the job is of another workload.
        """
        if not isinstance(job.workload, self.wire_type):
            raise TypeError(f"{job.run} is not of the workload {self.name}")
        return job.workload

    def refuse_unused(self, given: Mapping[str, object], sections: Sequence[Section]) -> None:
        """Refuse keys that no cell of a study makes use of.

        Args:
            given: levels and values by key.
            sections: those of all cells.

        Raises:
            KeyValueError: with a key relative to the section.
        """
        del given, sections

    def with_file_size(self, workload: W, size_of: FileSize) -> W:
        """Fill in the size of a file that is sent, if there is one.

        Raises:
            KeyValueError: the file is not one that can be sent; with a key from the top.
        """
        del size_of
        return workload

    def content_bytes(self, job: Job) -> int | None:
        """Say about how much content a run carries; None where only the run itself knows."""
        del job
        return None

    def messages(self, job: Job) -> int:
        """Say how many messages are sent each by itself; 0 of content that goes as it comes, and
        where only the run itself knows.
        """
        del job
        return 0

    def server_refusal(self, job: Job) -> str | None:
        """Say why a server does not take it from another host; None where it does.

        A server reads no file by another host's word, and runs no program but a `server_command`
        that its owner allows. A new workload is not taken before somebody has looked at it.
        """
        del job
        return f"a server takes no workload of kind {self.name!r} from another host"

    def server_command(self, job: Job) -> ServerCommand | None:
        """Give the command that a server of another host is to run, which its owner has to allow;
        None where it is to run none.
        """
        del job
        return None

    def most_content_bytes(self, job: Job) -> int:
        """Say how many bytes of content travel at most, where a server takes it."""
        return self.content_bytes(job) or 0

    programs: ClassVar[tuple[Program, ...]] = ()
    """The programs that runs of it can need."""

    def needed_programs(self, job: Job) -> Sequence[Program]:
        """Give the programs that a run needs."""
        del job
        return ()

    def programs_cpu_s(self, job: Job) -> float:
        """Say about how much CPU time the programs of a run take beside what they exchange."""
        del job
        return 0.0

    def runs_programs(self, job: Job) -> bool:
        """Say whether a run has programs of others: they write where they please but for a guest,
        and repeat only if they draw nothing from the CPU.
        """
        del job
        return False

    def dials(self, job: Job) -> bool:
        """Say whether netwarp itself opens the connections, so that records tell of them."""
        del job
        return True

    def start_ns(self, records: Sequence[Record]) -> int:
        """Say when the client began."""
        return select.start_ns(records)

    @abstractmethod
    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Give what the receiver got, each delivery whole."""

    @abstractmethod
    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Say when all that was asked had happened; closing connections is not counted."""

    @abstractmethod
    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Say how the records contradict that all that was asked happened; None if they do not."""

    def simulator_refusal(self, job: Job) -> str | None:
        """Say why ns-3's applications cannot do it, or None when they can."""
        del job
        return f"no application of ns-3 does a {self.name}: choose another workload"

    def simulator_traffic(self, job: Job) -> dict[str, Any]:
        """Give what ns-3's applications are to send, by the names of the simulation program.

        Raises:
            BackendError: ns-3's applications cannot do it.
        """
        raise BackendError(self.simulator_refusal(job))

    def simulator_records(self, job: Job, answer: Mapping[str, Any]) -> list[Record]:
        """Word what ns-3 saw as records; nothing where it did not come to its end.

        Args:
            job: what was asked.
            answer: FlowMonitor's sums, and times of the run's clock.

        Raises:
            BackendError: ns-3's applications cannot do it.
        """
        del answer
        raise BackendError(self.simulator_refusal(job))

    @abstractmethod
    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Say when the last end was done, as far as a run came; None where none was."""

    def http_archive(self, job: Job, records: Sequence[Record], title: str) -> HttpArchive | None:
        """Write a run as HAR has it, as far as it came; None where nothing came over HTTP."""
        del job, records, title
        return None

    def activity(self, job: Job, records: Sequence[Record]) -> Activity:
        """Arrange what it did by time, as far as a run came."""
        del job, records
        return Activity()
