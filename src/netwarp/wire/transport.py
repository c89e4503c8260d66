"""The transport of a job: the protocol, its implementation, and its options."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Meaning, Option, Wire

TransportKind = Annotated[
    Literal["tcp", "tls", "sctp", "quic", "udp", "mptcp"],
    Meaning(
        "The protocol of a transport.",
        {
            "tcp": "The kernel's TCP.",
            "tls": "TLS 1.3 (rustls) over the kernel's TCP.",
            "sctp": "The kernel's SCTP.",
            "quic": "QUIC v1 (quinn) over the kernel's UDP.",
            "udp": "The kernel's UDP: only messages, without retransmissions.",
            "mptcp": "The kernel's Multipath TCP (RFC 8684): one subflow on each path.",
        },
    ),
]
Model = Annotated[
    Literal["kernel", "ns3", "ns3default"],
    Meaning(
        "The implementation of transport and path: the kernel's, or a model of the simulator ns-3.",
        {
            "kernel": "The kernel's transport and path.",
            "ns3": "ns-3's models, configured like Linux: CUBIC, SACK, an initial window of ten "
            "full-size segments, a smallest time-out of 200 ms. Client, router and server are "
            "joined by point-to-point links; the router's queue is the path's.",
            "ns3default": "ns-3's models with their defaults: segments of 536 bytes, buffers of "
            "128 KiB. Client and server share a CSMA link of the path's rate and delay, which "
            "carries one packet at a time for both directions; its queues are ns-3's own, "
            "whatever the path's is.",
        },
    ),
]
Resume = Annotated[
    Literal["none", "1rtt", "0rtt"],
    Meaning(
        "How connections resume sessions: only those of an earlier transfer, never one of the "
        "same transfer. Early data can be replayed: whoever has a copy of a client's first flight "
        "can send it to the server again (RFC 8446, section 8), so it is only for requests that "
        "may be answered twice.",
        {
            "none": "No resumption: every handshake is a full one.",
            "1rtt": "TLS 1.3 session tickets (RFC 8446, 2.2), in TLS and in QUIC.",
            "0rtt": "Tickets with early data (RFC 8446, 2.3); for TCP, Fast Open (RFC 7413).",
        },
    ),
]
Reconnect = Annotated[
    Literal["new", "migrate"],
    Meaning(
        "What happens to open connections when the client's address changes.",
        {
            "new": "Connections are given up: the client opens new ones, and unfinished content "
            "continues at the byte reached.",
            "migrate": "Connections continue over the new address: QUIC's migration (RFC 9000, "
            "section 9), SCTP's dynamic address reconfiguration (RFC 5061), MPTCP's subflows (RFC "
            "8684, 3.2).",
        },
    ),
]
Recovery = Annotated[
    Literal["rack", "classic"],
    Meaning(
        "How TCP detects losses.",
        {
            "rack": "RACK and tail loss probes (RFC 8985), early retransmit, F-RTO: the kernel's "
            "default.",
            "classic": "Three duplicate acknowledgements and time-outs (RFC 5681).",
        },
    ),
]


class Transport(Wire):
    """The transport and its options."""

    kind: TransportKind
    """The transport protocol."""
    stack: Stack | None
    """The implementation; null for netwarp's own."""
    model: Model
    """Whether the kernel or a simulator implements the transport. The endpoint carries out only the
    kernel's."""
    congestion: str
    """Congestion control, by its name in the stack."""
    buffer_bytes: U64
    """Size of socket buffers and flow-control windows, on each side and in each direction."""
    send_buffer_bytes: U64
    """Maximum amount of unacknowledged content that a sender of SCTP or QUIC holds: SCTP's send
    buffer, QUIC's send window. TCP's send buffer grows by itself, up to `buffer_bytes`."""
    initial_window_packets: U32
    """Initial congestion window, in full-size packets."""
    mss_bytes: U32 | None
    """Limit of a packet's payload, if smaller than the MTU allows. TCP: the MSS option (RFC 9293,
    3.7.1), payload and TCP options together; with timestamps the payload is 12 bytes less. SCTP:
    the largest piece of a message in one DATA chunk (RFC 6458, 8.1.16), of which several may share
    a packet."""
    nodelay: bool
    """Send small writes at once (Nagle's algorithm off; for SCTP, no waiting to bundle)."""
    ecn: bool | None
    """Whether both hosts offer Explicit Congestion Notification (RFC 3168; RFC 9000, 13.4); null
    leaves it to each stack, on a path on which nothing marks packets."""
    resume: Resume
    """Whether and how later connections of the run resume sessions of earlier ones."""
    reconnect: Reconnect
    """What happens to connections if the client moves to another path."""
    tcp: TcpOptions
    """Options of `tcp`, `tls` and `mptcp`."""
    sctp: SctpOptions
    """Options of `sctp`."""
    quic: QuicOptions
    """Options of `quic`."""
    client: ClientEnd | None = None
    """The client's end, if its implementation differs from that at the server's end, to which
    `stack` and `congestion` then apply."""

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """Return the implementations at the connection's two ends that are not netwarp's own, the
        server's first.
        """
        client = () if self.client is None else (self.client.stack,)
        return client if self.stack is None else (self.stack, *client)


Contract = Annotated[
    Literal["roles", "interop"],
    Meaning(
        "The interface between netwarp and a stack's program.",
        {
            "roles": "The role protocol (`docs/role-protocol.md`).",
            "interop": "The environment variables with which the QUIC interop runner starts the "
            "endpoints that it tests. They do not include the transport's options.",
        },
    ),
]


class Stack(Wire):
    """Another implementation of the transport: a program that is started instead of netwarp's own
    server and client.
    """

    name: str
    """Name of the implementation, such as `quic-go`."""
    version: str
    """Version of the implementation."""
    program: str
    """Absolute path of the program."""
    contract: Contract
    """The interface of the program: how it is started, and how it gets its task."""


class ClientEnd(Wire):
    """The client's end of a connection between two implementations."""

    stack: Stack
    """The client's implementation, with the same interface as the server's."""
    congestion: str
    """The client's congestion control by its name in that stack."""


class TcpOptions(Wire):
    """Settings of the kernel's TCP in which TCPs of different years differ."""

    sack: Annotated[
        bool,
        Option(True, "TCP: selective acknowledgements (RFC 2018). Default: true.", setting="SACK"),
    ]
    """Whether selective acknowledgements are used (RFC 2018), including duplicate ones (RFC
    2883)."""
    timestamps: Annotated[
        bool, Option(True, "TCP: timestamps (RFC 7323). Default: true.", setting="timestamps")
    ]
    """Whether segments carry timestamps (RFC 7323)."""
    window_scaling: Annotated[
        bool,
        Option(True, "TCP: window scaling (RFC 7323). Default: true.", setting="window scaling"),
    ]
    """Whether the window scale option is used (RFC 7323)."""
    recovery: Annotated[
        Recovery,
        Option(
            "rack",
            "TCP: loss recovery. `rack`: RACK and tail loss probes (RFC 8985); `classic`: three"
            " duplicate acknowledgements and time-outs (RFC 5681), only with `sack = false`."
            " Default: rack.",
            setting="loss recovery",
        ),
    ]
    """The algorithm by which losses are detected."""
    accurate_ecn: Annotated[
        bool,
        Option(
            False,
            "TCP: both hosts offer AccECN (RFC 9768, `tcp_ecn` 3), with which a receiver reports"
            " how many packets were marked, and not only that one was; only with `ecn`, and a"
            " kernel of Linux 7.0 or later. Default: false.",
            setting="AccECN",
        ),
    ] = False
    """Whether both hosts offer accurate ECN (RFC 9768) instead of RFC 3168's."""
    tcp_rto_min_ns: Annotated[
        U64 | None,
        Option(
            None,
            "TCP: by how much a retransmission time-out exceeds the smoothed round-trip time at"
            " least (`net.ipv4.tcp_rto_min_us`, Linux 6.11 or later): a multiple of the kernel's"
            " tick, 10ms, up to 120s. Default: the kernel's, 200ms.",
            "DurationNs",
            of_host="a setting of a network namespace (net.ipv4.tcp_rto_min_us)",
        ),
    ] = None
    """Minimum by which a retransmission time-out exceeds the smoothed round-trip time; null for the
    kernel's default."""
    tso_packets: Annotated[
        U32 | None,
        Option(
            None,
            "TCP: how many packets it hands over at once at most, which the host then cuts"
            " (`gso_max_segs`): a sender that paces sends bursts of so many. From 1 to 65535."
            " Default: the kernel's, as many as 64 KiB have.",
            setting="burst of TCP segments",
            of_host="a setting of devices",
        ),
    ] = None
    """Maximum number of packets that TCP passes to a device as one large segment, which the host
    then splits (`gso_max_segs` of its devices); null for the kernel's default."""
    hystart: Annotated[
        bool | None,
        Option(
            None,
            "TCP: whether CUBIC ends slow start when round trips take longer (HyStart), before"
            " packets are lost; only with `congestion` cubic, and in a guest, whose kernel it is a"
            " parameter of (`tcp_cubic.hystart`). Default: the kernel's, true.",
            setting="CUBIC's HyStart",
            of_host="a parameter of a whole kernel (tcp_cubic.hystart)",
        ),
    ] = None
    """Whether CUBIC may end slow start when round-trip times increase (`tcp_cubic.hystart`, a
    parameter of the whole kernel); null for the kernel's default, true."""
    mtu_probing: Annotated[
        bool,
        Option(
            False,
            "TCP: both hosts look for a black hole of large packets: when retransmissions of"
            " large segments are lost again and again, smaller ones are tried, and larger ones"
            " again later (RFC 4821, `net.ipv4.tcp_mtu_probing` 1). Default: false, as in the"
            " kernel.",
            setting="MTU probing",
            of_host="a setting of a network namespace (net.ipv4.tcp_mtu_probing)",
        ),
    ] = False
    """Whether packetization layer path MTU discovery (RFC 4821) begins when a black hole is
    suspected."""


class SctpOptions(Wire):
    """Options of the kernel's SCTP."""

    streams: Annotated[
        int,
        Field(ge=1, lt=2**16),
        Option(
            1,
            "SCTP: streams of an association. With more than one, the chunks of a content go over"
            " streams of one association, not over associations of their own. Default: 1.",
            "Streams",
        ),
    ]
    """Number of streams of an association, in each direction."""
    max_message_bytes: Annotated[
        U32,
        Option(
            16_384,
            "SCTP: largest message that the sender passes to the stack; at least 9B, at most the"
            " buffer. Default: 16KiB.",
            "SizeBytes",
        ),
    ]
    """Largest message that the sender passes to SCTP, in bytes."""
    unordered: Annotated[
        bool,
        Option(
            False,
            "SCTP: deliver messages as they arrive (RFC 9260, section 6.6). Those of a `flow` are"
            " the program's own; other content is cut into messages that say where they belong."
            " Default: false.",
        ),
    ]
    """Whether messages are delivered unordered (RFC 9260, 6.6)."""
    message_lifetime_ns: Annotated[
        U64 | None,
        Option(
            None,
            "SCTP: how long after it was handed over a message of a `flow` may still be sent; then"
            " it is given up (RFC 3758). A multiple of 10ms, the kernel's tick. Default: as long as"
            " it takes.",
            "DurationNs",
        ),
    ]
    """Time after which a message of a flow is no longer sent (PR-SCTP, timed reliability; RFC 3758,
    4.1); null for no limit."""
    max_retransmissions: Annotated[
        U32 | None,
        Option(
            None,
            "SCTP: how often a message of a `flow` is sent again before it is given up (RFC 7496,"
            " section 4.1). Default: as often as it takes.",
            "Retransmissions",
        ),
    ]
    """Maximum number of retransmissions of a message of a flow (PR-SCTP, limited retransmissions;
    RFC 7496, 4.1); null for no limit."""
    rto_initial_ns: Annotated[
        U64,
        Option(
            3_000_000_000, "SCTP: RTO.Initial (RFC 9260, section 16). Default: 3s.", "DurationNs"
        ),
    ]
    """The first retransmission time-out, RTO.Initial (RFC 9260, 16)."""
    rto_min_ns: Annotated[U64, Option(1_000_000_000, "SCTP: RTO.Min. Default: 1s.", "DurationNs")]
    """The shortest retransmission time-out, RTO.Min."""
    rto_max_ns: Annotated[U64, Option(60_000_000_000, "SCTP: RTO.Max. Default: 60s.", "DurationNs")]
    """The longest retransmission time-out, RTO.Max."""
    multihomed: Annotated[
        bool,
        Option(
            False,
            "SCTP: use an address of each path at both ends, and fail over between them; needs"
            " `[path.second]`. Default: false.",
        ),
    ]
    """Whether both ends bind an address of every path, and fail over between the paths."""


class QuicOptions(Wire):
    """Options of QUIC."""

    datagrams: Annotated[
        bool,
        Option(
            False,
            "QUIC: each message of a `flow` is a datagram (RFC 9221), which nothing repeats;"
            " congestion control and pacing hold for it as for streams. Default: false, one"
            " stream.",
        ),
    ]
    """Whether each message of a flow is sent as a datagram (RFC 9221), which is not
    retransmitted."""
    qlog: Annotated[
        bool,
        Option(
            False,
            "QUIC: write what each connection sent, received and lost, and its congestion control,"
            " to a file of its own in the folder `qlog` of the run's directory: `server-0.sqlog`,"
            " `client-0.sqlog` and so on, as qlog (draft-ietf-quic-qlog-main-schema), which qvis"
            " opens. `netwarp export DIR --format qlog` says where they are. Times of the run"
            " change by about a microsecond. quinn 0.11 writes round-trip times in seconds, where"
            " qlog has milliseconds. Default: false.",
        ),
    ]
    """Whether the events of each connection are logged to a file in the folder `qlog` of the run's
    directory, as qlog (draft-ietf-quic-qlog-main-schema)."""
