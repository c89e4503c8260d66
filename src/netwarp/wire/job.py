"""The job: what the planner hands the endpoint, as one JSON object.

The Rust half of this definition is ``endpoint/src/job.rs``; both read and write the golden files in
``tests/golden``. Everything is resolved here: no defaults, no units in strings, no randomness left
to draw. The way back is ``record.py``.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from netwarp.errors import RecordError

FORMAT: Literal[1] = 1
"""Version of the wire format. A reader refuses any other."""

U32 = Annotated[int, Field(ge=0, lt=2**32)]
U64 = Annotated[int, Field(ge=0, lt=2**64)]
Ratio = Annotated[float, Field(ge=0, le=1)]
Heading = Literal["down", "up"]
TransportKind = Literal["tcp", "tls", "sctp", "quic", "mptcp"]
Resumption = Literal["none", "1rtt", "0rtt"]
Reconnect = Literal["new", "migrate"]


class Wire(BaseModel):
    """An object of the wire format: immutable, every key known, every key present."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


class Job(Wire):
    """One run, resolved to numbers."""

    format: Literal[1]
    """Version of the wire format."""
    run: str
    """Name of the run in messages, such as `c003-r01`."""
    seed: U64
    """Seeds what the endpoint itself draws. The paths carry their own seeds."""
    paths: tuple[Path, ...] = Field(min_length=1, strict=False)
    """One router for each; the first is the one used unless the transport can use more."""
    transport: Transport
    """How bytes travel."""
    workload: Workload
    """What travels."""
    timeline: Timeline
    """What happens to the paths while the run goes on."""
    capture: bool
    """Write a packet capture of the routers' links to the run directory."""
    limits: Limits
    """When to give up."""

    @property
    def heading(self) -> Heading:
        """Which way the content goes: a medium to its player at the client."""
        return self.workload.direction if isinstance(self.workload, Bulk) else "down"


class Path(Wire):
    """Client — router — server."""

    mtu_bytes: U32
    """Largest IP packet, headers included."""
    attached: bool
    """Whether the client has its address on this path from the start. Of a host that moves between
    access points, only the first path is; the server then has one address, that of the first path,
    reached by whichever path the client is on."""
    down: Direction
    """Server to client."""
    up: Direction
    """Client to server."""


class Direction(Wire):
    """What one direction of a path does to packets: one `sch_netem` on the router."""

    delay_ns: U64
    """One-way delay (mean, when there is jitter)."""
    jitter_ns: U64
    """Spread of the delay: half width (uniform) or standard deviation (other distributions)."""
    jitter_correlation: Ratio
    """Correlation of successive delays, 0 to 1."""
    distribution: Literal["uniform", "normal", "pareto", "paretonormal"]
    """Shape of the delay's distribution."""
    loss: Loss
    """How packets are lost."""
    rate_bit_s: U64 | None
    """Bottleneck rate of Ethernet frames (without preamble and FCS); none is unlimited."""
    limit_packets: U32
    """Packets netem holds at most: those in the delay line and those queued for the bottleneck."""
    shaper_queue_bytes: U32 | None
    """Room of a token bucket behind netem (`sch_tbf`), which then keeps the rate instead of netem:
    a rate that changes. A packet waits there for the rate of the moment; netem would keep it to
    the rate of when it came."""
    reorder: Reorder
    """Share of packets sent on at once, overtaking the delay line."""
    duplicate_ratio: Ratio
    """Share of packets sent twice, 0 to 1."""
    corrupt_ratio: Ratio
    """Share of packets with one bit flipped, 0 to 1."""
    seed: U64
    """Seed of netem's random numbers (`TCA_NETEM_PRNG_SEED`), already hashed."""


class NoLoss(Wire):
    """No packet is lost."""

    kind: Literal["none"]
    """Always `none`."""


class RandomLoss(Wire):
    """Each packet is lost on its own, with this probability."""

    kind: Literal["random"]
    """Always `random`."""
    ratio: Ratio
    """Probability, 0 to 1."""
    correlation: Ratio
    """Correlation of successive draws, 0 to 1."""


class GemodelLoss(Wire):
    """Gilbert-Elliott loss, a two-state Markov chain.

    Gilbert 1960, Elliott 1963; netem's `gemodel`.
    """

    kind: Literal["gemodel"]
    """Always `gemodel`."""
    p: Ratio
    """Probability of going from good to bad."""
    r: Ratio
    """Probability of going from bad to good."""
    loss_bad: Ratio
    """Loss probability in the bad state (1 - h)."""
    loss_good: Ratio
    """Loss probability in the good state (1 - k)."""


Loss = Annotated[NoLoss | RandomLoss | GemodelLoss, Field(discriminator="kind")]


class Reorder(Wire):
    """netem's `reorder`."""

    ratio: Ratio
    """Share of packets sent on at once; 0 is none."""
    correlation: Ratio
    """Correlation of successive draws, 0 to 1."""
    gap: U32
    """Only every `gap`-th packet is a candidate; 0 is netem's default of 1."""


class Transport(Wire):
    """How bytes travel."""

    kind: TransportKind
    """Which protocol."""
    congestion: str
    """Congestion control by its name in the stack."""
    buffer_bytes: U64
    """Socket buffers and flow-control windows, each side, send and receive."""
    initial_window_packets: U32
    """First flight, in full-size packets."""
    mss_bytes: U32 | None
    """Bound of a packet's payload, if smaller than the MTU allows. TCP: the MSS option (RFC 9293,
    3.7.1), payload and TCP options together; with timestamps the payload is 12 bytes less. SCTP:
    the largest piece of a message in one DATA chunk (RFC 6458, 8.1.16), of which several may share
    a packet."""
    nodelay: bool
    """Send small writes at once (Nagle's algorithm off; for SCTP, no waiting to bundle)."""
    resume: Resumption
    """What a later connection of the run uses of an earlier one: nothing, TLS 1.3 session tickets
    (RFC 8446, 2.2), or tickets with early data (2.3; for TCP, Fast Open, RFC 7413)."""
    reconnect: Reconnect
    """What becomes of standing connections when the client's address changes. `new`: they are given
    up, and every unfinished content goes on at the byte reached over new ones. `migrate`: they go
    on over the new address (QUIC's migration, RFC 9000, section 9; SCTP's dynamic address
    reconfiguration, RFC 5061; MPTCP's subflows, RFC 8684, 3.2)."""
    tcp: TcpOptions
    """For `tcp`, `tls` and `mptcp`."""
    sctp: SctpOptions
    """For `sctp`."""


class TcpOptions(Wire):
    """Options of the kernel's TCP that differ between its generations."""

    sack: bool
    """Selective acknowledgements (RFC 2018), duplicate ones (RFC 2883) included."""
    timestamps: bool
    """Timestamps (RFC 7323)."""
    window_scaling: bool
    """Window scaling (RFC 7323)."""
    recovery: Literal["rack", "classic"]
    """How losses are found: RACK and tail loss probes (RFC 8985), or three duplicate
    acknowledgements and time-outs (RFC 5681)."""


class SctpOptions(Wire):
    """Options of the kernel's SCTP."""

    streams: Annotated[int, Field(ge=1, lt=2**16)]
    """Streams of an association, each way."""
    max_message_bytes: U32
    """Largest message the sender hands over at once."""
    unordered: bool
    """Deliver messages as they come (RFC 9260, 6.6)."""
    rto_initial_ns: U64
    """RTO.Initial (RFC 9260, 16)."""
    rto_min_ns: U64
    """RTO.Min."""
    rto_max_ns: U64
    """RTO.Max."""
    multihomed: bool
    """Bind an address of every path at both ends, and fail over between them."""


class Bulk(Wire):
    """One file, as fast as it goes."""

    kind: Literal["bulk"]
    """Always `bulk`."""
    direction: Heading
    """Which way the content goes."""
    content: Content
    """What is sent."""
    verify: bool
    """Hash at both ends and compare; otherwise the receiver counts and discards."""
    chunks: Annotated[int, Field(ge=1, lt=2**32)]
    """Parts the content is cut into, sent at once: part i over connection i, or over stream i of
    one connection where the transport has streams (`quic`; `sctp` with more than one)."""
    dial: Literal["sequential", "parallel"]
    """How the connections are opened: each when the one before is connected, or all at once."""
    transfers: Annotated[int, Field(ge=1, lt=2**32)]
    """How often the content is sent, on new connections each time; later ones may resume."""


class Stream(Wire):
    """A medium in segments, each in several qualities, fetched by a player that adapts.

    The viewer watches for `watch_ns` of play time, and may move the play position at every full
    second of it.
    """

    kind: Literal["stream"]
    """Always `stream`."""
    seed: U64
    """Of the medium's bytes."""
    segments: Annotated[int, Field(ge=1, lt=2**32)]
    """The medium's length in segments."""
    segment_ns: U64
    """Play time of a segment."""
    qualities: tuple[Quality, ...] = Field(min_length=1, strict=False)
    """What the storage has, lowest first."""
    rule: Rule
    """Which quality the player asks for."""
    watch_ns: U64
    """Play time until the viewer is done."""
    start_buffer_ns: U64
    """Play time that must be at hand before playing starts, or goes on after a stall or a seek."""
    buffer_ns: U64
    """Play time the player holds ahead at most; it asks for no segment that would not fit."""
    seek_ratio: Ratio
    """Probability of a seek at each full second of play time, to a segment drawn evenly."""
    verify: bool
    """Hash what arrives, and compare with the medium's bytes."""


class Quality(Wire):
    """One quality of a medium."""

    name: str
    """Such as `hd`."""
    segment_bytes: U64
    """Size of each of its segments."""


class DelayRule(Wire):
    """By the measured link delay: from a request to the first byte of its answer, of the segment
    before. The highest quality below the first bound, the next below the second, and so on.
    """

    kind: Literal["delay"]
    """Always `delay`."""
    bounds_ns: tuple[U64, ...] = Field(strict=False)
    """Ascending; one fewer than there are qualities."""


class ThroughputRule(Wire):
    """The highest quality whose bit rate is at most a share of the harmonic mean of the last
    segments' throughput (Jiang, Sekar, Zhang: FESTIVE, CoNEXT 2012).
    """

    kind: Literal["throughput"]
    """Always `throughput`."""
    safety_ratio: Ratio
    """Share of the estimate that is used."""
    window: U32
    """Segments of the mean."""


class BolaRule(Wire):
    """By the buffer's level alone: BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman: BOLA, INFOCOM 2016,
    section III).
    """

    kind: Literal["bola"]
    """Always `bola`."""


Rule = Annotated[DelayRule | ThroughputRule | BolaRule, Field(discriminator="kind")]
Workload = Annotated[Bulk | Stream, Field(discriminator="kind")]


class Seeded(Wire):
    """Incompressible bytes made from a seed."""

    kind: Literal["seeded"]
    """Always `seeded`."""
    seed: U64
    """Same seed, same bytes."""
    size_bytes: U64
    """How many."""


class FileContent(Wire):
    """A file readable where the sender runs."""

    kind: Literal["file"]
    """Always `file`."""
    path: str
    """Absolute path."""
    size_bytes: U64
    """As the planner saw it; a run on a file that changed since is refused."""


Content = Annotated[Seeded | FileContent, Field(discriminator="kind")]


class Timeline(Wire):
    """What happens to the paths while a run goes on.

    Of what is due at the same time, events come first, then redraws, then traces, each in the order
    given.
    """

    events: tuple[Event, ...] = Field(strict=False)
    """In order of time."""
    redraws: tuple[Redraw, ...] = Field(strict=False)
    """Delays drawn anew."""
    traces: tuple[Trace, ...] = Field(strict=False)
    """Rates as they were measured."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing happens."""
        return not (self.events or self.redraws or self.traces)

    @property
    def roams(self) -> bool:
        """Whether the client moves between paths."""
        return any(isinstance(event.change, Attach | Detach) for event in self.events)


class Event(Wire):
    """Something that happens to a path."""

    at_ns: U64
    """After the epoch."""
    path: U32
    """Index of the path."""
    change: Change
    """What happens."""


class Outage(Wire):
    """Both directions lose every packet from now on; nobody is told."""

    kind: Literal["outage"]
    """Always `outage`."""


class Restore(Wire):
    """Both directions are again as they were before the outage."""

    kind: Literal["restore"]
    """Always `restore`."""


class Delay(Wire):
    """Packets that come from now on are delayed by this much.

    Where no rate keeps them in order, they may overtake.
    """

    kind: Literal["delay"]
    """Always `delay`."""
    down_ns: U64
    """Server to client."""
    up_ns: U64
    """Client to server."""


class Rate(Wire):
    """The token bucket of a direction has another rate."""

    kind: Literal["rate"]
    """Always `rate`."""
    direction: Heading
    """Which."""
    rate_bit_s: U64
    """0: nothing leaves."""


class Attach(Wire):
    """The client gets its address on this path, prefers it from now on, and is told."""

    kind: Literal["attach"]
    """Always `attach`."""


class Detach(Wire):
    """The client loses its address on this path, and the path every packet."""

    kind: Literal["detach"]
    """Always `detach`."""


Change = Annotated[Outage | Restore | Delay | Rate | Attach | Detach, Field(discriminator="kind")]


class Redraw(Wire):
    """A path whose delay is drawn anew at a fixed period, from a normal distribution cut at 0."""

    path: U32
    """Index of the path."""
    period_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """First at the epoch, then after each of these."""
    mean_ns: U64
    """Of the round-trip time, half of which goes to each direction."""
    deviation_ns: U64
    """Standard deviation of the round-trip time."""
    seed: U64
    """Seeds the draws."""


class Trace(Wire):
    """A direction of a path whose rate follows a trace, over and over."""

    path: U32
    """Index of the path."""
    direction: Heading
    """Which way."""
    step_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """How long each of the rates holds."""
    rates_bit_s: tuple[U64, ...] = Field(min_length=1, strict=False)
    """From the epoch on; 0: nothing leaves."""


class Limits(Wire):
    """When to give up."""

    virtual_ns: U64
    """The run has failed when its own clock says more than this."""


for _model in (Job, Path, Direction, Transport, Bulk, Stream, Timeline, Event):
    _model.model_rebuild()


def job_to_json(job: Job) -> str:
    """Write a job canonically: sorted keys, one line. Equal jobs give equal text."""
    return json.dumps(job.model_dump(mode="json"), sort_keys=True, separators=(",", ":")) + "\n"


def job_sha256(job: Job) -> str:
    """Hash what a run does, not what it is called: equal hashes give equal measurements."""
    content = job.model_dump(mode="json", exclude={"run"})
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


def first_error(error: ValidationError) -> str:
    """Say what is wrong first, and where in the object."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
