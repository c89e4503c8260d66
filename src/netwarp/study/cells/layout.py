"""The layout of a cell's network: its hosts, routers and links, and which link leads where, before
the job is made.

A layout is that of a named shape, or of the study's own tables. It is a tree: between two hosts
there is one route.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from netwarp.fields import KeyValueError
from netwarp.study.tables import Table

Way = tuple[tuple[int, bool], ...]
"""The links on the route between two hosts: the index of each, and whether packets enter it at its
first end.
"""


@dataclass(frozen=True)
class LaidLink:
    """A link between two nodes of a layout, with the keys of a path that set its impairments."""

    first: str
    second: str
    table: Table
    name: str | None = None
    """The link's name in the study; None if it has none, so that the names of its ends are used."""
    place: str = "topology"
    """The study key of the link's table."""


@dataclass(frozen=True)
class LaidNat:
    """A router that translates addresses."""

    router: str
    link: int
    """Index of the link that leads to the outside, where translated addresses are used."""
    has_random_ports: bool
    timeout_s: int | None


@dataclass(frozen=True)
class Layout:
    """The network of a cell: hosts, routers, and links."""

    hosts: tuple[str, ...]
    routers: tuple[str, ...]
    links: tuple[LaidLink, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Hosts that a study can name together: `client` for `client1`, `client2`, and so on."""
    usual: Callable[[int], tuple[str, str]] | None = None
    """A function that returns client and server (hosts or groups) of a workload that names none, by
    the workload's index in the study; None if a workload has to name them."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The study key of each node's table; by default that of the shape."""
    nats: tuple[LaidNat, ...] = ()
    silent: tuple[str, ...] = ()
    """Routers that send no ICMP messages."""

    def __post_init__(self) -> None:
        self._refuse_loops()

    @cached_property
    def _parents(self) -> Mapping[str, tuple[str, int] | None]:
        """The nodes that can be reached from the first one, as a tree with the first one as root:
        the parent of each, and the index of the link to the parent.
        """
        links: dict[str, list[tuple[str, int]]] = {}
        for index, link in enumerate(self.links):
            links.setdefault(link.first, []).append((link.second, index))
            links.setdefault(link.second, []).append((link.first, index))
        root = (*self.hosts, *self.routers)[0]
        parents: dict[str, tuple[str, int] | None] = {root: None}
        waiting = [root]
        for node in waiting:
            for other, index in links.get(node, ()):
                if other not in parents:
                    parents[other] = (node, index)
                    waiting.append(other)
        return parents

    def joins(self, client: str, server: str) -> bool:
        """Return whether there is a route between two hosts."""
        return (client in self._parents) == (server in self._parents)

    def way(self, client: str, server: str) -> Way:
        """Return the links on the route from the client to the server, in a network in which all
        hosts are connected.
        """
        of_client, of_server = list(self._to_root(client)), list(self._to_root(server))
        while of_client and of_server and of_client[-1] == of_server[-1]:
            of_client.pop()
            of_server.pop()
        way = [(index, self.links[index].first == node) for node, index in of_client]
        back = [(index, self.links[index].second == node) for node, index in reversed(of_server)]
        return (*way, *back)

    def _to_root(self, node: str) -> Iterator[tuple[str, int]]:
        """Yield the nodes on the route from this one to the first node, each with the link to the
        next.
        """
        while (parent := self._parents[node]) is not None:
            yield node, parent[1]
            node = parent[0]

    def members(self, name: str) -> tuple[str, ...]:
        """Return the hosts for which a name stands: one host, or all hosts of a group; empty if
        there is neither.
        """
        return (name,) if name in self._all_hosts else self.groups.get(name, ())

    @cached_property
    def _all_hosts(self) -> frozenset[str]:
        return frozenset(self.hosts)

    @property
    def hosts_in_words(self) -> str:
        """Return the names of all hosts as text, groups as ranges."""
        grouped = {host for group in self.groups.values() for host in group}
        alone = [host for host in self.hosts if host not in grouped]
        return ", ".join([*alone, *map(joined_names, self.groups.values())])

    def place(self, node: str) -> str:
        """Return the study key of a node's table."""
        return self.places.get(node, "topology")

    def _refuse_loops(self) -> None:
        """Refuse a link between nodes that other links already connect, because there would be two
        routes.
        """
        parts = {node: node for node in (*self.hosts, *self.routers)}

        def part(node: str) -> str:
            while parts[node] != node:
                parts[node] = parts[parts[node]]
                node = parts[node]
            return node

        for link in self.links:
            first, second = part(link.first), part(link.second)
            if link.first == link.second:
                reason = f"it would be between {link.first} and itself"
                raise KeyValueError(link.place, None, reason, "choose another host or router")
            if first == second:
                ends = f"{link.first} and {link.second}"
                reason = f"there would be two routes between {ends}"
                raise KeyValueError(link.place, None, reason, "drop one of the links")
            parts[first] = second

    def refuse_islands(self) -> None:
        """Refuse a node that no links connect with the first host (an island).

        Raises:
            KeyValueError: there is such a node.
        """
        apart = [node for node in (*self.hosts, *self.routers) if node not in self._parents]
        if apart:
            reason = f"no links lead from {apart[0]} to {self.hosts[0]}"
            raise KeyValueError(self.place(apart[0]), None, reason, "add a [[link]]")


def paired(firsts: Sequence[str], seconds: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return the pairs of nodes of two groups: if one group has a single node, that node with each
    of the other group; else the first nodes of both, the second ones, and so on. None if the groups
    have different sizes.
    """
    if 1 not in (len(firsts), len(seconds)) and len(firsts) != len(seconds):
        return None
    pairs = max(len(firsts), len(seconds))
    both = [[*each] * (pairs if len(each) == 1 else 1) for each in (firsts, seconds)]
    return list(zip(*both, strict=True))


def numbered(word: str, count: int) -> tuple[str, ...]:
    """Return the names of a group of hosts: `client1`, `client2`, and so on."""
    return tuple(f"{word}{number}" for number in range(1, count + 1))


def joined_names(names: Sequence[str]) -> str:
    """Return several names as one text, with only the first and the last of them, for messages."""
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
