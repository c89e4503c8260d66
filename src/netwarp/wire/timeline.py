"""The timeline of a job: the events of the paths during the run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import DETAIL, INSIDE, U32, U64, Asks, Direction, Meaning, Wire

CHANGES = Asks("a timeline of the path")
MOVES = Asks("a client that moves between paths")


class Timeline(Wire):
    """The events of the paths during a run.

    If changes are due at the same time, events are applied first, then redraws, then traces, each
    in the order given.
    """

    events: Annotated[tuple[Event, ...], INSIDE] = Field(strict=False)
    """Single events, in order of time."""
    redraws: Annotated[tuple[Redraw, ...], CHANGES] = Field(strict=False)
    """Delays that change at random, periodically."""
    traces: Annotated[tuple[Trace, ...], CHANGES] = Field(strict=False)
    """Rates that follow a trace."""

    @property
    def is_empty(self) -> bool:
        """Whether there are no events, redraws or traces."""
        return not (self.events or self.redraws or self.traces)

    @property
    def has_handovers(self) -> bool:
        """Whether the client moves between paths."""
        return any(isinstance(event.change, Attach | Detach) for event in self.events)

    def of_path(self, index: int) -> Timeline:
        """Return the events of one path, as the timeline of a job that has only this path."""
        return Timeline.of_checked(
            {
                name: tuple(
                    each.model_copy(update={"path": 0})
                    for each in getattr(self, name)
                    if each.path == index
                )
                for name in Timeline.model_fields
            }
        )


class Event(Wire):
    """A change of a path at a given time."""

    at_ns: Annotated[U64, DETAIL]
    """When the event occurs, in nanoseconds after the run's epoch."""
    path: Annotated[U32, DETAIL]
    """Index of the path."""
    change: Annotated[Change, CHANGES]
    """The change that the event makes."""


class Outage(Wire):
    """Both directions drop every packet from now on; neither host is notified."""

    kind: Literal["outage"]
    """Always `outage`."""


class Restore(Wire):
    """Both directions are restored to their state before the outage."""

    kind: Literal["restore"]
    """Always `restore`."""


class Delay(Wire):
    """From now on, packets that arrive are delayed by these times.

    They may be reordered if no rate keeps them in order.
    """

    kind: Literal["delay"]
    """Always `delay`."""
    down_ns: Annotated[U64, DETAIL]
    """One-way delay from server to client."""
    up_ns: Annotated[U64, DETAIL]
    """One-way delay from client to server."""


class Rate(Wire):
    """The shaper of a direction changes its rate. It applies to packets whose transmission begins
    from now on.
    """

    kind: Literal["rate"]
    """Always `rate`."""
    direction: Annotated[Direction, DETAIL]
    """The direction whose rate changes."""
    rate_bit_s: Annotated[U64, DETAIL]
    """The rate from now on; at 0 nothing is sent."""


class Attach(Wire):
    """The client gets its address on this path, prefers it from now on, and is notified."""

    kind: Annotated[Literal["attach"], MOVES]
    """Always `attach`."""


class Detach(Wire):
    """The client loses its address on this path, and the path drops every packet that comes to it:
    those on their way still arrive.
    """

    kind: Annotated[Literal["detach"], MOVES]
    """Always `detach`."""


Change = Annotated[
    Outage | Restore | Delay | Rate | Attach | Detach,
    Field(discriminator="kind"),
    Meaning("A change of a path."),
]


class Redraw(Wire):
    """Periodic random changes of a path's delay, drawn from a normal distribution that is cut at
    0.
    """

    path: Annotated[U32, DETAIL]
    """Index of the path."""
    period_ns: Annotated[int, Field(ge=1, lt=2**64), DETAIL]
    """Time between draws; the first is made at the run's epoch."""
    mean_ns: Annotated[U64, DETAIL]
    """Mean of the round-trip time, half of which goes to each direction."""
    deviation_ns: Annotated[U64, DETAIL]
    """Standard deviation of the round-trip time."""
    seed: Annotated[U64, DETAIL]
    """Seed of the draws."""


class Trace(Wire):
    """A trace that the rate of one direction of a path follows, and that repeats when it ends."""

    path: Annotated[U32, DETAIL]
    """Index of the path."""
    direction: Annotated[Direction, DETAIL]
    """The direction whose rate follows the trace."""
    step_ns: Annotated[int, Field(ge=1, lt=2**64), DETAIL]
    """How long each rate is in force."""
    rates_bit_s: Annotated[tuple[U64, ...], DETAIL] = Field(min_length=1, strict=False)
    """The rates from the run's epoch on, one for each step; at 0 nothing is sent."""
