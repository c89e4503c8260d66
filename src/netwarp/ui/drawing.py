"""Computes where hosts and routers of a network are drawn, and what was sampled on its links.

Pure: makes places between 0 and 1, and columns, from a job and its records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp.measure.queueing import queue_delays
from netwarp.units import NS_PER_S
from netwarp.wire import Job, QueueSamples, Record
from netwarp.wire.network import Network

MOST_HOSTS = 40
"""Maximum number of hosts that are drawn; with more, names and packets could not be
distinguished."""
MOST_SAMPLES = 600
"""Maximum number of samples of a link's direction; if there are more, some are chosen at even
distances."""
Place = tuple[float, float]


def network_drawing(job: Job, records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the nodes of a run's network, and its links with the samples of each direction; None
    if there are only two hosts, or too many to draw.
    """
    network = job.network
    if network is None or len(network.hosts) > MOST_HOSTS:
        return None
    places = placed(network)
    sampled: dict[int, list[dict[str, Any]]] = {}
    for each in records:
        if isinstance(each, QueueSamples) and len(each.at_ns) > 1:
            sampled.setdefault(each.path, []).append(_direction_samples(job, records, each))
    return {
        "nodes": [
            {"name": name, "x": x, "y": y, "is_host": name in network.hosts}
            for name, (x, y) in places.items()
        ],
        "links": [
            {"first": link.first, "second": link.second, "name": link.label,
             "ways": sampled.get(index, [])}
            for index, link in enumerate(network.links)
        ],
    }  # fmt: skip


def placed(network: Network) -> Mapping[str, Place]:
    """Return where all nodes are drawn: routers in a row, in the order in which they are reached
    from the first host; hosts of the first router on its left, of the last router on its right, of
    others above and below.
    """
    row = _routers_in_a_row(network)
    steps = len(row) + 1
    places = {name: ((1 + at) / steps, 0.5) for at, name in enumerate(row)}
    of_router: dict[str, list[str]] = {}
    for host in network.hosts:
        of_router.setdefault(_neighbours(network, host)[0], []).append(host)
    for router, hosts in of_router.items():
        at = row.index(router)
        ends = ([0] if at == 0 else []) + ([steps] if at == len(row) - 1 else [])
        for number, host in enumerate(hosts):
            if ends:  # a router that is alone has hosts on both sides
                column = ends[number % len(ends)]
                rank, rows = number // len(ends), -(-len(hosts) // len(ends))
                places[host] = (column / steps, (rank + 0.5) / rows)
            else:
                rank, ranks = number // 2, -(-len(hosts) // 2)
                beside = (rank + 0.5) / ranks - 0.5
                places[host] = ((1 + at + 0.5 * beside) / steps, float(number % 2))
    return places


def _routers_in_a_row(network: Network) -> list[str]:
    """Return the routers in the order in which they are reached from the first host."""
    row: list[str] = []
    met = [_neighbours(network, network.hosts[0])[0]]
    while met:
        router = met.pop(0)
        if router not in row:
            row.append(router)
            met += [each for each in _neighbours(network, router) if each in network.routers]
    return row + [each for each in network.routers if each not in row]


def _neighbours(network: Network, node: str) -> list[str]:
    ends = [(link.first, link.second) for link in network.links]
    return [b if a == node else a for a, b in ends if node in (a, b)]


def _direction_samples(
    job: Job, records: Sequence[Record], samples: QueueSamples
) -> dict[str, Any]:
    """Return the samples of a link's direction as columns, in s, bytes and packets."""
    delays = queue_delays(job, records, samples.direction, samples.path)
    step = -(-len(samples.at_ns) // MOST_SAMPLES)
    path = job.paths[samples.path]
    asked = path.down if samples.direction == "down" else path.up
    return {
        # Packets down begin at the second node of a link.
        "is_back": samples.direction == "down",
        "at_s": [at_ns / NS_PER_S for at_ns in samples.at_ns[::step]],
        "sent_bytes": list(samples.sent_bytes[::step]),
        "dropped": list(samples.dropped_packets[::step]),
        "queue_s": [delay_ns / NS_PER_S for delay_ns in delays.delay_ns[::step]],
        "delay_s": asked.delay_ns / NS_PER_S,
    }
