"""Networks by the names of their shapes: dumbbell, star, incast, chain and parking lot.

Links that `[path]` describes come first, so that the report's path is one of them. Their first end
is on the side of the clients, which usually receive the content, so that `down` is towards these.
"""

import itertools
from collections.abc import Callable, Mapping

from netwarp.fields import KeyValueError
from netwarp.study.cells.layout import LaidLink, Layout, numbered
from netwarp.study.sections.diagnose import validated
from netwarp.study.sections.inheritance import completed
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.timeline import halves_ns
from netwarp.study.sections.topology import Shape, TopologySection
from netwarp.study.tables import Table, Written
from netwarp.units import format_duration

DELAYS = ("rtt", "delay", "delay_down", "delay_up", "profile")
"""Keys of a path that set its delay."""


def layout_of(topology: TopologySection, path: Table) -> Layout:
    """Return the layout of a named shape.

    Args:
        topology: the section with the shape and its size.
        path: the keys of a path for the shape's bottlenecks.

    Raises:
        KeyValueError: the study gives delays twice.
    """
    if topology.rtts:
        for key in DELAYS:
            if key in path:
                reason = f"topology.rtts has the round-trip times, and {key} would have one too"
                raise KeyValueError(path[key].place, None, reason, "keep one of them")
    return _SHAPES[topology.shape](topology, path)


def without_delays(path: Table) -> Table:
    """Return a path's table without its delays, and with the keys of its profile."""
    return completed(path).without(DELAYS)


def delays_ns(path: Table) -> tuple[int, int]:
    """Return the delays in a path's table in ns, first down, then up."""
    section = validated(PathSection, completed(path))
    return section.down.delay_ns, section.up.delay_ns


def delayed(path: Table, place: str, **delays: int) -> Table:
    """Return a path's table with the given delays in ns, as if they were written at `place`."""
    written = {key: Written(format_duration(each), place) for key, each in delays.items()}
    return path.replaced(written)


def _bare_link(path: Table, **delays: int) -> Table:
    """Return the table of a link that has the path's packet sizes and the given delays, but nothing
    else.
    """
    of_path = {key: path[key] for key in ("ip", "mtu") if key in path}
    return delayed(Table(of_path, path.place), "topology.rtts", **delays)


def _dumbbell(topology: TopologySection, path: Table) -> Layout:
    """Return the layout of pairs of hosts that share one link between two routers."""
    clients, servers = numbered("client", topology.size), numbered("server", topology.size)
    if topology.rtts:
        all_ns = [halves_ns(rtt_ns) for rtt_ns in topology.rtts]
    else:
        all_ns = [delays_ns(path)] * topology.size
    bottleneck = LaidLink("left", "right", without_delays(path))
    of_clients = (
        LaidLink(client, "left", _bare_link(path, delay_down=down_ns))
        for client, (down_ns, _) in zip(clients, all_ns, strict=True)
    )
    of_servers = (
        LaidLink("right", server, _bare_link(path, delay_up=up_ns))
        for server, (_, up_ns) in zip(servers, all_ns, strict=True)
    )
    return Layout(
        hosts=(*clients, *servers),
        routers=("left", "right"),
        links=(bottleneck, *of_clients, *of_servers),
        groups={"client": clients, "server": servers},
        usual=lambda index: (f"client{index + 1}", f"server{index + 1}"),
    )


def _star(topology: TopologySection, path: Table) -> Layout:
    """Return the layout of hosts around one switch."""
    hosts = numbered("host", topology.size)
    tables = (
        [delayed(path, "topology.rtts", rtt=rtt_ns) for rtt_ns in topology.rtts]
        if topology.rtts
        else [path] * topology.size
    )
    return Layout(
        hosts=hosts,
        routers=("switch",),
        links=tuple(
            LaidLink(host, "switch", table, name=host)
            for host, table in zip(hosts, tables, strict=True)
        ),
        groups={"host": hosts},
    )


def _incast(topology: TopologySection, path: Table) -> Layout:
    """Return the layout of several senders and one receiver around one switch."""
    senders = numbered("sender", topology.size)
    tables = (
        [delayed(_bare_link(path), "topology.rtts", rtt=rtt_ns) for rtt_ns in topology.rtts]
        if topology.rtts
        else [_bare_link(path)] * topology.size
    )
    of_senders = (
        LaidLink("switch", sender, table, name=sender)
        for sender, table in zip(senders, tables, strict=True)
    )
    return Layout(
        hosts=("receiver", *senders),
        routers=("switch",),
        links=(LaidLink("receiver", "switch", path, name="receiver"), *of_senders),
        groups={"sender": senders},
        usual=lambda _: ("receiver", "sender"),
    )


def _row(links: int, path: Table) -> tuple[tuple[str, ...], tuple[LaidLink, ...]]:
    """Return the names of routers in a row, and the links between them."""
    routers = numbered("router", links + 1)
    between = (
        LaidLink(first, second, path, name=f"hop{number}")
        for number, (first, second) in enumerate(itertools.pairwise(routers), 1)
    )
    return routers, tuple(between)


def _chain(topology: TopologySection, path: Table) -> Layout:
    """Return the layout of a client and a server with a row of routers between them."""
    routers, between = _row(topology.size, path)
    return Layout(
        hosts=("client", "server"),
        routers=routers,
        links=(*between, *_ends(routers, path)),
        usual=lambda _: ("client", "server"),
    )


def _ends(routers: tuple[str, ...], path: Table) -> tuple[LaidLink, LaidLink]:
    """Return the links to the hosts at both ends of a row of routers."""
    return (
        LaidLink("client", routers[0], _bare_link(path)),
        LaidLink(routers[-1], "server", _bare_link(path)),
    )


def _parking_lot(topology: TopologySection, path: Table) -> Layout:
    routers, between = _row(topology.size, path)
    left, right = numbered("left", topology.size), numbered("right", topology.size)
    of_left = (
        LaidLink(host, router, _bare_link(path))
        for host, router in zip(left, routers, strict=False)
    )
    of_right = (
        LaidLink(router, host, _bare_link(path))
        for host, router in zip(right, routers[1:], strict=True)
    )
    return Layout(
        hosts=("client", "server", *left, *right),
        routers=routers,
        links=(*between, *_ends(routers, path), *of_left, *of_right),
        groups={"left": left, "right": right},
    )


_SHAPES: Mapping[Shape, Callable[[TopologySection, Table], Layout]] = {
    "dumbbell": _dumbbell,
    "star": _star,
    "incast": _incast,
    "chain": _chain,
    "parking-lot": _parking_lot,
}
