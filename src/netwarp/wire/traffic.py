"""The workload `traffic` of a job, and its record: many transfers of random sizes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U64, Direction, Ratio, Wire
from netwarp.wire.flow import Arrivals


class Traffic(Wire):
    """Flows from the server to the client, each over a separate connection, which the client opens
    when the flow is due, whether or not earlier flows are complete.
    """

    kind: Literal["traffic"]
    """Always `traffic`."""
    seed: U64
    """Seed of the flows' sizes, and of their start times if these are random."""
    flows: Annotated[int, Field(ge=1, lt=2**32)]
    """Number of flows."""
    arrivals: Arrivals
    """The process that determines when flows are due."""
    sizes: tuple[SizePoint, ...] = Field(min_length=2, strict=False)
    """Points of the cumulative distribution of the flows' sizes, in order. Between them it is
    linear."""

    @property
    def direction(self) -> Direction:
        """Direction of the content: down."""
        return "down"


class SizePoint(Wire):
    """A point of a cumulative distribution of sizes."""

    size_bytes: Annotated[int, Field(ge=1, lt=2**64)]
    """A flow size, in bytes."""
    ratio: Ratio
    """The share of flows that are not larger; 0 at the first point, 1 at the last."""


class FlowTable(Wire):
    """The flows of a `traffic` workload in the order in which they were due, as columns: numbers
    with the same index belong to the same flow.
    """

    record: Literal["flow_table"]
    """Always `flow_table`."""
    due_ns: tuple[U64, ...] = Field(strict=False)
    """When each flow was due, and its client began to connect."""
    size_bytes: tuple[U64, ...] = Field(strict=False)
    """Size of each flow's content."""
    completed_ns: tuple[U64, ...] = Field(strict=False)
    """When the last byte of each flow had arrived."""
