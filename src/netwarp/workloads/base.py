"""The interface of a workload: what it needs, what it refuses, and how its results are read from
records.

Its study keys are those of a subclass of `WorkloadSection` (`section.py`).

A workload is a folder beside this file with a subclass of `Workload`, and a model in
`netwarp.wire.workload`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_args

from netwarp import wire
from netwarp.fields import Section
from netwarp.measure import select
from netwarp.measure.metric import Metric
from netwarp.measure.run_records import Arrival, ContentReader
from netwarp.wire import Exchange, Job, Record
from netwarp.workloads.activity import Activity
from netwarp.workloads.section import WorkloadSection

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
"""A function that returns the size of a file in bytes."""
W = TypeVar("W", bound=wire.Workload)


@dataclass(frozen=True)
class ServerCommand:
    """A command of a client that a server on another host is asked to run."""

    text: str
    """The command line."""
    port: int | None
    """Port at which a listening socket shows that the server is ready; None if any port does, or if
    another sign shows it.
    """


@dataclass(frozen=True)
class Reads:
    """The files of this machine that a run may read, as far as its job says."""

    texts: tuple[str, ...]
    """Texts, such as a shell's command line, that may name programs and files."""
    directory: str | None = None
    """Folder in which the programs start; they may read everything in it."""


@dataclass(frozen=True)
class Program:
    """A program of the host that runs may need, such as a browser."""

    name: str
    """Name of the program in messages."""
    names: tuple[str, ...]
    """Possible names of the program's executable, the preferred one first."""
    install: str
    """What the user can do to install the program."""


@dataclass(frozen=True)
class HttpArchive:
    """The load of a page as HAR 1.2: the page, and an entry for each resource."""

    page: Mapping[str, Any]
    entries: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Simulated(Generic[W]):
    """How ns-3's applications carry out a workload. Each function takes a job and the job's
    workload.
    """

    refusal: Callable[[Job, W], str | None]
    """Returns the reason why ns-3's applications cannot carry out the workload; None if they
    can.
    """
    traffic: Callable[[Job, W], dict[str, Any]]
    """Returns the parameters of ns-3's applications, by their names in the request to the
    simulation.
    """
    records: Callable[[Job, W, Mapping[str, Any]], list[Record]]
    """Converts the simulation's answer (FlowMonitor's sums, and times of the run's clock) to
    records; empty if the workload was not completed.
    """


class Workload(ContentReader, ABC, Generic[W]):
    """A kind of workload, such as `bulk`."""

    section: ClassVar[type[WorkloadSection]]
    """Model of the workload's section in a study. The type of its `kind` is a literal: the
    workload's name.
    """
    wire_type: type[W]
    """Wire model of the workload's part of a job."""
    metrics: ClassVar[tuple[Metric, ...]] = ()
    """Metrics that only this workload has."""
    simulated: Simulated[W] | None = None
    """The functions that convert the workload to and from ns-3's applications; None if ns-3 has
    none for it.
    """

    def own_metrics(self, job: Job) -> tuple[Metric, ...]:
        """Return the metrics that the study itself defines."""
        return ()

    def memory_bytes(self, job: Job) -> int:
        """Return the memory in bytes of a guest that runs the job."""
        return GUEST_MEMORY_BYTES

    @property
    def name(self) -> str:
        """The workload's name: the value of `kind`."""
        (name,) = get_args(self.section.model_fields["kind"].annotation)
        return str(name)

    @property
    def keys(self) -> Set[str]:
        """The keys of the workload's section in a study."""
        return {field.alias or name for name, field in self.section.model_fields.items()}

    def of(self, job: Job) -> W:
        """Return the workload part of a job, which must be of this kind.

        Raises:
            TypeError: the job has another workload.
        """
        if not isinstance(job.only.workload, self.wire_type):
            raise TypeError(f"{job.run} is not of the workload {self.name}")
        return job.only.workload

    def refuse_unused(self, given: Mapping[str, object], sections: Sequence[Section]) -> None:
        """Refuse keys of a workload that have no effect in any cell of a study.

        Args:
            given: the study's values by key, with all levels of a factor.
            sections: the workload sections of all cells.

        Raises:
            KeyValueError: a key has no effect; the error's key is relative to the section.
        """

    def with_file_size(self, workload: W, size_of: FileSize) -> W:
        """Return the workload with the size of the file that it sends, if it sends one.

        Raises:
            KeyValueError: the file cannot be sent; the error's key is the full dotted one.
        """
        return workload

    def content_bytes(self, job: Job) -> int | None:
        """Estimate the content that a run transfers, in bytes; None if it is not known in
        advance.
        """
        return None

    def messages(self, job: Job) -> int:
        """Return the number of separate messages; 0 if it is random, or the workload sends no
        messages.
        """
        return 0

    def server_refusal(self, job: Job) -> str | None:
        """Return the reason why a server refuses the workload from a client on another host; None
        if it accepts it.

        A server reads no files at another host's request, and runs no program but a
        `server_command` that its owner allows. A new workload is refused until it has been reviewed
        and overrides this.
        """
        return f"a server takes no workload of kind {self.name!r} from another host"

    def server_command(self, job: Job) -> ServerCommand | None:
        """Return the client's command that the server is to run, which the server's owner has to
        allow; None if there is none.
        """
        return None

    def real_path_refusal(self, job: Job) -> str | None:
        """Return the reason why the workload cannot be carried out over a path whose delay is
        unknown, such as one between two hosts; None if it can.
        """
        return None

    def most_content_bytes(self, job: Job) -> int:
        """Return an upper bound on the content that a run transfers, in bytes. A server on another
        host checks it before it accepts the run.
        """
        return self.content_bytes(job) or 0

    programs: ClassVar[tuple[Program, ...]] = ()
    """Programs of the host that the workload's runs may need."""

    def needed_programs(self, job: Job) -> Sequence[Program]:
        """Return the programs of the host that a run needs."""
        return ()

    def programs_cpu_s(self, job: Job) -> float:
        """Estimate the CPU time that a run's programs take, in s, besides that for transferring
        data.
        """
        return 0.0

    has_sockets_of_programs: ClassVar[bool] = False
    """Whether all sockets of the workload are made by programs to which netwarp passes no options
    of transports.
    """

    def runs_programs(self, job: Job) -> bool:
        """Return whether a run executes programs other than netwarp's.

        Outside of a guest such programs can write anywhere, and they repeat exactly only if they
        take no random numbers from the CPU.
        """
        return False

    def further_hosts(self, exchange: Exchange) -> tuple[str, ...]:
        """Return the hosts, besides client and server, on which the workload has programs."""
        return ()

    def reads(self, job: Job) -> Reads | None:
        """Return the files of this machine that a run may read; None if it reads none."""
        stacks = job.only.transport.stacks
        return Reads(tuple(each.program for each in stacks)) if stacks else None

    def real_time_refusal(self, job: Job) -> str | None:
        """Return the reason why the workload cannot be carried out in real time; None if it can."""
        return None

    def is_between_clocks(self, job: Job) -> bool:
        """Return whether the workload's times are differences between the clocks of two hosts, if
        each host has its own clock.
        """
        return job.direction == "up"

    content_records: ClassVar[tuple[str, ...]] = ()
    """Kinds of the workload's records from which the general metrics of times and rates are
    computed; empty if the workload has none of these metrics.
    """
    one_way_delay: ClassVar[str | None] = None
    """Name of the workload's metric of the one-way delay between the hosts; None if it has none."""

    def dials(self, job: Job) -> bool:
        """Return whether netwarp itself opens the connections, so that they are in the records."""
        return True

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return the time at which the client started, in ns of the run's clock."""
        return select.start_ns(records)

    @abstractmethod
    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return the complete objects that the receiver received (transfers, segments,
        resources).
        """

    @abstractmethod
    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the workload was completed, in ns of the run's clock, before connections are
        closed.
        """

    @abstractmethod
    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return how the records contradict a complete run, in words; None if they do not."""

    @abstractmethod
    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return the time at which both ends had finished, in ns of the run's clock, also for
        failed runs; None if it is not known.
        """

    def http_archive(self, job: Job, records: Sequence[Record], title: str) -> HttpArchive | None:
        """Convert a page load to HAR, also of a failed run; None if nothing was loaded over
        HTTP.
        """
        return None

    def activity(self, job: Job, records: Sequence[Record]) -> Activity:
        """Return what the workload did over time, for charts; also of a failed run."""
        return Activity()
