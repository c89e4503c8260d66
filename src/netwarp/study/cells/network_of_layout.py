"""Makes the network of a job from a layout and its built links. Routers are added if packets that
hosts send are impaired.

Hosts do not impair packets that they send. So for a link that impairs them, a router is added
between the host and the link.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp import wire
from netwarp.study.cells.layout import Layout, Way
from netwarp.study.cells.path_direction import UNLIMITED_LIMIT_PACKETS
from netwarp.study.cells.translation import nats_of

BuiltLink = tuple[wire.Path, wire.Timeline]
"""A link of a job, with its events, in which the link has the path index 0."""


@dataclass(frozen=True)
class Between:
    """The hosts of a workload, and the links on the route between them."""

    client: str
    server: str
    way: Way


def network_of(
    layout: Layout, built: Sequence[BuiltLink]
) -> tuple[wire.Network, tuple[wire.Path, ...]]:
    """Return the network of a layout and its links. If a link impairs packets that a host sends, a
    further router is added in front of the host; the links between these routers and their hosts
    come last.
    """
    hosts = frozenset(layout.hosts)
    links: list[wire.Link] = []
    routers, further = list(layout.routers), []
    for link, (path, timeline) in zip(layout.links, built, strict=True):
        ends = {"first": link.first, "second": link.second}
        for end, sent in (("first", path.up), ("second", path.down)):
            has_work = _impairs(sent) or not timeline.is_empty or not layout.routers
            if ends[end] in hosts and has_work:
                port = _unused_name(routers, layout.hosts)
                routers.append(port)
                further.append((wire.Link(first=ends[end], second=port), path))
                ends[end] = port
        is_moved = (ends["first"], ends["second"]) != (link.first, link.second)
        name = link.name or (f"{link.first}-{link.second}" if is_moved else None)
        links.append(wire.Link(**ends, name=name))
    network = wire.Network(
        hosts=layout.hosts,
        routers=tuple(routers),
        links=(*links, *(link for link, _ in further)),
        nats=nats_of(layout),
        silent=layout.silent,
    )
    paths = [path for path, _ in built]
    return network, (*paths, *(_unimpaired(path) for _, path in further))


def _unused_name(routers: Sequence[str], hosts: Sequence[str]) -> str:
    """Return a name for the next router that is added in front of a host, which no other router and
    no host has.
    """
    taken = {*routers, *hosts}
    number = len(routers) + 1
    while f"port{number}" in taken:
        number += 1
    return f"port{number}"


def _impairs(sent: wire.Impairments) -> bool:
    """Return whether one direction of a link has impairments."""
    return sent.model_copy(update={"seed": 0}) != _NOTHING


def _unimpaired(like: wire.Path) -> wire.Path:
    """Return a link without impairments, with the same MTU and IP version as another link."""
    return like.model_copy(
        update={"attached": True, "neighbours": "warm", "down": _NOTHING, "up": _NOTHING}
    )


_NOTHING = wire.Impairments(
    delay_ns=0,
    jitter_ns=0,
    jitter_correlation=0.0,
    distribution="uniform",
    loss=wire.NoLoss(kind="none"),
    rate_bit_s=None,
    limit_packets=UNLIMITED_LIMIT_PACKETS,
    shaper_queue_bytes=None,
    discipline=None,
    reorder=wire.Reorder(ratio=0.0, correlation=0.0, gap=0),
    duplicate_ratio=0.0,
    corrupt_ratio=0.0,
    seed=0,
)
"""The settings of a direction without impairments."""


def ends_of(layout: Layout, between: Between, network: wire.Network) -> wire.Ends:
    """Return the hosts of a workload and all links between them, in the form of a job."""
    ports = {
        link.first: index for index, link in enumerate(network.links) if index >= len(layout.links)
    }
    way = [index for index, _ in between.way]
    first = [ports[between.client]] if between.client in ports else []
    last = [ports[between.server]] if between.server in ports else []
    return wire.Ends(client=between.client, server=between.server, links=(*first, *way, *last))


def timeline_of(timelines: Sequence[wire.Timeline]) -> wire.Timeline:
    """Merge the timelines of all links; in each of them, its link has the path index 0."""
    events = [
        event.model_copy(update={"path": index}) if index else event
        for index, timeline in enumerate(timelines)
        for event in timeline.events
    ]
    redraws, traces = (
        [
            each.model_copy(update={"path": index}) if index else each
            for index, timeline in enumerate(timelines)
            for each in getattr(timeline, kind)
        ]
        for kind in ("redraws", "traces")
    )
    events.sort(key=lambda event: event.at_ns)
    return wire.Timeline.of_checked(
        {"events": tuple(events), "redraws": tuple(redraws), "traces": tuple(traces)}
    )
