"""The job, which the planner passes to the endpoint as one JSON object.

All values are resolved: a job has no defaults, no units in strings, and nothing that is still to be
drawn at random.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import Field, ValidationError
from pydantic_core import from_json

from netwarp.errors import RecordError
from netwarp.wire.base import (
    DETAIL,
    INSIDE,
    JOB_FORMAT,
    U16,
    U64,
    Asks,
    Direction,
    Wire,
    first_error,
)
from netwarp.wire.network import Ends, Network, path_between
from netwarp.wire.path import Path
from netwarp.wire.timeline import Timeline
from netwarp.wire.transport import Transport
from netwarp.wire.workload import Workload


class Job(Wire):
    """The description of one run, with all values as numbers."""

    format: Annotated[Literal[2], DETAIL]
    """Version of the job's format."""
    run: Annotated[str, DETAIL]
    """Name of the run in messages, such as `c003-r01`."""
    seed: Annotated[U64, DETAIL]
    """Seed of the endpoint's own random numbers; each path has its own seed."""
    paths: Annotated[tuple[Path, ...], INSIDE] = Field(min_length=1, strict=False)
    """The paths, with one router each. The first is used unless the transport can use several."""
    workloads: Annotated[tuple[Exchange, ...], INSIDE] = Field(min_length=1, strict=False)
    """The workloads, which share the paths. Each role gets a job with its own workload only."""
    timeline: Annotated[Timeline, INSIDE]
    """The events of the paths during the run."""
    capture: Annotated[bool, Asks("a capture")]
    """Write a packet capture of the routers' links to the run directory."""
    sampling: Annotated[Sampling | None, DETAIL]
    """How often queues and connections are sampled; null for never."""
    limits: Annotated[Limits, DETAIL]
    """Limits beyond which the run is ended as failed."""
    kernel: Annotated[str | None, Asks("a guest kernel by its name")] = None
    """The guest kernel, by a version or the name of its build; null for the machine's default."""
    network: Annotated[Network | None, Asks("a network of several hosts")] = None
    """The network of the run, whose links are the job's paths; null if each path leads from the
    only client over a separate router to the only server."""

    @property
    def only(self) -> Exchange:
        """Return the only workload of a job.

        Raises:
            ValueError: the job has several.
        """
        (only,) = self.workloads
        return only

    @property
    def each_alone(self) -> tuple[Job, ...]:
        """Return the job of each of the run's workloads, as if it were alone on the path (in a
        network: on the links between its client and its server).
        """
        return tuple(self._alone(each) for each in self.workloads)

    def _alone(self, one: Exchange) -> Job:
        """Return the job of one workload, as if it were alone."""
        if self.network is None or one.ends is None:
            return self.model_copy(update={"workloads": (one,)})
        slowest, path = path_between(self.network, self.paths, one.ends)
        timeline = self.timeline.of_path(slowest)
        own = {"workloads": (one,), "paths": (path,), "timeline": timeline, "network": None}
        return self.model_copy(update=own)

    @property
    def names_workloads(self) -> bool:
        """Whether records and metrics of the run contain the names of its workloads."""
        return any(each.name is not None for each in self.workloads)

    @property
    def direction(self) -> Direction:
        """Direction of the content; if there are several workloads, of the first one's."""
        return self.workloads[0].workload.direction

    def with_only(self, **changed: object) -> Job:
        """Return a copy of the job in which fields of its only workload have other values."""
        return self.model_copy(update={"workloads": (self.only.model_copy(update=changed),)})


class Exchange(Wire):
    """A workload over a transport, between its client and its server."""

    name: Annotated[str | None, DETAIL]
    """Name of the workload, in a study whose runs can have several."""
    port: Annotated[U16 | None, DETAIL]
    """The port on which the workload's server listens; null for the default port, if the run has
    one workload."""
    start_ns: Annotated[U64, DETAIL]
    """When the workload's client begins, in nanoseconds after the run's epoch. If its server is not
    ready by then, the client begins when it is."""
    transport: Annotated[Transport, DETAIL]
    """The transport and its options."""
    workload: Annotated[Workload, DETAIL]
    """The workload: which data is transferred, and when."""
    group: Annotated[str | None, DETAIL] = None
    """The name that the workload shares with others of the run; their records are evaluated
    together. Null if there are no others."""
    ends: Annotated[Ends | None, DETAIL] = None
    """The hosts of the workload's client and server; null in a job without a network."""


class Sampling(Wire):
    """How often queues and connections are sampled."""

    interval_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Time between two samples; if samples are thinned, the initial one."""
    is_thinned: bool
    """Whether later intervals are adapted to the number of packets, so that sampling costs little
    in comparison."""


class Limits(Wire):
    """Limits beyond which a run is ended as failed."""

    virtual_ns: U64
    """Time of the run's clock beyond which the run has failed."""


def job_to_json(job: Job) -> str:
    """Return a job as canonical JSON: sorted keys, one line. Equal jobs give equal text."""
    return json.dumps(job.to_json(), sort_keys=True, separators=(",", ":")) + "\n"


def job_sha256(job: Job) -> str:
    """Return the hash of a job without its name: runs with the same hash give the same
    measurements.
    """
    content = {key: value for key, value in job.to_json().items() if key != "run"}
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def job_from_json(text: str, source: str = "job") -> Job:
    """Parse a job; one in an earlier format is converted.

    Raises:
        RecordError: it is not a job; the message names ``source``.
    """
    try:
        return Job.model_validate_json(text)
    except ValidationError as error:
        todays = _in_todays_format(text)
        if todays is not None:
            return job_from_json(todays, source)
        reason = f"not a job of format {JOB_FORMAT}: {first_error(error)}"
        raise RecordError(f"{source}: {reason}") from None


def _in_todays_format(text: str) -> str | None:
    """Return a job of format 1 in today's format; None if the text is anything else.

    Such a job had its first workload's keys among its own, and further workloads in `competing`.
    """
    try:
        older = from_json(text)  # which bounds how deeply it is nested
        if older["format"] != 1:
            return None
        keys = [key for key, each in Exchange.model_fields.items() if each.is_required()]
        first = {key: older.pop(key) for key in keys}
        workloads = [first, *older.pop("competing")]
    except (ValueError, LookupError, TypeError):
        return None
    return json.dumps(older | {"format": JOB_FORMAT, "workloads": workloads})
