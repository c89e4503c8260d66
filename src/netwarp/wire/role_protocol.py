"""The messages between the orchestrator of a run and its two roles: orders to the roles, messages
from them.

A role reads orders from standard input and writes messages to descriptor 3, each as one JSON object
on a separate line. Standard output and standard error go to the console.

`docs/role-protocol.md` is written from these models. A role ignores keys that it does not know, so
that later versions may add some.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Meaning, Wire
from netwarp.wire.record import Failure, Record


class BeginOrder(Wire):
    """To both roles, as the first order: begin to work."""

    order: Literal["begin"]
    """Always `begin`."""
    epoch_ns: U64
    """The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`. All times in records count from it."""
    certificate: str | None
    """Hex DER of the server's certificate as it came with `ready`, for the client to trust; null
    for the server, and if there is none."""
    token: str | None
    """The first bytes of every request of the run, in hex, if hosts outside the run could reach the
    server; otherwise null. Runs over other implementations' stacks never have one."""


class AttachedOrder(Wire):
    """To the client: it now has an address on this path, and should prefer the path. Sent only in
    runs with `[path.handovers]`, which studies refuse for other people's stacks.
    """

    order: Literal["attached"]
    """Always `attached`."""
    path: U32
    """Index of the path."""


class DetachedOrder(Wire):
    """To the client: it has lost its address on this path. Sent only in runs in which `attached` is
    sent.
    """

    order: Literal["detached"]
    """Always `detached`."""
    path: U32
    """Index of the path."""


class FinishOrder(Wire):
    """To the server: the client has finished; report and exit. Do not wait for the client's last
    packet, which may have been lost.
    """

    order: Literal["finish"]
    """Always `finish`."""


Order = Annotated[
    BeginOrder | AttachedOrder | DetachedOrder | FinishOrder,
    Field(discriminator="order"),
    Meaning("An order of the orchestrator to a role."),
]


class ReadyMessage(Wire):
    """From the server: it listens, and a client may connect."""

    message: Literal["ready"]
    """Always `ready`."""
    certificate: str | None
    """Hex DER of the certificate that the role will present; null if it has none."""


class WriteMessage(Wire):
    """From both roles: a record, which is to be written to `records.jsonl` unchanged."""

    message: Literal["write"]
    """Always `write`."""
    line: Record
    """The record, which is one of those in `run-format.md`."""


class DoneMessage(Wire):
    """From both roles, as the last message: all work is done, and the role exits with status 0."""

    message: Literal["done"]
    """Always `done`."""


class FailedMessage(Wire):
    """From both roles, as the last message: the role has failed."""

    message: Literal["failed"]
    """Always `failed`."""
    failure: Failure
    """The reason. Its `stage` is the role's own name: `server` or `client`."""


Message = Annotated[
    ReadyMessage | WriteMessage | DoneMessage | FailedMessage,
    Field(discriminator="message"),
    Meaning("A message of a role to the orchestrator."),
]
