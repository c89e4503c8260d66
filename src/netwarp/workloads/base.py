"""The interface of a workload: its study keys, its jobs, and how its records are read.

A workload is a folder beside this file with a subclass of `Workload`, and a model in
`netwarp.wire.workload`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_args

from pydantic import Field

from netwarp import wire
from netwarp.fields import DurationNs, Section
from netwarp.measure import select
from netwarp.measure.metric import Metric
from netwarp.measure.run_records import Arrival, ContentReader
from netwarp.wire import Direction, Job, Record, Resume, TransportKind
from netwarp.workloads.activity import Activity

GUEST_MEMORY_BYTES = 1 << 30
"""Memory in bytes of a guest that runs only netwarp's own programs."""
NO_PROGRAMS = (
    "it runs programs, and a server runs none by another host's word: use the virtual backend"
)
NO_FILES = (
    "it sends files, and a server reads none by another host's word: give the workload a size, or"
    " use the virtual backend"
)
"""Reason why a server refuses a workload of another host."""
FileSize = Callable[[str], int]
"""Returns the size of a file in bytes."""
FileReader = Callable[[str], Mapping[str, Any]]
"""Reads a file or folder into a table that replaces its name in the study; the table has a `label`,
and all that runs need.

Raises:
    UnreadableFileError: it cannot be read.
    KeyValueError: its contents are invalid; the key is None.
"""
W = TypeVar("W", bound=wire.Workload)


@dataclass(frozen=True)
class ServerCommand:
    """A command of a client that a server is to run."""

    text: str
    """The text of the command."""
    port: int | None
    """The port whose opening is waited for; None for any, or for another sign."""


class WorkloadSection(Section):
    """The ``[workload]`` section: the keys that all workloads have."""

    kind: str
    start_jitter_ns: DurationNs = Field(default=0, alias="start_jitter")
    """The client's start is delayed by a random time below this, uniformly distributed, drawn for
    each replicate and the same for all cells. Where nothing else is random, it makes replicates
    differ in their phase relative to the kernel's timer ticks (10 ms) and to events at fixed
    times."""
    relative_paths: ClassVar[Mapping[str, str | None]] = {}
    """Keys that name files or folders relative to the study's folder, with the default of each."""
    file_readers: ClassVar[Mapping[str, FileReader]] = {}
    """Those of these keys whose files are read with the study, each with its reader."""

    compared_by: ClassVar[str] = "completion_time_s"
    """Metric that the figures of `netwarp compare` show."""
    compared: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Levels that are used if no option sets any, because otherwise there is nothing to compare."""
    races_http: ClassVar[bool] = False
    """Whether versions of HTTP are compared instead of transports; each implies its transport."""
    again: ClassVar[Mapping[str, Any]] = {"transfers": 2}
    """Keys that repeat it within a run, so that the second time can resume the first's session."""
    takes_losses: ClassVar[bool] = False
    """Whether a transport that does not retransmit can carry it."""
    uses_stream_both_ways: ClassVar[bool] = False
    """Whether one stream carries data in both directions at the same time."""
    follows_client: ClassVar[bool] = True
    """Whether it continues when the client moves to another path."""

    @property
    @abstractmethod
    def content_direction(self) -> Direction:
        """Direction of most bytes, for which queues and buffers are sized."""

    @property
    def lone_message_bytes(self) -> int | None:
        """Size in bytes of independent one-way messages, which may be lost, or None."""
        return None

    @property
    def dials_again(self) -> bool:
        """Whether it opens further connections during a run, handovers aside."""
        return False

    @property
    def is_alone(self) -> bool:
        """Whether it must be the only workload of a run."""
        return False

    @property
    def runners_case(self) -> str | None:
        """The QUIC interop runner's test case that it carries out, if it does one."""
        return None

    @property
    def has_table(self) -> bool:
        """Whether a run writes a table of its messages (`packets.csv`) beside its records."""
        return False

    @property
    def least_ns(self) -> int:
        """Least time in ns from its start to its end, as far as its keys determine it."""
        return 0

    @property
    def breaks_off(self) -> bool:
        """Whether it is aborted after a given time, complete or not."""
        return False

    @property
    def most_streams(self) -> int | None:
        """Largest number of streams of one connection that it opens; None where it opens as many
        as it has parts.
        """
        return None

    @property
    def merges(self) -> bool:
        """Whether the receiver writes what arrives to one file."""
        return False

    @property
    def confirms_parts(self) -> bool:
        """Whether each part of a content is confirmed by itself."""
        return True

    @property
    def fills_ns(self) -> int | None:
        """Time in ns for which it sends at full rate; None if it has a size or a rate."""
        return None

    def filled(self, job: wire.Workload, size_bytes: int) -> wire.Workload:
        """Return its job with a content that is too large to be transferred in its time."""
        return job

    @property
    def usual_transport(self) -> TransportKind | None:
        """The transport if the study names none; None if the study has to name one."""
        return None

    def parts(self, streams: int | None) -> int:
        """Return the number of parts of the content that are transferred concurrently.

        Args:
            streams: streams of an association, if the study sets them.
        """
        return 1

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse a workload that cannot be completed within a run.

        Args:
            limit_ns: limit of the run's virtual time; the run fails beyond it.
            parts: see `parts`.

        Raises:
            KeyValueError: refused; the key is the full dotted one.
        """

    def refuse_transport(self, kind: TransportKind, *, moves: bool) -> None:
        """Refuse a transport that cannot carry it.

        Args:
            kind: the transport.
            moves: whether the client moves between paths.

        Raises:
            KeyValueError: refused; the key is the full dotted one.
        """

    def refuse_resume(self, kind: TransportKind, resume: Resume) -> None:
        """Refuse a way of resumption that it cannot use over a transport.

        Raises:
            KeyValueError: refused; the key is the full dotted one.
        """

    @abstractmethod
    def job(self, parts: int) -> wire.Workload:
        """Return the workload part of the job, with seeds of 0."""


@dataclass(frozen=True)
class Reads:
    """The files of this machine that a run reads, as far as its job names them."""

    texts: tuple[str, ...]
    """Texts, such as a shell's command line, that may name programs and files."""
    directory: str | None = None
    """Folder in which programs start, and of which they may read anything."""


@dataclass(frozen=True)
class Program:
    """A program of the host that runs may need."""

    name: str
    """Name of the program for messages."""
    names: tuple[str, ...]
    """Names of its executable, the preferred one first."""
    install: str
    """How to install it."""


@dataclass(frozen=True)
class HttpArchive:
    """A run in HAR 1.2: a page, and its entries."""

    page: Mapping[str, Any]
    entries: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Simulated(Generic[W]):
    """The implementation of a workload by ns-3's applications. Each function takes a job, and its
    workload.
    """

    refusal: Callable[[Job, W], str | None]
    """Returns the reason why they cannot carry it out; None when they can."""
    traffic: Callable[[Job, W], dict[str, Any]]
    """Returns their parameters, by the names of the simulation program."""
    records: Callable[[Job, W, Mapping[str, Any]], list[Record]]
    """Converts the simulation's answer (FlowMonitor's sums, and times of the run's clock) to
    records; empty if it did not complete.
    """


class Workload(ContentReader, ABC, Generic[W]):
    """A kind of workload, such as `bulk`."""

    section: ClassVar[type[WorkloadSection]]
    """Model of its study section, whose `kind` is a literal of its name."""
    wire_type: type[W]
    """Wire model of its part of a job."""
    metrics: ClassVar[tuple[Metric, ...]] = ()
    """Metrics that only this workload has."""
    simulated: Simulated[W] | None = None
    """The implementation by ns-3's applications; None if there is none."""

    def own_metrics(self, job: Job) -> tuple[Metric, ...]:
        """Return the metrics that the study itself defines."""
        return ()

    def memory_bytes(self, job: Job) -> int:
        """Return the memory in bytes of a guest that runs it."""
        return GUEST_MEMORY_BYTES

    @property
    def name(self) -> str:
        """Its name: the value of `kind`."""
        (name,) = get_args(self.section.model_fields["kind"].annotation)
        return str(name)

    def of(self, job: Job) -> W:
        """Return the workload part of a job, which must be of this kind.

        Raises:
            TypeError: the job has another workload.
        """
        if not isinstance(job.only.workload, self.wire_type):
            raise TypeError(f"{job.run} is not of the workload {self.name}")
        return job.only.workload

    def refuse_unused(self, given: Mapping[str, object], sections: Sequence[Section]) -> None:
        """Refuse keys that have no effect in any cell of a study.

        Args:
            given: levels and values by key.
            sections: the workload sections of all cells.

        Raises:
            KeyValueError: with a key relative to the section.
        """

    def with_file_size(self, workload: W, size_of: FileSize) -> W:
        """Fill in the size of the file that is sent, if there is one.

        Raises:
            KeyValueError: the file cannot be sent; the key is the full dotted one.
        """
        return workload

    def content_bytes(self, job: Job) -> int | None:
        """Estimate the content of a run in bytes; None where it is not known in advance."""
        return None

    def messages(self, job: Job) -> int:
        """Return the number of separate messages; 0 for other content, and where it is random."""
        return 0

    def server_refusal(self, job: Job) -> str | None:
        """Return the reason why a server refuses it from a client on another host; None where it
        accepts.

        A server reads no files at another host's request, and runs no program but a
        `server_command` that its owner allows. A new workload is refused until it has been reviewed
        and overrides this.
        """
        return f"a server takes no workload of kind {self.name!r} from another host"

    def server_command(self, job: Job) -> ServerCommand | None:
        """Return the command that the server's host is to run for the client, which its owner has
        to allow; None if there is none.
        """
        return None

    def real_path_refusal(self, job: Job) -> str | None:
        """Return the reason why it cannot be carried out over a path whose delay is unknown, as
        between two hosts; None when it can.
        """
        return None

    def most_content_bytes(self, job: Job) -> int:
        """Return the most content in bytes that a run can transfer, for a server that accepts
        it.
        """
        return self.content_bytes(job) or 0

    programs: ClassVar[tuple[Program, ...]] = ()
    """Programs of the host that its runs may need."""

    def needed_programs(self, job: Job) -> Sequence[Program]:
        """Return the programs of the host that a run needs."""
        return ()

    def programs_cpu_s(self, job: Job) -> float:
        """Estimate the CPU time of a run's programs in s, data transfer not counted."""
        return 0.0

    def runs_programs(self, job: Job) -> bool:
        """Return whether a run executes programs other than netwarp's. Outside of a guest these can
        write anywhere, and they repeat exactly only if they take no random numbers from the CPU.
        """
        return False

    def reads(self, job: Job) -> Reads | None:
        """Return the files of this machine that a run reads; None if it reads none."""
        stacks = job.only.transport.stacks
        return Reads(tuple(each.program for each in stacks)) if stacks else None

    def real_time_refusal(self, job: Job) -> str | None:
        """Return the reason why it cannot be carried out in real time; None where it can."""
        return None

    def is_between_clocks(self, job: Job) -> bool:
        """Return whether its times are differences between two hosts' clocks, if hosts have their
        own.
        """
        return job.direction == "up"

    content_records: ClassVar[tuple[str, ...]] = ()
    """Kinds of the records of the content that it transfers, of which times and rates are computed;
    empty if only its own metrics are.
    """
    one_way_delay: ClassVar[str | None] = None
    """Metric of the delay from one host to the other that it measures, if it measures one."""

    def dials(self, job: Job) -> bool:
        """Return whether netwarp itself opens the connections, so that they are in the records."""
        return True

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return the time at which the client started, in ns of the run's clock."""
        return select.start_ns(records)

    @abstractmethod
    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return the complete objects that the receiver got (transfers, segments, resources)."""

    @abstractmethod
    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return the time of completion, in ns of the run's clock, before connections are
        closed.
        """

    @abstractmethod
    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Describe how the records contradict a complete run; None if they do not."""

    @abstractmethod
    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return the time in ns at which the last end finished, or None; also of failed runs."""

    def http_archive(self, job: Job, records: Sequence[Record], title: str) -> HttpArchive | None:
        """Convert a run to HAR, also a failed one; None where nothing was loaded over HTTP."""
        return None

    def activity(self, job: Job, records: Sequence[Record]) -> Activity:
        """Return its activity over time, also of a failed run."""
        return Activity()
