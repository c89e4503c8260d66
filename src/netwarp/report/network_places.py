"""Computes where the nodes of a network are drawn; hosts that are alike are one node.

Networks are trees. The longest route between two routers is drawn from left to right; other routers
are below it. Hosts are on the free side of their router: at the left of the first router, at the
right of the last one, above and below those in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.wire import Network

COLUMN, ROW, HOST_ROW = 360.0, 250.0, 62.0
"""Distances between routers, across and down, and between hosts in a column, in pixels."""
HOST_REACH = 190.0
"""Distance from a router to the hosts beside it, in pixels."""
MOST_ALONE = 3
"""Maximum number of hosts that are alike but drawn one by one."""


@dataclass(frozen=True)
class HostGroup:
    """Hosts at one router whose links and workloads are alike, which are drawn as one node."""

    names: tuple[str, ...]
    router: str
    is_client: bool
    """Whether the hosts are clients of workloads; hosts without a workload count as servers."""
    link_texts: tuple[str, ...]
    """What each host's link does to packets, as text."""

    @property
    def text(self) -> str:
        """Return the group's name: its only host's, or those of its first and last host."""
        if len(self.names) == 1:
            return self.names[0]
        return f"{self.names[0]} – {self.names[-1]} ({len(self.names)} hosts)"


@dataclass(frozen=True)
class Place:
    """The position of a node in the drawing, in pixels."""

    x: float
    y: float


def groups_of(
    network: Network, link_texts: Mapping[str, tuple[str, ...]], clients: frozenset[str]
) -> list[HostGroup]:
    """Divide the hosts of a network into groups of hosts that are alike, and return these.

    Args:
        network: hosts, routers and links.
        link_texts: what the link of each host does to packets, as text.
        clients: the hosts that are clients of workloads.
    """
    routers = set(network.routers)
    alike: dict[tuple[str, bool, tuple[str, ...]], list[str]] = {}
    for link in network.links:
        host, router = (link.first, link.second)
        if host in routers:
            host, router = router, host
        if host not in routers:
            alike.setdefault((router, host in clients, link_texts[host]), []).append(host)
    return [
        HostGroup(tuple(names), router, is_client, texts)
        for (router, is_client, texts), hosts in alike.items()
        for names in ([hosts] if len(hosts) > MOST_ALONE else [[host] for host in hosts])
    ]


def places_of(
    network: Network, groups: Sequence[HostGroup]
) -> tuple[dict[str, Place], list[Place]]:
    """Return where all routers and all groups of hosts are drawn.

    Returns:
        The routers' places by name, and those of the groups in their order.
    """
    neighbours = _neighbouring_routers(network)
    spine = _longest_way(neighbours)
    columns, rows = _grid(neighbours, spine)
    offsets = _offsets(groups, [_side(group, spine, columns) for group in groups])
    reach = max((abs(offset.y) for offset in offsets), default=0.0)
    row_height = max(ROW, 2 * reach + HOST_ROW)
    routers = {
        router: Place(COLUMN * columns[router], row_height * rows[router])
        for router in network.routers
    }
    ats = [routers[group.router] for group in groups]
    return routers, [
        Place(at.x + offset.x, at.y + offset.y) for at, offset in zip(ats, offsets, strict=True)
    ]


def _neighbouring_routers(network: Network) -> dict[str, list[str]]:
    neighbours: dict[str, list[str]] = {router: [] for router in network.routers}
    for link in network.links:
        if link.first in neighbours and link.second in neighbours:
            neighbours[link.first].append(link.second)
            neighbours[link.second].append(link.first)
    return neighbours


def _longest_way(neighbours: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a longest route between two routers of a tree, beginning with the router that is named
    first.
    """
    names = list(neighbours)
    one_end = _farthest(neighbours, names[0])[-1]
    way = _farthest(neighbours, one_end)
    return way if names.index(way[0]) <= names.index(way[-1]) else way[::-1]


def _farthest(neighbours: Mapping[str, Sequence[str]], start: str) -> list[str]:
    """Return the route from a router to the one that is the most links away."""
    before: dict[str, str | None] = {start: None}
    waiting = deque([start])
    last = start
    while waiting:
        last = waiting.popleft()
        for other in neighbours[last]:
            if other not in before:
                before[other] = last
                waiting.append(other)
    way: list[str] = []
    at: str | None = last
    while at is not None:
        way.append(at)
        at = before[at]
    return way[::-1]


def _grid(
    neighbours: Mapping[str, Sequence[str]], spine: Sequence[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return a column and a row for each router: the longest route has row 0, and each branch has
    separate rows.
    """
    columns = {router: index for index, router in enumerate(spine)}
    rows = dict.fromkeys(spine, 0)
    for router in spine:
        waiting = [(router, other) for other in neighbours[router] if other not in columns]
        while waiting:
            parent, branch = waiting.pop()
            is_left = columns[router] < len(spine) / 2
            columns[branch] = columns[parent] + (1 if is_left else -1)
            rows[branch] = max(rows.values()) + 1
            waiting += [(branch, each) for each in neighbours[branch] if each not in columns]
    return columns, rows


def _side(group: HostGroup, spine: Sequence[str], columns: Mapping[str, int]) -> str:
    """Return the side of its router on which a group of hosts is drawn."""
    if len(columns) == 1:
        return "left" if group.is_client else "right"
    if group.router == spine[0]:
        return "left"
    if group.router == spine[-1] or group.router not in spine:
        return "right"
    return "above" if group.is_client else "below"


def _offsets(groups: Sequence[HostGroup], sides: Sequence[str]) -> list[Place]:
    """Return the offset of each group from its router, in pixels."""
    members: dict[tuple[str, str], list[int]] = {}
    for index, (group, side) in enumerate(zip(groups, sides, strict=True)):
        members.setdefault((group.router, side), []).append(index)
    offsets: dict[int, Place] = {}
    for (_, side), indices in members.items():
        for rank, index in enumerate(indices):
            offsets[index] = _offset(side, rank, len(indices))
    return [offsets[index] for index in range(len(groups))]


def _offset(side: str, rank: int, among: int) -> Place:
    """Return the offset of a group from its router, by its rank among the groups on that side."""
    if side in ("left", "right"):
        across = HOST_REACH if side == "right" else -HOST_REACH
        return Place(across, HOST_ROW * (rank - (among - 1) / 2))
    line, position = divmod(rank, 2)
    is_alone = rank == among - 1 and position == 0
    down = ROW / 2 + HOST_ROW * line
    across = 0.0 if is_alone else COLUMN / 2 * (position - 0.5)
    return Place(across, down if side == "below" else -down)
