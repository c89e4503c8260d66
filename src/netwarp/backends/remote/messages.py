"""The messages between the two hosts: JSON objects, each preceded by its length. Pure.

On the wire a message is its length in bytes (4 bytes, big endian) and its text. A reader refuses a
message that is too long before it reads it, and one that matches none of these models.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from netwarp.wire.base import U32, U64, Ratio
from netwarp.wire.delivered import Calibration, Imposed

PROTOCOL_VERSION = 5
LENGTH_BYTES = 4
MOST_BYTES = 8 << 20
"""Maximum size in bytes of a message between paired hosts: large enough for a record of a run."""
MOST_BYTES_OF_STRANGERS = 16 << 10
"""Maximum size in bytes of a message from a host that is not paired yet: large enough for a
certificate."""
TRAIN_PACKETS_AT_MOST = 256

Text = Annotated[str, StringConstraints(max_length=4096)]
Pem = Annotated[str, StringConstraints(max_length=8192)]
Token = Annotated[str, StringConstraints(pattern="^[0-9a-f]{16}$")]
ProbeToken = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")]
Proof = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class MessageError(ValueError):
    """The peer sent something that is not a message of this protocol."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Pair(_Message):
    """Message: the client asks to be paired, and proves that it has the server's one-time token."""

    message: Literal["pair"] = "pair"
    certificate: Pem
    """The client's certificate, PEM."""
    proof: Proof


class Hello(_Message):
    """Message: the client introduces itself, once the server has found its certificate among
    its peers.
    """

    message: Literal["hello"] = "hello"
    version: U32
    endpoint: Text
    """Version of the sender's endpoint."""


class OpenProbe(_Message):
    """Message: the client is about to measure the path, with datagrams that contain this token."""

    message: Literal["open_probe"] = "open_probe"
    token: ProbeToken


class CloseProbe(_Message):
    """Message: the client has sent all datagrams of its measurement."""

    message: Literal["close_probe"] = "close_probe"


class Run(_Message):
    """Message: the client asks for a run."""

    message: Literal["run"] = "run"
    job: str
    """The text of `job.json`."""


class Begin(_Message):
    """Message: the client orders the server's role to begin."""

    message: Literal["begin"] = "begin"
    epoch_ns: U64
    """Zero of the run's clock, in nanoseconds of the server's `CLOCK_MONOTONIC`."""


class Finish(_Message):
    """Message: the client will open no more connections."""

    message: Literal["finish"] = "finish"


class Stop(_Message):
    """Message: the client aborts the run."""

    message: Literal["stop"] = "stop"


class Lift(_Message):
    """Message: the client asks the server to remove the impairments of the last run."""

    message: Literal["lift"] = "lift"


class Paired(_Message):
    """Message: the server has stored the client's certificate, and proves that it made
    the token.
    """

    message: Literal["paired"] = "paired"
    proof: Proof


class Refused(_Message):
    """Message: the server refuses a request."""

    message: Literal["refused"] = "refused"
    reason: Text


class Welcome(_Message):
    """Message: the server describes itself."""

    message: Literal["welcome"] = "welcome"
    version: U32
    netwarp: Text
    endpoint: Text
    """Version of the sender's endpoint."""
    endpoint_sha256: Text
    kernel: Text
    cpu: Text
    cores: U32
    data_port: Annotated[int, Field(ge=1, le=65535)]
    lacks: dict[str, Text]
    """Reasons why the server's kernel lacks protocols: `HostCapabilities.missing_protocols`."""
    congestion: list[Text]
    """TCP congestion controls that the server may choose for a run."""
    socket_buffer_bytes: U64
    """Largest buffer that a UDP or SCTP socket is granted."""
    tcp_buffer_bytes: U64
    """Largest buffer that TCP grows to: the smaller maximum of `tcp_rmem` and `tcp_wmem`."""
    missing_imposing: Text | None
    """Reason why the server cannot impair packets from this client; null if it can."""
    offloads: list[Text]
    """Offloads that are on at the server's network device towards this client."""
    tcp_congestion: Text
    """TCP congestion control of programs that do not choose one."""
    command_ports_from: U32 | None
    """The first port at which commands may listen; null if the server's owner allows no
    commands.
    """


class Probing(_Message):
    """Message: the server is ready to receive the datagrams of the probe."""

    message: Literal["probing"] = "probing"
    busy: Ratio | None
    """Share of the CPU time of the server that was used since the last probe; null in the first
    one."""


class Probed(_Message):
    """Message: the server reports which datagrams of the probe arrived."""

    message: Literal["probed"] = "probed"
    echoes: U32
    """Number of distinct echoes that arrived at the server."""
    train_ns: Annotated[list[U64], Field(max_length=TRAIN_PACKETS_AT_MOST)]
    """Arrival times of the train's packets by the kernel's clock, in ns after the first of them."""


class Running(_Message):
    """Message: the server has started its role, which waits for the order to begin."""

    message: Literal["running"] = "running"
    token: Token
    """Token that begins every request of the run's connections."""


class Said(_Message):
    """Message: the server passes on a message of its role (`docs/role-protocol.md`)."""

    message: Literal["said"] = "said"
    line: str


class Ended(_Message):
    """Message: the server reports that its role has ended."""

    message: Literal["ended"] = "ended"
    how: Text | None
    """Reason of the role's failure; null if it succeeded."""


class Lifted(_Message):
    """Message: the server has removed the impairments of the last run."""

    message: Literal["lifted"] = "lifted"
    imposed: Imposed | None
    """The impairment that was in force in the last run; null if there was none."""
    calibration: Calibration | None
    """Number of packets that were received and dropped; null if nothing was impaired."""
    failure: Text | None
    """Reason why the impairments were not what they should have been; null if they were."""


FromClient = Annotated[
    Pair | Hello | OpenProbe | CloseProbe | Run | Begin | Finish | Stop | Lift,
    Field(discriminator="message"),
]
FromServer = Annotated[
    Paired | Refused | Welcome | Probing | Probed | Running | Said | Ended | Lifted,
    Field(discriminator="message"),
]
Message = (
    Pair | Hello | OpenProbe | CloseProbe | Run | Begin | Finish | Stop | Lift
    | Paired | Refused | Welcome | Probing | Probed | Running | Said | Ended | Lifted
)  # fmt: skip
Sender = Literal["client", "server"]
_DEFERRED = ConfigDict(defer_build=True)
_BY_SENDER: dict[Sender, TypeAdapter[Message]] = {
    "client": TypeAdapter(FromClient, config=_DEFERRED),
    "server": TypeAdapter(FromServer, config=_DEFERRED),
}


def encode(message: Message) -> bytes:
    """Encode a message, preceded by its length.

    Raises:
        MessageError: it is longer than a message may be.
    """
    text = message.model_dump_json().encode()
    if len(text) > MOST_BYTES:
        raise MessageError(f"a message of {len(text)} bytes is longer than {MOST_BYTES}")
    return len(text).to_bytes(LENGTH_BYTES, "big") + text


def take(buffer: bytearray, sender: Sender, most_bytes: int) -> Message | None:
    """Remove the first message from the bytes that have arrived; None while it is incomplete.

    Args:
        buffer: the bytes received so far; those of the returned message are removed.
        sender: who sent them.
        most_bytes: the longest message that this sender may send at present.

    Raises:
        MessageError: the bytes are not a message of the protocol.
    """
    if len(buffer) < LENGTH_BYTES:
        return None
    length = int.from_bytes(buffer[:LENGTH_BYTES], "big")
    if not 0 < length <= most_bytes:
        raise MessageError(f"a message of {length} bytes; 1 to {most_bytes} are allowed")
    if len(buffer) < LENGTH_BYTES + length:
        return None
    text = bytes(buffer[LENGTH_BYTES : LENGTH_BYTES + length])
    del buffer[: LENGTH_BYTES + length]
    try:
        return _BY_SENDER[sender].validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        # Only the error's type is shown: its text could contain what the peer sent.
        raise MessageError(f"no message of the protocol ({first['type']})") from None
