"""The network of a job: hosts, routers and links, if it has more than one client and one server."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Annotated

from pydantic import Field

from netwarp.wire.base import DETAIL, U32, Asks, Wire
from netwarp.wire.path import Path

NodeName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,11}$")]


class Network(Wire):
    """Hosts and routers, and the links between them."""

    hosts: Annotated[tuple[NodeName, ...], DETAIL] = Field(min_length=2, strict=False)
    """Names of the hosts. They have at most twelve characters each, because names of network
    devices are made of them. Each host has one link."""
    routers: Annotated[tuple[NodeName, ...], DETAIL] = Field(min_length=1, strict=False)
    """Names of the routers."""
    links: Annotated[tuple[Link, ...], DETAIL] = Field(min_length=2, strict=False)
    """The links, in the order of the job's paths: which two nodes each path connects."""
    nats: Annotated[tuple[Nat, ...], Asks("a router that translates addresses (NAT)")] = Field(
        default=(), strict=False
    )
    """Routers that translate addresses. Left out: none."""
    silent: Annotated[tuple[NodeName, ...], Asks("a router that sends no ICMP")] = Field(
        default=(), strict=False
    )
    """Routers that send no ICMP messages, so that no sender learns that a packet was too big for a
    link, or that its hop limit was exceeded. Left out: none."""


class Link(Wire):
    """A cable between two nodes. Each direction's impairments are applied where packets leave a
    router; hosts apply none to what they send.
    """

    first: Annotated[NodeName, DETAIL]
    """The node at which the direction `up` begins, and `down` ends."""
    second: Annotated[NodeName, DETAIL]
    """The node at the other end."""
    name: Annotated[str | None, DETAIL] = None
    """The link's name; null for the default, which is formed from the names of its two nodes."""

    @property
    def label(self) -> str:
        """The link's name in metrics and tables; by default the names of its nodes, such as
        `left-right`.
        """
        return self.name or f"{self.first}-{self.second}"


class Nat(Wire):
    """A router that replaces the source address of packets to the outside by its own
    (masquerading), and keeps for each such flow a mapping by which replies are translated back.
    """

    router: Annotated[NodeName, DETAIL]
    """The router."""
    link: Annotated[U32, DETAIL]
    """Index of the link that leads to the outside."""
    random_ports: Annotated[bool, DETAIL] = False
    """Whether each new mapping gets a random outer port. Otherwise the mapping keeps the host's
    port if that is free."""
    timeout_s: Annotated[U32 | None, DETAIL] = None
    """Seconds without a packet after which a mapping of UDP or of an established TCP connection is
    forgotten. Left out: the kernel's own time-outs."""


class Ends(Wire):
    """The hosts of a workload."""

    client: Annotated[NodeName, DETAIL]
    """The host of the workload's client."""
    server: Annotated[NodeName, DETAIL]
    """The host of the workload's server."""
    links: Annotated[tuple[U32, ...], DETAIL] = Field(min_length=2, strict=False)
    """Indices of the links on the route with the fewest links from the client to the server, in
    order."""


def nodes_between(network: Network, ends: Ends) -> list[str]:
    """Return the names of the nodes on the route from a client to its server, both included."""
    nodes = [ends.client]
    for index in ends.links:
        link = network.links[index]
        nodes.append(link.second if link.first == nodes[-1] else link.first)
    return nodes


def path_between(network: Network, paths: Sequence[Path], ends: Ends) -> tuple[int, Path]:
    """Return the path between a client and a server as they see it: the slowest link, with the
    delays of all links.

    Returns:
        The index of the slowest link, and the path.
    """
    crossed: list[tuple[int, Path]] = []
    for index, at in zip(ends.links, nodes_between(network, ends), strict=False):
        path = paths[index]
        is_forward = network.links[index].first == at
        turned = path.model_copy(update={"down": path.up, "up": path.down})
        crossed.append((index, path if is_forward else turned))
    slowest, base = min(crossed, key=lambda each: _rate_bit_s(each[1]))
    ways = {
        direction: getattr(base, direction).model_copy(
            update={"delay_ns": sum(getattr(path, direction).delay_ns for _, path in crossed)}
        )
        for direction in ("down", "up")
    }
    mtu_bytes = min(path.mtu_bytes for _, path in crossed)
    return slowest, base.model_copy(update={**ways, "mtu_bytes": mtu_bytes})


def _rate_bit_s(path: Path) -> float:
    """Return the lower rate of a link's two directions, in bit/s."""
    return min(each.rate_bit_s or inf for each in (path.down, path.up))
