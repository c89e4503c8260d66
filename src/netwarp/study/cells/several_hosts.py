"""Makes the job of workloads between many hosts: a path for each link of the network, sized for the
workloads that use it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from netwarp import wire
from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.study.cells.cell_sections import CellSections, Crossing
from netwarp.study.cells.layout import Layout, Way, paired
from netwarp.study.cells.network_of_layout import (
    Between,
    BuiltLink,
    ends_of,
    network_of,
    timeline_of,
)
from netwarp.study.cells.programs import refuse_misplaced_programs
from netwarp.study.cells.shapes import delayed, without_delays
from netwarp.study.cells.translation import refuse_untranslatable
from netwarp.study.sections.competing import CompetingSection
from netwarp.study.sections.diagnose import validated
from netwarp.study.sections.inheritance import completed
from netwarp.study.sections.paths import PathSection
from netwarp.study.tables import Table
from netwarp.wire import Direction, Job

MOST_ROUTERS = 254
"""Maximum number of routers between two hosts: each decrements a packet's hop limit of 8 bits, and
drops packets with a hop limit of 1 (RFC 791, 3.2; RFC 8200, 3)."""
LinkBuilder = Callable[[Table, Crossing], BuiltLink]
"""A function that builds a link for a workload, from the link's table and how the workload uses
it.
"""


@dataclass(frozen=True)
class Placed:
    """A workload of a cell, with the hosts between which it runs."""

    sections: CellSections
    between: Between
    build: LinkBuilder
    place: str
    """The study key of the workload."""

    def crosses(self, index: int) -> bool | None:
        """Return in which direction the route from client to server crosses a link: True from the
        link's first end to its second; None if the route does not cross the link.
        """
        return self._crossed.get(index)

    @cached_property
    def _crossed(self) -> Mapping[int, bool]:
        return dict(self.between.way)


class Links:
    """The links of a layout, and the data needed to build the jobs of workloads that use them."""

    def __init__(self, layout: Layout) -> None:
        """Validate the links of a layout.

        Raises:
            KeyValueError: a link's keys contradict each other, or are not allowed for a link.
        """
        self.layout = layout
        self.texts = tuple(str(link.table.plain()) for link in layout.links)
        """A text for each link; links with the same keys have the same text."""
        self._sections: dict[str, PathSection] = {}
        for text, link in zip(self.texts, layout.links, strict=True):
            if text not in self._sections:
                self._sections[text] = validated(PathSection, completed(link.table))
                _refuse_what_links_lack(link.table, self._sections[text])
            if self._sections[text].ip != self._sections[self.texts[0]].ip:
                reason = "another link has another version of IP, and all links have the same"
                raise link.table.located(
                    KeyValueError("ip", None, reason, "give it to one link: the others have it too")
                )

    def section(self, index: int) -> PathSection:
        """Return the validated keys of a link."""
        return self._sections[self.texts[index]]

    def crossing(self, way: Way, index: int) -> Crossing:
        """Return how a workload with this route uses a link."""
        rtt_ns = sum(self.section(each).base_rtt_ns for each, _ in way)
        return Crossing(rtt_ns, dict(way).get(index, True))

    def alone(self, way: Way) -> tuple[Table, Crossing]:
        """Return the route between two hosts as one path: the table of its slowest link, but with
        the sum of all delays, and how the workload uses that link.
        """
        slowest, is_forward = min(way, key=lambda each: self._rate_bit_s(each[0]))
        delays_ns = dict.fromkeys(DIRECTIONS, 0)
        for index, goes_forward in way:
            for direction in DIRECTIONS:
                theirs = direction if goes_forward == is_forward else _other(direction)
                delays_ns[direction] += self.section(index).impairments(theirs).delay_ns
        link = self.layout.links[slowest]
        table = without_delays(link.table).without(["redraw"])
        tables = [self.layout.links[index].table for index, _ in way]
        smallest = min((each.mtu_bytes, index) for index, each in enumerate(map(self._of, way)))[1]
        if "mtu" in tables[smallest]:
            table = table.replaced({"mtu": tables[smallest]["mtu"]})
        table = delayed(table, link.place, delay_down=delays_ns["down"], delay_up=delays_ns["up"])
        return table, self.crossing(way, slowest)

    def _of(self, crossed: tuple[int, bool]) -> PathSection:
        return self.section(crossed[0])

    def _rate_bit_s(self, index: int) -> float:
        rates = [self.section(index).impairments(each).usual_rate_bit_s for each in DIRECTIONS]
        return min((rate for rate in rates if rate is not None), default=float("inf"))


def hosts_of(section: CompetingSection, index: int, layout: Layout) -> list[tuple[str, str]]:
    """Return the client and the server of a workload; if it names groups of hosts, those of each
    pair.

    Args:
        section: the workload's own keys.
        index: its index in the study, from 0.
        layout: the network.

    Raises:
        KeyValueError: there are no such hosts, or they do not form pairs.
    """
    usual = (None, None) if layout.usual is None else layout.usual(index)
    found: list[tuple[str, ...]] = []
    for key, asked, default in zip(
        ("from", "to"), (section.client, section.server), usual, strict=True
    ):
        where = f"workload.{index}.{key}"
        name = asked or default
        if name is None:
            reason = f"nothing says which host it is {key}"
            raise KeyValueError(where, None, reason, f"choose of {layout.hosts_in_words}")
        hosts = layout.members(name)
        if not hosts:
            reason = f"the hosts are {layout.hosts_in_words}"
            raise KeyValueError(where, name, reason, "choose one, or have more of them")
        found.append(hosts)
    clients, servers = found
    place = f"workload.{index}.to"
    pairs = paired(clients, servers)
    if pairs is None:
        reason = f"it is from {len(clients)} hosts to {len(servers)}"
        raise KeyValueError(place, section.server, reason, "name one host, or as many")
    for client, server in pairs:
        if client == server:
            reason = f"it would be between {client} and itself"
            raise KeyValueError(place, section.server, reason, "choose another host")
        if not layout.joins(client, server):
            reason = f"no links lead from {client} to {server}"
            raise KeyValueError(place, section.server, reason, "add a [[link]]")
    return pairs


def refuse_misfit(sections: CellSections, place: str) -> None:
    """Refuse a kind of workload that cannot run in a network of many hosts.

    Args:
        sections: the sections of the workload.
        place: the study key of the workload.

    Raises:
        KeyValueError: it cannot run there.
    """
    workload = sections.workload
    if not workload.takes_networks:
        reason = f"the programs of a {workload.kind} have one client and one server"
        remedy = "leave client and server to netwarp, or have no [topology] and no [[host]]"
        raise KeyValueError(f"{place}.kind", workload.kind, reason, remedy)


def _refuse_what_links_lack(table: Table, section: PathSection) -> None:
    """Refuse keys of a path that links between several hosts do not have."""
    lacking = {
        "second": ("there is one way between two hosts", section.second is not None),
        "handovers": ("hosts stay where they are", section.may_hand_over),
        "neighbours": ("hosts and routers know each other", section.known_neighbours == "cold"),
    }
    for key, (reason, is_asked) in lacking.items():
        if is_asked:
            raise table.located(KeyValueError(key, None, reason, "drop it"))


def in_network(job: Job, links: Links, workloads: Sequence[Placed]) -> Job:
    """Return the job for a network of several hosts.

    Args:
        job: the job with one path of all workloads together.
        links: the links of the network.
        workloads: the workloads, each with its hosts.

    Raises:
        KeyValueError: a link cannot be set up.
    """
    _refuse_random_times(links, workloads)
    if links.layout.nats and links.section(0).ip_version == 6:
        reason = "routers translate addresses of IPv4 alone"
        raise links.layout.links[0].table.located(KeyValueError("ip", 6, reason, "drop it, or nat"))
    for each in workloads:
        ends = (each.between.client, each.between.server)
        refuse_misplaced_programs(each.sections.workload, ends, links.layout, each.place)
        refuse_untranslatable(links.layout, each.between.way, each.sections.transport, each.place)
    built = tuple(_Sizing(links, workloads).links())
    network, paths = network_of(links.layout, built)
    exchanges = tuple(
        each.model_copy(update={"ends": ends_of(links.layout, placed.between, network)})
        for each, placed in zip(job.workloads, workloads, strict=True)
    )
    _refuse_long_ways(exchanges, [each.place for each in workloads])
    return job.model_copy(
        update={
            "paths": paths,
            "network": network,
            "workloads": exchanges,
            "timeline": timeline_of([timeline for _, timeline in built]),
        }
    )


def _refuse_long_ways(exchanges: Sequence[wire.Exchange], places: Sequence[str]) -> None:
    """Refuse a workload with so many routers between its hosts that packets would reach their hop
    limit.
    """
    for exchange, place in zip(exchanges, places, strict=True):
        ends = exchange.ends
        if ends is not None and (routers := len(ends.links) - 1) > MOST_ROUTERS:
            reason = f"{routers} routers are between {ends.client} and {ends.server}"
            remedy = f"have {MOST_ROUTERS} at most, with those before links of hosts"
            raise KeyValueError(f"{place}.to", ends.server, reason, remedy)


def _refuse_random_times(links: Links, workloads: Sequence[Placed]) -> None:
    """Refuse events at random times, unless they are on the first link, no other link has events,
    and the path of the first workload has them, too.
    """
    eventful = [index for index, _ in enumerate(links.texts) if links.section(index).events]
    random = [index for index in eventful if links.section(index).has_random_times]
    is_first = eventful == [0] and workloads[0].sections.path.has_random_times
    if random and not is_first:
        reason = "several links have events, and random times are of one"
        place = links.layout.links[random[0]].table.place
        raise KeyValueError(f"{place}.outages.jitter", None, reason, "drop it")


class _Sizing:
    """Builds each link with queues sized for the workloads that use it."""

    def __init__(self, links: Links, workloads: Sequence[Placed]) -> None:
        self._links, self._workloads = links, workloads
        self._built: dict[tuple[str, int, Crossing], BuiltLink] = {}

    def links(self) -> Iterator[BuiltLink]:
        """Yield each link of the network, with queues sized for the workloads that use it."""
        crossing: dict[int, list[Placed]] = {}
        for placed in self._workloads:
            for index, _ in placed.between.way:
                crossing.setdefault(index, []).append(placed)
        for index in range(len(self._links.layout.links)):
            yield self._link(index, crossing.get(index, self._workloads))

    def _link(self, index: int, crossing: Sequence[Placed]) -> BuiltLink:
        """Build a link. In each direction the size of the queue follows from the longest round-trip
        time of the workloads whose content goes that way.
        """
        section = self._links.section(index)
        rates = [section.impairments(direction).usual_rate_bit_s for direction in DIRECTIONS]
        if rates == [None, None]:
            return self._built_for(index, self._workloads[0], Crossing(0, is_forward=True))
        down, up = (self._sized(index, crossing, direction) for direction in DIRECTIONS)
        return down[0].model_copy(update={"up": up[0].up}), down[1]

    def _sized(self, index: int, crossing: Sequence[Placed], direction: Direction) -> BuiltLink:
        """Build a link with queues for the workload with the longest round-trip time in a
        direction.
        """
        found = [(each, self._links.crossing(each.between.way, index)) for each in crossing]
        that_way = [
            (each, crossed)
            for each, crossed in found
            if (each.sections.workload.content_direction == direction) == crossed.is_forward
        ]
        placed, crossed = max(that_way or found, key=lambda each: each[1].rtt_ns)
        return self._built_for(index, placed, crossed)

    def _built_for(self, index: int, placed: Placed, crossed: Crossing) -> BuiltLink:
        text, table = self._links.texts[index], self._links.layout.links[index].table
        known = (text, id(placed.sections.workload), crossed)
        if known not in self._built:
            self._built[known] = placed.build(table, crossed)
        return self._built[known]


def _other(direction: Direction) -> Direction:
    return "up" if direction == "down" else "down"
