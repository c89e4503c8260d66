"""Networks that a study describes itself: ``[[host]]``, ``[[router]]`` and ``[[link]]``."""

from collections.abc import Mapping, Sequence

from netwarp.fields import KeyValueError
from netwarp.study.cells.factors import Level, factor_key
from netwarp.study.cells.layout import LaidLink, Layout, numbered, paired
from netwarp.study.cells.translation import laid_nats
from netwarp.study.sections.diagnose import validated
from netwarp.study.sections.hosts import (
    OWN_KEYS,
    TABLES,
    HostSection,
    LinkSection,
    RouterSection,
)
from netwarp.study.sections.topology import MOST_HOSTS
from netwarp.study.tables import Table, plain

MOST_NODES = 1 << 15
"""Maximum number of hosts and routers. The endpoint assigns each link a /24 of 10.0.0.0/8, and as
many are left for the links of routers that are added in front of hosts."""
LONGEST_NAME = 12
"""Maximum number of characters of a host's name, with its number: names of network devices in the
kernel may not be longer (`IFNAMSIZ`)."""


def writes_network(study: Table) -> bool:
    """Return whether a study describes its network itself."""
    return study.has(*TABLES)


def written_layout(study: Table, chosen: Mapping[str, Level]) -> Layout:
    """Return the layout of the network that a study describes.

    Args:
        study: the study's tables.
        chosen: the cell's levels, by factor.

    Raises:
        KeyValueError: the tables do not form a network; the error names the host, router or link.
    """
    for key in ("topology", "path"):
        if key in study:
            reason = "the study writes its hosts and links itself"
            raise KeyValueError(key, None, reason, f"drop [{key}], or [[host]] and [[link]]")
        for factor in (each for each in chosen if each.startswith(f"{key}.")):
            reason = f"the study writes its hosts and links itself, so there is no [{key}]"
            remedy = 'vary a link by its name, such as "link.NAME.loss"'
            raise KeyValueError(factor_key(factor), None, reason, remedy)
    hosts = [
        (place, validated(HostSection, table))
        for place, table in _with_levels(study, "host", chosen)
    ]
    routers = [
        (place, validated(RouterSection, table))
        for place, table in _with_levels(study, "router", chosen)
    ]
    groups = {host.name: _names(host) for _, host in hosts}
    places: dict[str, str] = {}
    for place, name in [
        *((place, name) for place, host in hosts for name in (host.name, *groups[host.name])),
        *((place, router.name) for place, router in routers),
    ]:
        if places.setdefault(name, place) != place:
            reason = "another host or router has this name"
            raise KeyValueError(f"{place}.name", name, reason, "choose another")
        if len(name) > LONGEST_NAME:
            reason = f"a name has {LONGEST_NAME} characters at most, its number included"
            raise KeyValueError(f"{place}.name", name, reason, "choose a shorter one")
    all_hosts = tuple(name for names in groups.values() for name in names)
    if len(all_hosts) > MOST_HOSTS:
        reason = f"there would be {len(all_hosts)} hosts"
        raise KeyValueError(hosts[-1][0], None, reason, f"have {MOST_HOSTS} at most")
    if len(all_hosts) + len(routers) > MOST_NODES:
        reason = f"10.0.0.0/8 has networks for the links of {MOST_NODES} hosts and routers"
        raise KeyValueError(routers[-1][0], None, reason, "have fewer")
    nodes = {**groups, **{router.name: (router.name,) for _, router in routers}}
    nodes |= {name: (name,) for name in all_hosts}
    links = [
        link
        for place, table in _with_one_ip_version(_with_levels(study, "link", chosen))
        for link in _links(place, table, nodes)
    ]
    _refuse_misplaced(hosts, links, all_hosts)
    return Layout(
        hosts=all_hosts,
        routers=tuple(router.name for _, router in routers),
        links=tuple(links),
        groups={name: names for name, names in groups.items() if names != (name,)},
        places=places,
        nats=laid_nats(routers, links),
        silent=tuple(router.name for _, router in routers if router.icmp == "dropped"),
    )


def _names(host: HostSection) -> tuple[str, ...]:
    return (host.name,) if host.count is None else numbered(host.name, host.count)


def _with_levels(study: Table, kind: str, chosen: Mapping[str, Level]) -> list[tuple[str, Table]]:
    """Return the tables of one kind with their study keys, changed by the levels of factors that
    name them.
    """
    written = study.find(kind)
    if written.value is None:
        return []
    if not isinstance(written.value, list):
        raise KeyValueError(kind, None, "not a list of tables", f"write [[{kind}]] for each")
    found = []
    for index in range(len(written.value)):
        table = Table.at(written.inside(str(index)), f"write [[{kind}]]")
        prefix = f"{kind}.{plain(table.find('name').value)}."
        for key, level in chosen.items():
            if key.startswith(prefix):
                table = table.with_value(level.written, *key.removeprefix(prefix).split("."))
        found.append((f"{kind}.{index}", table))
    return found


def _with_one_ip_version(links: Sequence[tuple[str, Table]]) -> list[tuple[str, Table]]:
    """Return the tables of all links, each with an IP version: a link that sets none gets the
    version of the first link that sets one. If no link sets one, the tables are unchanged.
    """
    version = next((table["ip"] for _, table in links if "ip" in table), None)
    inherited = {} if version is None else {"ip": version}
    return [
        (place, table if "ip" in table else table.replaced(inherited)) for place, table in links
    ]


def _links(place: str, table: Table, nodes: Mapping[str, Sequence[str]]) -> list[LaidLink]:
    """Return the links of a [[link]] table: one, or one for each host if it names several
    together.
    """
    section = validated(LinkSection, table.without([*(set(table) - OWN_KEYS)]))
    path = table.without(OWN_KEYS)
    for name in section.between:
        if name not in nodes:
            reason = "there is no host or router of this name"
            raise KeyValueError(f"{place}.between", name, reason, "add it, or choose another")
    firsts, seconds = (nodes[name] for name in section.between)
    pairs = paired(firsts, seconds)
    if pairs is None:
        reason = f"it is between {len(firsts)} and {len(seconds)}"
        remedy = "name one of them, or as many"
        raise KeyValueError(f"{place}.between", list(section.between), reason, remedy)
    return [
        LaidLink(
            first,
            second,
            path,
            name=section.name and (f"{section.name}{number}" if len(pairs) > 1 else section.name),
            place=place,
        )
        for number, (first, second) in enumerate(pairs, 1)
    ]


def _refuse_misplaced(
    hosts: Sequence[tuple[str, HostSection]], links: Sequence[LaidLink], all_hosts: Sequence[str]
) -> None:
    """Refuse a host with several links, links with the same name, and a network without links."""
    if len(all_hosts) < 2 or not links:
        reason = "there are fewer than two hosts" if links else "nothing connects the hosts"
        remedy = "add a [[host]]" if links else "add a [[link]]"
        raise KeyValueError(
            hosts[0][0] if hosts else links[0].place if links else "router", None, reason, remedy
        )
    linked: set[str] = set()
    names: set[str] = set()
    for link in links:
        for end in {link.first, link.second} & set(all_hosts):
            if end in linked:
                reason = f"{end} has another link, and there would be two routes from it"
                raise KeyValueError(f"{link.place}.between", None, reason, "put a router before it")
            linked.add(end)
        label = link.name or f"{link.first}-{link.second}"
        if label in names:
            reason = "another link has this name"
            raise KeyValueError(f"{link.place}.name", label, reason, "choose another")
        names.add(label)
