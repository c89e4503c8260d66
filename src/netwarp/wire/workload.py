"""The workload of a job: which data is transferred, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Direction, Extended, Meaning, Ratio, Wire
from netwarp.wire.command import Command
from netwarp.wire.flow import Flow, RequestResponse
from netwarp.wire.page import Page
from netwarp.wire.traffic import Traffic

Dial = Annotated[
    Literal["sequential", "parallel"],
    Meaning(
        "The order in which several connections are opened.",
        {
            "sequential": "One after another: each when the previous one is connected.",
            "parallel": "All connections at the same time.",
        },
    ),
]

Done = Annotated[
    Literal["chunk", "transfer"],
    Meaning(
        "How the sender learns that all content has arrived.",
        {
            "chunk": "The receiver answers each chunk with a byte on the chunk's stream.",
            "transfer": "The sender ends each stream after its chunk, and the receiver waits for "
            "these ends. When it has all content, it confirms that with a byte on an additional "
            "stream of the connection, or closes the connections if they have no streams.",
        },
    ),
]


class Bulk(Extended):
    """Content that is sent as fast as possible."""

    before: ClassVar[Mapping[str, object]] = {"merge": False, "done": "chunk"}

    kind: Literal["bulk"]
    """Always `bulk`."""
    direction: Direction
    """The direction of the content."""
    content: Content
    """The content that is sent."""
    verify: bool
    """Whether both ends hash the content; otherwise the receiver counts and discards it."""
    chunks: Annotated[int, Field(ge=1, lt=2**32)]
    """Number of chunks that are sent concurrently: chunk i over connection i, or over stream i of
    one connection if the transport has streams (`quic`; `sctp` with more than one)."""
    dial: Dial
    """Whether connections are opened one after another or all at once."""
    transfers: Annotated[int, Field(ge=1, lt=2**32)]
    """Number of times that the content is sent, on new connections each time; later ones may resume
    sessions of earlier ones."""
    merge: bool
    """Whether the receiver writes each chunk to a file, merges the files in order once its
    connections are closed, and compares the result with the sender's content. Otherwise the hashes
    of the chunks are compared."""
    done: Done
    """How the sender learns that all content has arrived."""
    duration_ns: U64 | None
    """Time after its start at which the client aborts; the content that has arrived by then is the
    result. Null: the content arrives completely."""
    case: InteropCase | None = None
    """The test case that programs with the interop runner's interface carry out; null for the case
    `transfer` with one file."""


class InteropCase(Wire):
    """A test case of the QUIC interop runner, as the values that the two programs get."""

    server: str
    """`TESTCASE` in the server's environment."""
    client: str
    """`TESTCASE` in the client's environment."""
    file_bytes: Annotated[tuple[U64, ...], Field(min_length=1, strict=False)]
    """Sizes of the files that the client requests. Together the files are the content."""
    name_bytes: U32
    """Length of each file's name, in characters."""
    certificates: U32
    """Number of certificates in the server's chain, without that of the certificate authority."""


ViewerClock = Annotated[
    Literal["play", "wall"],
    Meaning(
        "The clock that times a viewer's session.",
        {
            "play": "The time played: it stands still while nothing plays.",
            "wall": "The run's time since the client started, whether anything plays or not.",
        },
    ),
]


class Stream(Extended):
    """Adaptive streaming: a video in segments, each in several qualities, from which a player
    chooses.

    The viewer watches for `watch_ns`, and may seek at every full second.
    """

    before: ClassVar[Mapping[str, object]] = {"viewer_clock": "play"}

    kind: Literal["stream"]
    """Always `stream`."""
    seed: U64
    """Seed of the video's bytes."""
    segments: Annotated[int, Field(ge=1, lt=2**32)]
    """Length of the video in segments."""
    segment_ns: U64
    """Play time of each segment."""
    qualities: tuple[Quality, ...] = Field(min_length=1, strict=False)
    """The qualities of the video, lowest first."""
    rule: Rule
    """The rule by which the player chooses a quality."""
    viewer_clock: ViewerClock
    """The clock by which the viewer counts time, for seeks and for the session's length."""
    watch_ns: U64
    """How long the viewer watches, by the viewer's clock."""
    start_buffer_ns: U64
    """Play time that must be buffered before playing starts, or continues after a stall or a
    seek."""
    buffer_ns: U64
    """Maximum play time that the player buffers. It requests no segment that would not fit."""
    seek_ratio: Ratio
    """Probability of a seek at each full second of the viewer's clock, to a uniformly drawn
    segment."""
    verify: bool
    """Whether received segments are hashed and compared with the video's bytes."""

    @property
    def direction(self) -> Direction:
        """Direction of the content: down, to the player at the client."""
        return "down"


class Quality(Wire):
    """One quality of a video."""

    name: str
    """Name of the quality, such as `hd`."""
    segment_bytes: U64
    """Size of each segment in this quality."""


class DelayRule(Wire):
    """Chooses by the delay that the player measured for the previous segment, from its request to
    the first byte of the answer: the highest quality below the first bound, the next below the
    second, and so on. Retransmissions and other data in the queue are part of it.
    """

    kind: Literal["delay"]
    """Always `delay`."""
    bounds_ns: tuple[U64, ...] = Field(strict=False)
    """The bounds in ascending order, one fewer than there are qualities."""


class LinkDelayRule(Wire):
    """Chooses by the round-trip delay of the link at the time of the request, according to the job
    and its timeline, so that it is the same for every transport: the highest quality below the
    first bound, the next up to the second, and so on; the lowest above the last.

    The link is the path to which the client attached last. The delay is the sum of both
    directions', without jitter, queueing and the time that packets take at the link's rate.
    """

    kind: Literal["link_delay"]
    """Always `link_delay`."""
    bounds_ns: tuple[U64, ...] = Field(strict=False)
    """The bounds in ascending order, one fewer than there are qualities."""


class ThroughputRule(Wire):
    """Chooses the highest quality whose bit rate is at most a share of the harmonic mean of the
    last segments' throughput (Jiang, Sekar, Zhang: FESTIVE, CoNEXT 2012).
    """

    kind: Literal["throughput"]
    """Always `throughput`."""
    safety_ratio: Ratio
    """Share of the estimated throughput that a quality's bit rate may take."""
    window: U32
    """Number of segments in the harmonic mean."""


class BolaRule(Wire):
    """Chooses by the buffer's level alone: BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman: BOLA, INFOCOM
    2016, section III).
    """

    kind: Literal["bola"]
    """Always `bola`."""


Rule = Annotated[
    DelayRule | LinkDelayRule | ThroughputRule | BolaRule,
    Field(discriminator="kind"),
    Meaning(
        "How a player chooses the quality of the next segment. All choose the lowest after "
        "connecting and after a seek."
    ),
]
Workload = Annotated[
    Bulk | Stream | Command | Flow | RequestResponse | Page | Traffic,
    Field(discriminator="kind"),
    Meaning("The workload of a job: what is sent."),
]


class Seeded(Wire):
    """Incompressible bytes made from a seed."""

    kind: Literal["seeded"]
    """Always `seeded`."""
    seed: U64
    """Seed of the bytes: equal seeds give equal bytes."""
    size_bytes: U64
    """Number of bytes."""


class FileContent(Wire):
    """The content of a file that the sender can read."""

    kind: Literal["file"]
    """Always `file`."""
    path: str
    """Absolute path of the file."""
    size_bytes: U64
    """Size of the file when the run was planned. If it has changed since, the run is refused."""


Content = Annotated[
    Seeded | FileContent,
    Field(discriminator="kind"),
    Meaning("The content of a transfer: the bytes to send."),
]
