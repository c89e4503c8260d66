"""Makes the job of several workloads one of many hosts: pairs of them that share a bottleneck.

The job's paths are the links of its network: the bottleneck first, then the link of each client,
then that of each server. All lead away from the clients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from netwarp import wire
from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.sizing import UNLIMITED_LIMIT_PACKETS, queue_packets
from netwarp.study.sections.competing import CompetingSection
from netwarp.study.sections.timeline import halves_ns
from netwarp.study.sections.topology import TopologySection
from netwarp.study.tables import Table, Written
from netwarp.units import format_duration
from netwarp.wire import Direction, Job

KINDS = ("bulk", "rr")
"""The workloads that hosts of a network can have."""
_DELAYS = ("rtt", "delay", "delay_down", "delay_up", "profile")
"""Keys of a path that say what `topology.rtts` says."""


@dataclass(frozen=True)
class Between:
    """The hosts of a workload, each by its number from 1."""

    client: int
    server: int


def hosts_of(section: CompetingSection, index: int, topology: TopologySection) -> Between:
    """Give the hosts of a workload: those that it names, or else the pair of its own number.

    Args:
        section: the workload's own keys.
        index: its index in the study, from 0.
        topology: the study's hosts.

    Raises:
        KeyValueError: there is no such host.
    """
    found = []
    for key, word, asked in (("from", "client", section.client), ("to", "server", section.server)):
        names = [f"{word}{number}" for number in range(1, topology.hosts + 1)]
        name = f"{word}{index + 1}" if asked is None else asked
        if name not in names:
            reason = f"the {word}s are {names[0]} to {names[-1]}"
            where = f"workload.{index}.{key}"
            raise KeyValueError(where, asked, reason, "choose one, or have more pairs")
        found.append(names.index(name) + 1)
    return Between(*found)


def path_of(path: Table, topology: TopologySection, between: Between) -> Table:
    """Give the table of the path between two hosts: that of the study with their delays.

    Raises:
        KeyValueError: the study gives the path a delay as well.
    """
    if not topology.rtts:
        return path
    for key in _DELAYS:
        if key in path:
            raise refused_delay(path[key].place, key)
    down_ns, up_ns = _delays_ns(topology, between)
    if between.client == between.server:
        delays = {"rtt": down_ns + up_ns}
    else:
        delays = {"delay_down": down_ns, "delay_up": up_ns}
    return path.replaced(
        {
            key: Written(format_duration(delay_ns), "topology.rtts")
            for key, delay_ns in delays.items()
        }
    )


def refused_delay(place: str, key: str) -> KeyValueError:
    """Make the refusal of a path's delay beside `topology.rtts`."""
    reason = f"topology.rtts has the round-trip times, and {key} would have one too"
    return KeyValueError(place, None, reason, "keep one of them")


def refuse_misfit(sections: CellSections, index: int) -> None:
    """Refuse a workload or a path that a network of many hosts does not have.

    Raises:
        KeyValueError: it has it.
    """
    path, workload = sections.path, sections.workload
    if workload.kind not in KINDS:
        reason = f"hosts of a topology have workloads of {' and '.join(KINDS)}"
        raise KeyValueError(f"workload.{index}.kind", workload.kind, reason, "choose one of them")
    lacking = {
        "second": path.second is not None,
        "handovers": path.may_hand_over,
        "redraw": path.redraw is not None,
        "neighbours": path.known_neighbours == "cold",
        "jitter": any(path.impairments(each).jitter_ns for each in DIRECTIONS),
        "reorder": any(path.impairments(each).reorders for each in DIRECTIONS),
        "timeline": any(isinstance(each.change, wire.Delay) for each in path.events),
    }
    for key, is_asked in lacking.items():
        if is_asked:
            reason = "what several hosts share has no delay of its own, and stays as it is"
            raise KeyValueError(f"path.{key}", None, reason, "drop it, or drop [topology]")


def in_dumbbell(
    job: Job,
    topology: TopologySection,
    workloads: Sequence[tuple[CellSections, Between, Job]],
) -> Job:
    """Make a job with one path one of a dumbbell.

    Args:
        job: that of all workloads together.
        topology: the study's hosts.
        workloads: of each workload the sections, the hosts, and the job if it were alone.

    Raises:
        KeyValueError: packets are to be captured.
    """
    if job.capture:
        reason = "packets of several hosts are not captured"
        raise KeyValueError("capture", "pcap", reason, "drop it, or drop [topology]")
    hosts = range(1, topology.hosts + 1)
    usual = workloads[0][0].path
    delays_ns = {
        number: _delays_ns(topology, Between(number, number))
        if topology.rtts
        else (usual.down.delay_ns, usual.up.delay_ns)
        for number in hosts
    }
    bottleneck = job.paths[0].model_copy(
        update={direction: _bottleneck(direction, workloads) for direction in DIRECTIONS}
    )
    of_clients = (_link(job.paths[0], {"down": delays_ns[number][0]}) for number in hosts)
    of_servers = (_link(job.paths[0], {"up": delays_ns[number][1]}) for number in hosts)
    exchanges = (
        each.model_copy(
            update={
                "ends": wire.Ends(
                    client=f"client{between.client}",
                    server=f"server{between.server}",
                    links=(between.client, 0, topology.hosts + between.server),
                )
            }
        )
        for each, (_, between, _) in zip(job.workloads, workloads, strict=True)
    )
    return job.model_copy(
        update={
            "paths": (bottleneck, *of_clients, *of_servers),
            "network": _network(topology.hosts),
            "workloads": tuple(exchanges),
        }
    )


def _delays_ns(topology: TopologySection, between: Between) -> tuple[int, int]:
    """Give the delays down, on the client's link, and up, on the server's."""
    down_ns, _ = halves_ns(topology.rtts[between.client - 1])
    _, up_ns = halves_ns(topology.rtts[between.server - 1])
    return down_ns, up_ns


def _bottleneck(
    direction: Direction, workloads: Sequence[tuple[CellSections, Between, Job]]
) -> wire.Impairments:
    """Give a direction of the bottleneck, its queue sized for the longest round-trip time of the
    workloads whose content goes that way.
    """
    that_way = [
        each for each in workloads if each[0].workload.content_direction == direction
    ] or workloads
    sections, _, job = max(that_way, key=lambda each: each[0].path.base_rtt_ns)
    impairments: wire.Impairments = getattr(job.paths[0], direction)
    own: dict[str, int] = {"delay_ns": 0}
    if impairments.rate_bit_s is not None and impairments.shaper_queue_bytes is None:
        own["limit_packets"] = queue_packets(sections, direction)
    return impairments.model_copy(update=own)


def _link(path: wire.Path, delays_ns: Mapping[Direction, int]) -> wire.Path:
    """Give a link to a host, which has a delay in one direction and nothing else."""
    return path.model_copy(
        update={direction: _delay(delays_ns.get(direction, 0)) for direction in DIRECTIONS}
    )


@cache
def _delay(delay_ns: int) -> wire.Impairments:
    return wire.Impairments(
        delay_ns=delay_ns,
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


@cache
def _network(pairs: int) -> wire.Network:
    """Give the hosts, the routers and the links of a dumbbell."""
    clients = tuple(f"client{number}" for number in range(1, pairs + 1))
    servers = tuple(f"server{number}" for number in range(1, pairs + 1))
    links = [("left", "right")]
    links += [(client, "left") for client in clients] + [("right", server) for server in servers]
    return wire.Network(
        hosts=(*clients, *servers),
        routers=("left", "right"),
        links=tuple(wire.Link(first=first, second=second) for first, second in links),
    )
