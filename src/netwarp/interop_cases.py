"""The test cases of the QUIC interop runner: what each transfers, over which path, and within which
time.

Names, files, paths and time limits are those of the runner
(https://github.com/quic-interop/quic-interop-runner, `testcases_quic.py`). Its simulator bounds
bursts of losses at three packets and seals a corrupted packet with a new UDP checksum; netem does
neither, so that more than three packets in a row can be lost, and a corrupted packet is lost if the
flipped bit is covered by a checksum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

KIB = 1 << 10
MIB = 1 << 20
CaseName = Literal[
    "handshake",
    "transfer",
    "longrtt",
    "chacha20",
    "multiplexing",
    "retry",
    "resumption",
    "zerortt",
    "http3",
    "blackhole",
    "keyupdate",
    "ecn",
    "amplificationlimit",
    "handshakeloss",
    "transferloss",
    "handshakecorruption",
    "transfercorruption",
    "ipv6",
    "v2",
    "goodput",
]
"""The runner's cases that netwarp carries out, in the runner's order."""

_PATH: Mapping[str, Any] = {"rtt": "30ms", "rate": "10mbit", "queue": "25p"}
"""The path of most cases: the runner's `simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25`."""


def _lost(kind: str, ratio: str) -> Mapping[str, Any]:
    return {**_PATH, kind: ratio, f"{kind}_up": ratio}


def _outages(*, on_s: int, off_s: int, until_s: int) -> list[Mapping[str, str]]:
    """Return a timeline of outages, one after another, until a time."""
    begins = range(on_s, until_s, on_s + off_s)
    return [
        event
        for at_s in begins
        for event in (
            {"at": f"{at_s}s", "change": "outage"},
            {"at": f"{at_s + off_s}s", "change": "restore"},
        )
    ]


@dataclass(frozen=True)
class InteropCase:
    """A test case of the QUIC interop runner: what it transfers, and over which path."""

    abbreviation: str
    """The abbreviation that the runner's tables have for the test case."""
    shows: str
    """What a pair of stacks can do if it passes the test case, in words."""
    file_bytes: tuple[int, ...]
    """Sizes of the files that the client requests."""
    client: str | None = None
    """Value of `TESTCASE` for the client; None for the case's name."""
    server: str | None = None
    """Value of `TESTCASE` for the server; None for the client's."""
    path: Mapping[str, Any] = field(default_factory=lambda: _PATH)
    """The `[path]` of the case's study."""
    limit_s: int = 60
    """Time limit of a run in s of virtual time."""
    name_bytes: int = 12
    """Number of characters in a file's name."""
    certificates: int = 1
    """Number of certificates in the server's chain."""
    connections: int = 1
    """Number of connections that the client opens."""


CASES: Mapping[CaseName, InteropCase] = {
    "handshake": InteropCase("H", "the handshake completes", (KIB,)),
    "transfer": InteropCase(
        "DC", "several files arrive over one connection", (2 * MIB, 3 * MIB, 5 * MIB)
    ),
    "longrtt": InteropCase(
        "LR",
        "the handshake completes where the round trip takes 1.5 s",
        (KIB,),
        client="handshake",
        path={**_PATH, "rtt": "1500ms"},
    ),
    "chacha20": InteropCase("C20", "the handshake completes with ChaCha20", (3 * MIB,)),
    "multiplexing": InteropCase(
        "M",
        "thousands of files arrive over one connection, whose stream limit the server raises",
        (32,) * 1999,
        client="transfer",
    ),
    "retry": InteropCase("S", "the client connects with the token of a Retry", (10 * KIB,)),
    "resumption": InteropCase(
        "R",
        "a second connection resumes the first one's session",
        (5 * KIB, 10 * KIB),
        connections=2,
    ),
    "zerortt": InteropCase(
        "Z", "requests go out as early data", (32,) * 40, name_bytes=250, connections=2
    ),
    "http3": InteropCase("3", "files arrive over HTTP/3", (5 * KIB, 10 * KIB, 500 * KIB)),
    "blackhole": InteropCase(
        "B",
        "the transfer goes on after an outage of two seconds",
        (10 * MIB,),
        client="transfer",
        path={**_PATH, "timeline": _outages(on_s=5, off_s=2, until_s=60)},
    ),
    "keyupdate": InteropCase(
        "U", "both ends change to the next keys", (3 * MIB,), server="transfer"
    ),
    "ecn": InteropCase("E", "both ends mark their packets and report the marks", (100 * KIB,)),
    "amplificationlimit": InteropCase(
        "A",
        "the server sends three times what it has received, until it knows the address",
        (5 * KIB,),
        client="transfer",
        path={**_PATH, "loss_up": "packets 2 3 4 5 6 7"},
        certificates=9,
    ),
    "handshakeloss": InteropCase(
        "L1",
        "fifty handshakes complete where 30 % of the packets are lost",
        (KIB,) * 50,
        client="multiconnect",
        path=_lost("loss", "30%"),
        limit_s=300,
        connections=50,
    ),
    "transferloss": InteropCase(
        "L2",
        "the transfer completes where 2 % of the packets are lost",
        (2 * MIB,),
        client="transfer",
        path=_lost("loss", "2%"),
    ),
    "handshakecorruption": InteropCase(
        "C1",
        "fifty handshakes complete where 30 % of the packets are corrupted",
        (KIB,) * 50,
        client="multiconnect",
        path=_lost("corrupt", "30%"),
        limit_s=300,
        connections=50,
    ),
    "transfercorruption": InteropCase(
        "C2",
        "the transfer completes where 2 % of the packets are corrupted",
        (2 * MIB,),
        client="transfer",
        path=_lost("corrupt", "2%"),
    ),
    "ipv6": InteropCase(
        "6",
        "files arrive over IPv6",
        (5 * KIB, 10 * KIB),
        client="transfer",
        path={**_PATH, "ip": 6},
    ),
    "v2": InteropCase("V2", "client and server agree on QUIC version 2", (KIB,)),
    "goodput": InteropCase(
        "G", "how fast a file arrives over 10 Mbit/s", (10 * MIB,), client="transfer"
    ),
}
"""The cases by name."""

NOT_CARRIED_OUT: Mapping[str, tuple[str, str]] = {
    "rebind-port": ("BP", "netwarp's routers translate no addresses, so a port stays what it is"),
    "rebind-addr": ("BA", "netwarp's routers translate no addresses"),
    "connectionmigration": (
        "CM",
        "the server would offer an address of IPv6 beside IPv4, and a run has one of the two",
    ),
    "versionnegotiation": ("V", "the runner has taken it out of its own list"),
    "crosstraffic": ("C", "programs by the runner's contract share a run with no other workload"),
}
"""The runner's other cases: abbreviation, and the reason why netwarp does not carry them out."""

assert tuple(CASES) == get_args(CaseName)  # noqa: S101 - the table has every name, in this order
