"""Draws the networks of a study's cells: hosts, routers, links, and the routes of flows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from textwrap import wrap
from typing import TYPE_CHECKING

from netwarp.report.calibration import loss_text
from netwarp.report.network_places import HostGroup, Place, groups_of, places_of
from netwarp.study.cells.path_direction import UNLIMITED_LIMIT_PACKETS
from netwarp.units import format_size
from netwarp.wire.network import nodes_between
from netwarp.wording import count, rate_text
from netwarp.workloads import WORKLOADS

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.wire import Ends, Exchange, Impairments, Job, Network

MARGIN_ACROSS, MARGIN_DOWN = 120.0, 56.0
"""Room for names around the nodes, in pixels."""
FLOW_GAP = 5.0
"""Distance between flows on the same link, in pixels."""
MOST_COLOURS = 6
"""Number of kinds of flows that have a colour; further ones are grey."""
NOTES_GAP, NOTE_LINE, NOTE_DESCENT = 18.0, 14.0, 5.0
"""Distance from a link to the notes above it, height of a note's line, and the part of a line below
its baseline, in pixels."""
LINE_CHARACTERS = 38
"""Maximum number of characters in a line beside a link, so that it stays between the link's
routers."""
MOST_TEXTS = 3
"""Maximum number of texts from different cells that are all shown for one link."""


@dataclass(frozen=True)
class DrawnNode:
    """A node in the drawing: a router, or several hosts that are alike."""

    place: Place
    name: str
    notes: list[str]
    """What the link of a host does to packets, such as delay and loss, as lines."""
    kind: str
    """`router`, `host`, or `hosts` for several."""


@dataclass(frozen=True)
class DrawnLink:
    """A link in the drawing, between two nodes."""

    first: Place
    second: Place
    notes: list[str]
    """What a link between routers does to packets, as lines."""
    has_rate: bool
    """Whether the link limits the rate of a direction, so that packets can queue there."""

    @property
    def notes_x(self) -> float:
        """Horizontal centre of the notes, in pixels."""
        return (self.first.x + self.second.x) / 2

    @property
    def notes_at(self) -> list[tuple[float, str]]:
        """The notes, each with the vertical place of its baseline in pixels."""
        first = self.notes_top + NOTE_LINE - NOTE_DESCENT
        return [(first + NOTE_LINE * index, note) for index, note in enumerate(self.notes)]

    @property
    def notes_top(self) -> float:
        """Upper edge of the notes, which are above the link, in pixels."""
        return (self.first.y + self.second.y) / 2 - NOTES_GAP - NOTE_LINE * len(self.notes)


@dataclass(frozen=True)
class DrawnFlow:
    """A flow in the drawing: workloads between the same groups of hosts, or programs on several of
    them.
    """

    points: str
    """Route of the flow's packets, as the points of an SVG polyline; empty for programs on several
    hosts, each of which may send to any other."""
    colour: int
    """Index of the flow's colour, from 0."""
    text: str


@dataclass(frozen=True)
class Drawing:
    """The drawing of a network; lengths are in pixels."""

    left: float
    top: float
    width: float
    height: float
    nodes: list[DrawnNode]
    links: list[DrawnLink]
    flows: list[DrawnFlow]
    alt: str
    """Description of the drawing, for readers who cannot see it."""
    note: str | None
    """Text on which network is drawn, if cells have different ones."""


def network_drawing(data: RunData) -> Drawing | None:
    """Draw the network of a study's cells; if there are several networks, the largest. None if
    cells have one client and one server.
    """
    jobs = [data.job(cell.runs[0].run) for cell in data.results.cells]
    return drawing_of([job for job in jobs if job is not None])


def drawing_of(jobs: Sequence[Job]) -> Drawing | None:
    """Draw the largest network among jobs; None if no job has a network.

    Args:
        jobs: one job of each cell.
    """
    networks = {job.network: job for job in jobs if job.network is not None}
    if not networks:
        return None
    largest = max(networks, key=lambda network: len(network.links))
    same = [job for job in jobs if job.network == largest]
    note = None
    if len(networks) > 1:
        sizes = " and ".join(map(str, sorted({len(network.hosts) for network in networks})))
        note = f"Cells have {len(networks)} networks, of {sizes} hosts: this is the largest."
    return _drawn(largest, same, note)


def _drawn(network: Network, jobs: Sequence[Job], note: str | None) -> Drawing:
    """Return the drawing of a network, with its description."""
    texts = _link_texts(network, jobs)
    exchanges = jobs[0].workloads
    clients = frozenset(each.ends.client for each in exchanges if each.ends is not None)
    host_texts = {}
    for link, does in zip(network.links, texts, strict=True):
        if link.first not in network.routers:
            host_texts[link.first] = does.lines("from it:", "to it:")
        if link.second not in network.routers:
            host_texts[link.second] = does.lines("to it:", "from it:")
    groups = groups_of(network, host_texts, clients)
    routers, hosts = places_of(network, groups)
    group_of = {name: index for index, group in enumerate(groups) for name in group.names}
    place_of = {**routers, **{name: hosts[index] for name, index in group_of.items()}}
    nodes = [_host_node(group, at) for group, at in zip(groups, hosts, strict=True)]
    nodes += [DrawnNode(at, name, [], "router") for name, at in routers.items()]
    flows = _flows(exchanges, network, groups, group_of, place_of)
    left = min(at.x for at in place_of.values()) - MARGIN_ACROSS
    links = _links(network, jobs[0], texts, place_of)
    top = min(at.y for at in place_of.values()) - MARGIN_DOWN
    top = min([top, *(link.notes_top for link in links)])
    return Drawing(
        left=left,
        top=top,
        width=max(at.x for at in place_of.values()) + MARGIN_ACROSS - left,
        height=max(at.y for at in place_of.values()) + MARGIN_DOWN - top,
        nodes=nodes,
        links=links,
        flows=flows,
        alt=_in_words(network, groups, texts, flows),
        note=note,
    )


def _host_node(group: HostGroup, place: Place) -> DrawnNode:
    kind = "hosts" if len(group.names) > 1 else "host"
    return DrawnNode(place, group.text, list(group.link_texts), kind)


def _links(
    network: Network, job: Job, texts: Sequence[LinkEffects], place_of: Mapping[str, Place]
) -> list[DrawnLink]:
    """Return the links as they are drawn: one between two nodes, whatever the number of hosts
    there.
    """
    drawn: dict[tuple[Place, Place], DrawnLink] = {}
    for link, path, does in zip(network.links, job.paths, texts, strict=True):
        ends = place_of[link.first], place_of[link.second]
        is_between_routers = {link.first, link.second} <= set(network.routers)
        arrows = ("→", "←") if ends[0].x <= ends[1].x else ("←", "→")
        lines = does.lines(*arrows) if is_between_routers else ()
        notes = [part for line in lines for part in wrap(line, LINE_CHARACTERS)]
        has_rate = path.down.rate_bit_s is not None or path.up.rate_bit_s is not None
        drawn[ends] = DrawnLink(*ends, notes, has_rate)
    return list(drawn.values())


@dataclass(frozen=True)
class LinkEffects:
    """The effects of a link on packets in each direction, such as delay and loss, in all cells;
    empty if there are none.
    """

    up: str
    down: str

    def lines(self, up_name: str, down_name: str) -> tuple[str, ...]:
        """Return a line for each direction that affects packets, or one line if both have the same
        effects.
        """
        if self.up == self.down:
            return (f"both ways: {self.up}",) if self.up else ()
        named = ((up_name, self.up), (down_name, self.down))
        return tuple(f"{name} {does}" for name, does in named if does)


def _link_texts(network: Network, jobs: Sequence[Job]) -> list[LinkEffects]:
    return [
        LinkEffects(
            up=_in_all_cells(_effects(job.paths[index].up) for job in jobs),
            down=_in_all_cells(_effects(job.paths[index].down) for job in jobs),
        )
        for index in range(len(network.links))
    ]


def _in_all_cells(cells: Iterable[Sequence[str]]) -> str:
    """Return as text the effects of one direction of a link in all cells, property by property."""
    return ", ".join(filter(None, map(_distinct, zip(*cells, strict=True))))


def _distinct(texts: Iterable[str]) -> str:
    """Return the different texts that cells have for one property as one text, in the order of the
    cells.
    """
    distinct = list(dict.fromkeys(texts))
    if len(distinct) > MOST_TEXTS:
        return f"{distinct[0]} to {distinct[-1]} ({len(distinct)} values)"
    if not all(distinct):
        return " or ".join(text or "nothing" for text in distinct) if any(distinct) else ""
    return _joined_by_or(distinct)


def _joined_by_or(texts: Sequence[str]) -> str:
    """Return texts joined by "or"; words with which all of them begin or end appear once."""
    words = [text.split(" ") for text in texts]
    head = _common_start(words)
    tail = _common_start([each[len(head) :][::-1] for each in words])[::-1]
    differing = [" ".join(each[len(head) : len(each) - len(tail)]) for each in words]
    if not all(differing):
        return " or ".join(texts)
    return " ".join([*head, " or ".join(differing), *tail])


def _common_start(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the words with which all lines begin."""
    columns = takewhile(lambda column: len(set(column)) == 1, zip(*lines, strict=False))
    return [column[0] for column in columns]


def _effects(impairments: Impairments) -> tuple[str, ...]:
    """Return the effects of one direction of a link on packets: a text for each property, "" if the
    link does not have it.
    """
    rate_bit_s, delay_ns = impairments.rate_bit_s, impairments.delay_ns
    lossy = impairments.loss.kind != "none"
    return (
        rate_text(rate_bit_s, unlimited=""),
        f"{delay_ns / 1e6:.4g} ms" if delay_ns else "",
        *_queue_texts(impairments),
        f"loses {loss_text(impairments.loss)}" if lossy else "",
    )


def _queue_texts(impairments: Impairments) -> tuple[str, str]:
    """Return the size of a direction's queue and its discipline as texts, "" if it has no queue.
    Where one netem has the queue and the delay line, its limit counts the packets of both.
    """
    discipline, shaper_bytes = impairments.discipline, impairments.shaper_queue_bytes
    if discipline is not None:
        return f"room for {count(discipline.limit_packets)} packets", discipline.kind
    if impairments.queue_packets is not None:
        return f"room for {count(impairments.queue_packets)} packets", "fifo"
    if shaper_bytes is not None:
        return f"room for {format_size(shaper_bytes)}", "fifo"
    if impairments.rate_bit_s is None or impairments.limit_packets >= UNLIMITED_LIMIT_PACKETS:
        return "", ""
    return f"{count(impairments.limit_packets)} packets, queued or in flight", "fifo"


def _flows(
    exchanges: Sequence[Exchange],
    network: Network,
    groups: Sequence[HostGroup],
    group_of: Mapping[str, int],
    place_of: Mapping[str, Place],
) -> list[DrawnFlow]:
    """Return the workloads as arrows; those between the same groups of hosts are one arrow."""
    alike: dict[tuple[int, int, str], list[tuple[Exchange, Ends]]] = {}
    of_programs = []
    for each in exchanges:
        if each.ends is None:
            continue
        if further := WORKLOADS[each.workload.kind].further_hosts(each):
            hosts = ", ".join((each.ends.client, each.ends.server, *further))
            text = f"{each.name}: programs on {hosts}, of which each may speak with any"
            of_programs.append(DrawnFlow("", MOST_COLOURS, text))
            continue
        key = group_of[each.ends.client], group_of[each.ends.server], each.workload.direction
        alike.setdefault(key, []).append((each, each.ends))
    drawn = []
    colours = min(len(alike), MOST_COLOURS + 1)
    for rank, ((client, server, direction), members) in enumerate(alike.items()):
        colour = min(rank, MOST_COLOURS)
        shift = FLOW_GAP * (colour - (colours - 1) / 2)
        way = [place_of[node] for node in nodes_between(network, members[0][1])]
        points = " ".join(f"{at.x:g},{at.y + shift:g}" for at in way)
        arrow = "→" if direction == "up" else "←"
        between = f"{groups[client].text} {arrow} {groups[server].text}"
        name = _named([exchange for exchange, _ in members])
        drawn.append(DrawnFlow(points, colour, f"{name}: {between}"))
    return drawn + of_programs


def _named(members: Sequence[Exchange]) -> str:
    if len(members) > MOST_TEXTS:
        kinds = Counter(each.workload.kind for each in members)
        return ", ".join(f"{count(n)} × {kind}" for kind, n in kinds.items())
    return ", ".join(each.name or each.workload.kind for each in members)


def _in_words(
    network: Network,
    groups: Sequence[HostGroup],
    texts: Sequence[LinkEffects],
    flows: Sequence[DrawnFlow],
) -> str:
    parts = [f"A network of {len(network.hosts)} hosts and {len(network.routers)} routers."]
    for link, does in zip(network.links, texts, strict=True):
        lines = does.lines(f"to {link.second}:", f"to {link.first}:")
        if lines and {link.first, link.second} <= set(network.routers):
            parts.append(f"Between {link.first} and {link.second}, {'; '.join(lines)}.")
    parts += [
        f"At {group.router}: {group.text}{''.join(f', {line}' for line in group.link_texts)}."
        for group in groups
    ]
    return " ".join([*parts, *(f"{flow.text}." for flow in flows)])
