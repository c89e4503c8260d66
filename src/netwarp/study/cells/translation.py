"""Routers of a network that translate addresses (NAT): which of their links lead outside, and for
which workloads they work.
"""

from collections.abc import Iterator, Sequence

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.study.cells.cell_transport import CellTransport
from netwarp.study.cells.layout import LaidLink, LaidNat, Layout, Way
from netwarp.study.sections.hosts import RouterSection

_S = 1_000_000_000


def laid_nats(
    routers: Sequence[tuple[str, RouterSection]], links: Sequence[LaidLink]
) -> tuple[LaidNat, ...]:
    """Return the routers that translate addresses, each with its link to the outside.

    Args:
        routers: all routers of the study, each with its study key.
        links: all links.

    Raises:
        KeyValueError: a router has no link to the outside, or several, or has keys for NAT although
            it does not translate.
    """
    names = {router.name for _, router in routers}
    return tuple(_laid_nat(place, router, names, links) for place, router in _with_nat(routers))


def _with_nat(
    routers: Sequence[tuple[str, RouterSection]],
) -> Iterator[tuple[str, RouterSection]]:
    for place, router in routers:
        if router.nat:
            yield place, router
            continue
        for key in ("nat_ports", "nat_timeout"):
            if getattr(router, key) is not None:
                reason = "the router translates no addresses"
                raise KeyValueError(f"{place}.{key}", None, reason, "add nat = true, or drop it")


def _laid_nat(
    place: str, router: RouterSection, names: set[str], links: Sequence[LaidLink]
) -> LaidNat:
    """Return a router that translates addresses, with its link to the outside."""
    outside = [
        index
        for index, link in enumerate(links)
        if router.name in (link.first, link.second) and {link.first, link.second} <= names
    ]
    if len(outside) != 1:
        reason = f"its outside is its one link to another router, and it has {len(outside)}"
        remedy = "put its hosts on its inside, and one router on its outside"
        raise KeyValueError(f"{place}.nat", True, reason, remedy)
    timeout_ns = router.nat_timeout
    if timeout_ns is not None and (timeout_ns % _S or not _S <= timeout_ns < _S << 31):
        reason = "the kernel counts whole seconds, one at least"
        raise KeyValueError(f"{place}.nat_timeout", None, reason, 'write "30s"')
    return LaidNat(
        router=router.name,
        link=outside[0],
        has_random_ports=router.nat_ports == "random",
        timeout_s=None if timeout_ns is None else timeout_ns // _S,
    )


def nats_of(layout: Layout) -> tuple[wire.Nat, ...]:
    """Return the routers of a layout that translate addresses, in the form of a job."""
    return tuple(
        wire.Nat(
            router=nat.router,
            link=nat.link,
            random_ports=nat.has_random_ports,
            timeout_s=nat.timeout_s,
        )
        for nat in layout.nats
    )


def refuse_untranslatable(layout: Layout, way: Way, transport: CellTransport, place: str) -> None:
    """Refuse a workload whose packets a NAT between its hosts does not forward.

    Args:
        layout: the network.
        way: the links on the route from its client to its server.
        transport: the transport of the workload.
        place: the study key of the workload.

    Raises:
        KeyValueError: its server is behind a NAT, or a NAT does not know its transport.
    """
    crossed = dict(way)
    for nat in (nat for nat in layout.nats if nat.link in crossed):
        link = layout.links[nat.link]
        if crossed[nat.link] != (link.first == nat.router):
            reason = f"its server is behind {nat.router}, which translates addresses"
            remedy = "swap from and to: hosts behind a NAT open connections, and get none"
            raise KeyValueError(f"{place}.to", None, reason, remedy)
        traits = transport.traits
        if not traits.passes_nat:
            reason = (
                f"{nat.router} translates addresses; the guest's NAT has no ports of {traits.name}"
            )
            remedy = "choose another transport"
            raise KeyValueError(f"{place}.transport", transport.kind, reason, remedy)
