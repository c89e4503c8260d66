"""The job: what the planner hands the endpoint, as one JSON object.

Everything is resolved here: no defaults, no units in strings, no randomness left to draw.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from netwarp.errors import RecordError
from netwarp.wire.base import (
    DETAIL,
    FORMAT,
    INSIDE,
    U16,
    U64,
    Asks,
    Direction,
    Wire,
    first_error,
)
from netwarp.wire.path import Path
from netwarp.wire.timeline import Timeline
from netwarp.wire.transport import Transport
from netwarp.wire.workload import Workload


class Job(Wire):
    """One run, resolved to numbers."""

    format: Annotated[Literal[1], DETAIL]
    """Version of the wire format."""
    run: Annotated[str, DETAIL]
    """Name of the run in messages, such as `c003-r01`."""
    seed: Annotated[U64, DETAIL]
    """Seed of what the endpoint itself draws. The paths have their own seeds."""
    paths: Annotated[tuple[Path, ...], INSIDE] = Field(min_length=1, strict=False)
    """The paths, with one router each. The first is used unless the transport can use several."""
    transport: Annotated[Transport, DETAIL]
    """The transport and its options."""
    workload: Annotated[Workload, DETAIL]
    """The workload: what is sent."""
    start_ns: Annotated[U64, DETAIL]
    """When the client begins, in nanoseconds after the epoch, or when the server is ready if that
    is later."""
    name: Annotated[str | None, DETAIL]
    """Name of the workload, in a study whose runs can have several."""
    port: Annotated[U16 | None, DETAIL]
    """The port on which its server listens; null for the port of a server that is alone."""
    competing: Annotated[tuple[Competing, ...], Asks("several workloads")] = Field(strict=False)
    """Workloads that share the paths with it."""
    timeline: Annotated[Timeline, INSIDE]
    """The events of the paths during the run."""
    capture: Annotated[bool, Asks("a capture")]
    """Write a packet capture of the routers' links to the run directory."""
    sampling: Annotated[Sampling | None, DETAIL]
    """How often queues and connections are sampled; null for never."""
    limits: Annotated[Limits, DETAIL]
    """The limits at which the run is given up."""

    @property
    def direction(self) -> Direction:
        """Which way the content goes; of several workloads, the first one's."""
        return self.workload.direction

    @property
    def workloads(self) -> tuple[Job, ...]:
        """The job of each of the run's workloads, as if it were alone on the path."""
        first = self.model_copy(update={"competing": ()})
        others = (
            {name: getattr(each, name) for name in Competing.model_fields}
            for each in self.competing
        )
        return (first, *(first.model_copy(update=other) for other in others))


class Competing(Wire):
    """Another workload of the same run, with a server and a client of its own."""

    name: Annotated[str, DETAIL]
    """The workload's name."""
    port: Annotated[U16, DETAIL]
    """The port on which its server listens."""
    transport: Annotated[Transport, DETAIL]
    """The transport and its options."""
    workload: Annotated[Workload, DETAIL]
    """The workload: what is sent."""
    start_ns: Annotated[U64, DETAIL]
    """When its client begins, in nanoseconds after the epoch, or when its server is ready if that
    is later."""


class Sampling(Wire):
    """How often queues and connections are sampled."""

    interval_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Time between two samples; if samples are thinned, the initial one."""
    is_thinned: bool
    """Whether later intervals depend on the number of packets, so that sampling costs little
    compared with them."""


class Limits(Wire):
    """Limits at which a run is given up."""

    virtual_ns: U64
    """The time on the run's own clock at which the run has failed."""


def job_to_json(job: Job) -> str:
    """Write a job canonically: sorted keys, one line. Equal jobs give equal text."""
    return json.dumps(job.to_json(), sort_keys=True, separators=(",", ":")) + "\n"


def job_sha256(job: Job) -> str:
    """Hash what a run does, not what it is called: equal hashes give equal measurements."""
    content = {key: value for key, value in job.to_json().items() if key != "run"}
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def job_from_json(text: str, source: str = "job") -> Job:
    """Read a job.

    Raises:
        RecordError: not a job of this format; the message names ``source``.
    """
    try:
        return Job.model_validate_json(text)
    except ValidationError as error:
        raise RecordError(f"{source}: not a job of format {FORMAT}: {first_error(error)}") from None
