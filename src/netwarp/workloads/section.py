"""The study keys that all workloads have, and the properties of a workload that follow from its
keys.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from netwarp import wire
from netwarp.fields import DurationNs, Section
from netwarp.wire import Direction, Resume, TransportKind

FileReader = Callable[[str], Mapping[str, Any]]
"""Reads a file or folder into a table, which replaces the name in the study. The table has a
`label`, and all that runs need.

Raises:
    UnreadableFileError: it cannot be read.
    KeyValueError: its contents are invalid; the error's key is None.
"""


class WorkloadSection(Section):
    """The ``[workload]`` section: the keys that all workloads have."""

    kind: str
    start_jitter_ns: DurationNs = Field(default=0, alias="start_jitter")
    """The client's start is delayed by a random time below this, uniformly distributed, drawn for
    each replicate and the same for all cells. Where nothing else is random, it makes replicates
    differ in their phase relative to the kernel's timer ticks (10 ms) and to events at fixed
    times. A network's clients begin in the order of these times, 2 to 3 µs apart at least: a
    hundred flows need more than 300 µs to have phases of their own."""
    relative_paths: ClassVar[Mapping[str, str | None]] = {}
    """Keys that name files or folders relative to the study's folder, with the default of each."""
    file_readers: ClassVar[Mapping[str, FileReader]] = {}
    """Those of `relative_paths` whose files are read together with the study, each with its
    reader.
    """

    may_send_small_packets: ClassVar[bool] = True
    """Whether workloads of the kind can fill a path with packets that are smaller than the MTU, but
    for bare acknowledgements."""
    compared_by: ClassVar[str] = "completion_time_s"
    """Metric that the figure of `netwarp compare` shows."""
    compared: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Levels that `netwarp compare` uses if no option sets any, because otherwise there would be
    nothing to compare.
    """
    compared_with: ClassVar[Mapping[str, Any]] = {}
    """Keys of the workload that `netwarp compare` sets, unless `--set` changes them."""
    compared_metrics: ClassVar[tuple[str, ...]] = ()
    """Metrics that are the answer of `netwarp compare`, the main one first; empty if they are the
    usual ones."""
    races_http: ClassVar[bool] = False
    """Whether `netwarp compare` compares versions of HTTP instead of transports; each version
    implies its transport."""
    again: ClassVar[Mapping[str, Any]] = {"transfers": 2}
    """Keys with which the workload transfers its content a second time in a run, so that the second
    time can resume the session of the first."""
    takes_losses: ClassVar[bool] = False
    """Whether the workload accepts a transport that does not retransmit lost packets."""
    uses_stream_both_ways: ClassVar[bool] = False
    """Whether one stream carries data in both directions at the same time."""
    follows_client: ClassVar[bool] = True
    """Whether the workload continues when the client moves to another path (a handover)."""

    @property
    @abstractmethod
    def content_direction(self) -> Direction:
        """Direction of most bytes, for which queues and buffers are sized."""

    @property
    def lone_message_bytes(self) -> int | None:
        """Size in bytes of the workload's messages if they are one-way and independent, and may be
        lost; else None.
        """
        return None

    @property
    def datagrams_bytes(self) -> Mapping[str, int]:
        """Sizes in bytes of the workload's messages that are one datagram each over a transport
        without streams, by study key.
        """
        return {}

    def has_packets_below(self, payload_bytes: int) -> bool:
        """Return whether the workload fills a path with packets of a smaller payload than this."""
        return self.may_send_small_packets

    @property
    def dials_again(self) -> bool:
        """Whether the workload opens further connections during a run, even without handovers."""
        return False

    @property
    def must_be_alone(self) -> bool:
        """Whether the workload must be the only one of a run."""
        return False

    @property
    def takes_networks(self) -> bool:
        """Whether the workload's client and server can be any two hosts of a network; by default,
        if it may share a run.
        """
        return not self.must_be_alone

    @property
    def further_hosts(self) -> tuple[str, ...]:
        """Names of the hosts of a network that the workload needs besides those of its client and
        its server.
        """
        return ()

    @property
    def runners_case(self) -> str | None:
        """The test case of the QUIC interop runner that the workload carries out; None if it
        carries out none.
        """
        return None

    @property
    def has_table(self) -> bool:
        """Whether a run writes a table of its messages (`packets.csv`) beside its records."""
        return False

    @property
    def least_ns(self) -> int:
        """Minimum time in ns that the workload lasts, as far as its keys determine it."""
        return 0

    @property
    def breaks_off(self) -> bool:
        """Whether the workload is aborted after a given time, complete or not."""
        return False

    @property
    def most_streams(self) -> int | None:
        """Maximum number of streams that the workload opens on one connection; None if it opens one
        for each part of its content.
        """
        return None

    @property
    def merges(self) -> bool:
        """Whether the receiver concatenates the parts that it receives into one file."""
        return False

    @property
    def confirms_parts(self) -> bool:
        """Whether the receiver confirms each part of the content to the sender as soon as it has
        arrived.
        """
        return True

    @property
    def fills_ns(self) -> int | None:
        """Time in ns for which the workload sends at full rate; None if it has a given size or
        rate.
        """
        return None

    def filled(self, job: wire.Workload, size_bytes: int) -> wire.Workload:
        """Return the workload part of the job with a content that is too large to be transferred
        within `fills_ns`.
        """
        return job

    @property
    def usual_transport(self) -> TransportKind | None:
        """The transport that is used if the study names none; None if a study must name one."""
        return None

    def parts(self, streams: int | None) -> int:
        """Return the number of parts of the content that are transferred concurrently.

        Args:
            streams: number of streams of an SCTP association, if the study sets it.
        """
        return 1

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse a workload that cannot be completed within a run.

        Args:
            limit_ns: limit of the run's virtual time in ns, after which the run fails.
            parts: see `parts`.

        Raises:
            KeyValueError: it cannot be completed; the error's key is the full dotted one.
        """

    def refuse_transport(self, kind: TransportKind, *, moves: bool) -> None:
        """Refuse a transport that the workload cannot use.

        Args:
            kind: the transport.
            moves: whether the client moves between paths.

        Raises:
            KeyValueError: it cannot use it; the error's key is the full dotted one.
        """

    def refuse_resume(self, kind: TransportKind, resume: Resume) -> None:
        """Refuse a way of session resumption that the workload cannot use over a transport.

        Raises:
            KeyValueError: it cannot use it; the error's key is the full dotted one.
        """

    @abstractmethod
    def job(self, parts: int) -> wire.Workload:
        """Return the workload part of the job. Its seeds are 0 until the plan replaces them."""
