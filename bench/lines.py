"""What the bench measures, and the goals on a quiet machine with two 3 GHz cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from shutil import which
from typing import Any

RATE_BIT_S = 100_000_000
RTT_S = 0.1
FAST = {"rate": f"{RATE_BIT_S}bit", "rtt": f"{RTT_S * 1000:g}ms", "queue": "1bdp"}


@dataclass(frozen=True)
class Goal:
    """What something may cost at most; None is no goal."""

    cpu_s: float | None = None
    wall_s: float | None = None
    memory_mib: int | None = None


@dataclass(frozen=True)
class Transfer:
    """A run in a guest: so many bytes, or a flow of messages, over one transport and path."""

    name: str
    transport: str | dict[str, str]
    size: str
    path: dict[str, str]
    goal: Goal = field(default_factory=Goal)
    verify: bool = False
    direction: str = "down"
    flow: Mapping[str, Any] | None = None
    """The keys of a flow's `[workload]`, which is sent instead of `size`."""
    sampling: str | None = None
    """How often what happens inside is sampled; None for the usual."""


@dataclass(frozen=True)
class Counted:
    """The guest system calls of a transfer's two roles: counted, so the same on any machine."""

    name: str
    transfer: Transfer
    most: int


@dataclass(frozen=True)
class Command:
    """What a user types, and waits for.

    `{place}` in an argument is a folder that the commands share.
    """

    name: str
    arguments: tuple[str, ...]
    goal: Goal
    exit_status: int = 0
    to_table: bool = False
    """Whether it is measured up to its printed table; the report is written after that."""


def job(letter: str, size: str, loss: str, goal: Goal) -> Transfer:
    """Make one of the jobs A to D, which other tools do as well."""
    harm = "lossless" if loss == "0%" else loss.replace("%", " % loss")
    name = f"{letter}: {size[:-2]} {size[-2:]} TCP, {harm}"
    return Transfer(name, "tcp", size, {**FAST, "loss": loss}, goal)


JOBS = (
    job("A", "100MB", "0%", Goal(wall_s=0.6)),
    job("B", "100MB", "1%", Goal(wall_s=0.7)),
    job("C", "100MB", "5%", Goal(cpu_s=0.7, wall_s=0.7)),
    job("D", "1GB", "0%", Goal(wall_s=5.0)),
)
MEMORY_MIB = 64
"""The most that a guest of a transfer at 100 Mbit/s and 100 ms may take."""
QUIC = Transfer(
    "100 MB QUIC, lossless", "quic", "100MB", FAST, Goal(cpu_s=2.0, memory_mib=MEMORY_MIB)
)
SCTP = Transfer("100 MB SCTP, lossless", "sctp", "100MB", FAST, Goal(memory_mib=MEMORY_MIB))
DENSE_FLOW = {"kind": "flow", "payload": "1472B", "interval": "2us", "count": 100_000}
"""What tso-2021 sends: six times as much as a link of 1 Gbit/s carries."""
TRANSFERS = (
    Transfer(
        "empty run (boot, path, 1 byte, teardown)",
        "tcp",
        "1B",
        {"rtt": "10ms"},
        Goal(cpu_s=0.15, memory_mib=MEMORY_MIB),
    ),
    *JOBS,
    QUIC,
    Transfer(
        "100 000 datagrams, one each 2 µs",
        "udp",
        "147MB",
        {"rate": "1gbit", "delay": "2us", "queue": "10240p"},
        Goal(cpu_s=3.0),
        flow=DENSE_FLOW,
    ),
    *(
        Transfer(
            f"20 MB QUIC, {loss} loss",
            "quic",
            "20MB",
            {**FAST, "loss": loss.replace(" ", "")},
            Goal(memory_mib=MEMORY_MIB),
        )
        for loss in ("1 %", "5 %")
    ),
    Transfer(
        "100 MB QUIC, 10 Gbit/s",
        "quic",
        "100MB",
        {"rate": "10gbit", "rtt": "10ms", "queue": "1bdp"},
    ),
    Transfer("100 MB TLS, lossless", "tls", "100MB", FAST, Goal(memory_mib=MEMORY_MIB)),
    SCTP,
    *(
        Transfer(
            f"10 MB {transport.upper()}, 1 % loss, verified",
            transport,
            "10MB",
            {**FAST, "loss": "1%"},
            Goal(memory_mib=MEMORY_MIB),
            verify=True,
        )
        for transport in ("tcp", "tls", "sctp", "quic")
    ),
)

COUNTED = (
    Counted("guest system calls, 100 MB QUIC, lossless", QUIC, most=110_000),
    Counted("guest system calls, 100 MB SCTP, lossless", SCTP, most=3_000),
)

_SMALL = ("compare", "--size", "1MB", "--rtt", "10ms", "--replicates", "1", "--jobs", "1")
_ONE = (*_SMALL, "--transport", "tcp", "--out")
_FOUR = (*_SMALL, "--transport", "tcp,tls,sctp,quic", "--out")
CADDY_AND_CURL = Command(
    "exec: curl from Caddy over 100 ms",
    (
        *("exec", "--rtt", "100ms", "--server", "exec caddy file-server --listen :80"),
        *("--", "curl", "-sfo", "/dev/null", "http://server/said"),
    ),
    Goal(cpu_s=1.5, wall_s=1.5),
)
COMMANDS = (
    Command("netwarp --help", ("--help",), Goal(cpu_s=0.15)),
    Command("a refused option", ("compare", "--loss", "120%"), Goal(cpu_s=0.2), exit_status=2),
    Command(
        "compare, one run of 1 MB, to its table",
        (*_ONE, "{place}/a"),
        Goal(cpu_s=1.0),
        to_table=True,
    ),
    Command("compare, one run of 1 MB, with its report", (*_ONE, "{place}/b"), Goal(cpu_s=2.0)),
    Command(
        "compare, four runs of 1 MB, to their table",
        (*_FOUR, "{place}/c"),
        Goal(cpu_s=1.0),
        to_table=True,
    ),
    Command("the same, nothing to run", (*_FOUR, "{place}/c"), Goal(cpu_s=0.5)),
    Command("show", ("show", "{place}/c"), Goal(cpu_s=0.6)),
    Command("report", ("report", "{place}/c"), Goal(cpu_s=3.0)),
    *((CADDY_AND_CURL,) if which("caddy") and which("curl") else ()),
)
"""In this order: each needs what the ones before it left."""
