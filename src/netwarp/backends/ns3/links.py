"""Converts a job's paths to the nodes and point-to-point links that the simulation builds. Pure.

A channel of ns-3 has one delay for both directions, while in netwarp's networks a host's link
delays only packets towards the host. So in a simulated network the server's link has the delays of
both hosts' links: packets wait at routers at the same times as in the kernel's run, and a round
trip takes as long.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from netwarp import wire
from netwarp.wire import Impairments, Job, Network, Path

FAST_BIT_S = 1_000_000_000_000
"""Rate of links whose transmission time is to be negligible."""
ENDLESS_PACKETS = 10_000_000
HOSTS = ("client", "server")
ROUTER = "router"


class _Sender(NamedTuple):
    """The delay, rate, queue and loss for the packets that one end of a link sends."""

    rate_bit_s: int = FAST_BIT_S
    queue_packets: int = ENDLESS_PACKETS
    loss_ratio: float = 0.0


def nodes(job: Job) -> list[str]:
    """Return the names of all hosts and routers of a job."""
    if job.network is None:
        return [HOSTS[0], ROUTER, HOSTS[1]]
    return [*job.network.hosts, *job.network.routers]


def links(job: Job) -> list[dict[str, Any]]:
    """Return the links of a job in the form that the simulation program reads."""
    if job.network is None:
        return _of_one_path(job.paths[0])
    servers = {each.ends.server for each in job.workloads if each.ends is not None}
    return [
        _link(
            (link.first, link.second), _delay_ns(job.network, link, path, servers),
            _sender(path.up), _sender(path.down), path.mtu_bytes,
        )
        for link, path in zip(job.network.links, job.paths, strict=True)
    ]  # fmt: skip


def _of_one_path(path: Path) -> list[dict[str, Any]]:
    """Return the links of client, router and server. The router limits the rate of what it sends,
    and the hosts do not; half of the round-trip time is on each link.
    """
    delay_ns = (path.up.delay_ns + path.down.delay_ns) // 4
    mtu_bytes = path.mtu_bytes
    down, up = _sender(path.down), _sender(path.up)
    return [
        _link((HOSTS[0], ROUTER), delay_ns, _Sender(), down, mtu_bytes),
        _link((HOSTS[1], ROUTER), delay_ns, _Sender(), up, mtu_bytes),
    ]


def _link(
    ends: Sequence[str], delay_ns: int, first: _Sender, second: _Sender, mtu_bytes: int
) -> dict[str, Any]:
    return {
        "ends": list(ends), "delay_ns": delay_ns, "mtu_bytes": mtu_bytes,
        "rates_bit_s": [first.rate_bit_s, second.rate_bit_s],
        "queues_packets": [first.queue_packets, second.queue_packets],
        # ns-3 loses packets where they are received: at the other end.
        "losses": [second.loss_ratio, first.loss_ratio],
    }  # fmt: skip


def _sender(impairments: Impairments) -> _Sender:
    loss = impairments.loss.ratio if isinstance(impairments.loss, wire.RandomLoss) else 0.0
    return _Sender(impairments.rate_bit_s or FAST_BIT_S, _queue_packets(impairments), loss)


def _queue_packets(impairments: Impairments) -> int:
    """Return how many packets can wait at the bottleneck, besides the one that is being
    transmitted, which is in ns-3's device. Without a delay, netem's limit counts both.
    """
    return impairments.queue_packets or max(1, impairments.limit_packets - 1)


def _delay_ns(network: Network, link: wire.Link, path: Path, servers: Collection[str]) -> int:
    """Return the delay in ns of a link's channel in both directions."""
    host = next((each for each in (link.first, link.second) if each in network.hosts), None)
    if host is None:
        return path.up.delay_ns
    return _towards_ns(link, path, host) if host in servers else 0


def _towards_ns(link: wire.Link, path: Path, host: str) -> int:
    """Return the delay in ns of a host's link, in the direction towards the host."""
    return (path.down if link.first == host else path.up).delay_ns


def refusal(job: Job) -> str | None:
    """Return the reason why ns-3 cannot have the links of a job's network; None if it can, or the
    job has no network.
    """
    if job.network is None:
        return None
    towards_ns: dict[str, int] = {}
    for link, path in zip(job.network.links, job.paths, strict=True):
        hosts = {link.first, link.second} & set(job.network.hosts)
        towards_ns |= {host: _towards_ns(link, path, host) for host in hosts}
        if not hosts and path.up.delay_ns != path.down.delay_ns:
            return f"ns-3's links have one delay both ways, and {link.label} has two"
    ends = [each.ends for each in job.workloads if each.ends is not None]
    if both := {each.client for each in ends} & {each.server for each in ends}:
        return f"in its model of ns-3 a host is a client or a server, and {min(both)} is both"
    for each in ends:
        if towards_ns[each.client] != towards_ns[each.server]:
            return (
                f"ns-3's links have one delay both ways, and those of {each.client} and"
                f" {each.server} have two"
            )
    return None
