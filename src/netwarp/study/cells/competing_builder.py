"""Builds cells in which several workloads share the path.

Each workload is first built as if it were alone, from its own table and levels. Combinations that
cannot share one pair of hosts are refused here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp import wire
from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.study.cells.builder import CellBuilder
from netwarp.study.cells.cell_sections import Crossing
from netwarp.study.cells.competing_refusals import refuse_misfits, refuse_stop
from netwarp.study.cells.factors import Level, factor_key
from netwarp.study.cells.named_workload import NamedWorkload
from netwarp.study.cells.network_of_layout import Between, BuiltLink
from netwarp.study.cells.several_hosts import Links, Placed, hosts_of, in_network, refuse_misfit
from netwarp.study.cells.shapes import layout_of
from netwarp.study.cells.written_network import writes_network, written_layout
from netwarp.study.sections.competing import ALL, FIRST_PORT, OWN_KEYS, CompetingSection
from netwarp.study.sections.diagnose import validated
from netwarp.study.sections.topology import TopologySection
from netwarp.study.tables import Table, Written, plain
from netwarp.suggestions import did_you_mean
from netwarp.units import format_duration
from netwarp.wire import Job
from netwarp.workloads import section_of

WORKLOADS_FACTOR = "workloads"
"""The factor whose levels name the workloads that run; at a level with one name that workload runs
alone.
"""
MOST_WORKLOADS = 1000
"""Maximum number of workloads in a run: each has two processes in the guest."""
OF_NETWORKS = ("workload.", "topology.", "host.", "router.", "link.")
"""Prefixes of the keys of factors that belong to the network or to one of several workloads. A
workload that is built as if it were alone does not have them."""
_TIMED = ("workload.start", "workload.stop", "workload.port", "workload.from", "workload.to")
"""Keys that workloads of every kind have if there are several, and that can be factors."""


@dataclass(frozen=True)
class _Member:
    """A workload before it is built. A table of the study defines one workload or several, of which
    this is one.
    """

    table: int
    """Index of the workload's table in the study, from 0."""
    name: str
    index: int
    ends: tuple[str, str] | None
    group: str | None


class CompetingBuilder:
    """Builds the cells of a study with several workloads."""

    def __init__(self, study: Table, workloads: Mapping[str, Table], keys: Sequence[str]) -> None:
        """Store a study's tables, those of its workloads by name, and the keys of its factors."""
        self._study = study
        self._names = tuple(workloads)
        self._tables = tuple(workloads.values())
        self._keys = keys
        self._builders: dict[tuple[str, int | None, str], CellBuilder] = {}
        self._has_small_packets = len(self._tables) > 1 and (
            any(section_of(table.text("kind")).may_send_small_packets for table in self._tables)
            or self._has_content_both_ways()
        )
        if "transport" in keys and all(map(self._has_own_transport, range(len(self._names)))):
            reason = "every workload has a transport of its own"
            remedy = f'vary one of them: "workload.{self._names[0]}.transport"'
            raise KeyValueError("factors.transport", None, reason, remedy)

    def build(self, chosen: Mapping[str, Level]) -> tuple[tuple[NamedWorkload, ...], Job]:
        """Return the workloads of a cell, and the job that its runs share.

        Raises:
            KeyValueError: the cell cannot be run; the error has the key that the user wrote.
        """
        running = self._running(chosen.get(WORKLOADS_FACTOR))
        links = self._links(chosen)
        members = [member for index in running for member in self._members(index, chosen, links)]
        if links is not None:
            links.layout.refuse_islands()
        if len(members) > MOST_WORKLOADS:
            reason = f"there would be {len(members)} workloads in a run"
            raise KeyValueError("workload", None, reason, f"have {MOST_WORKLOADS} at most")
        built = [self._built_alone(member, chosen, links) for member in members]
        workloads = tuple(workload for workload, _, _ in built)
        refuse_misfits([member.table for member in members], workloads)
        job = _job_of_all(workloads, [job for _, job, _ in built])
        if links is None:
            return workloads, job
        for member, workload in zip(members, workloads, strict=True):
            refuse_misfit(workload.sections, f"workload.{member.table}")
        return workloads, in_network(job, links, [each for _, _, each in built if each is not None])

    def _has_content_both_ways(self) -> bool:
        """Return whether the contents of workloads may cross a link in both directions, whichever
        of them a cell has: in each direction there are acknowledgements of the other, too.
        """

        def values(key: str, default: str) -> set[str]:
            found = (table.find(key).value for table in self._tables)
            return {default if value is None else str(plain(value)) for value in found}

        if any(key.rpartition(".")[2] in ("direction", "from", "to") for key in self._keys):
            return True
        crosses = (values("from", "client") & values("to", "server")) != set()
        return crosses or len(values("direction", "down")) > 1

    def _links(self, chosen: Mapping[str, Level]) -> Links | None:
        """Return the links between the hosts of a cell; None if it has one client and one
        server.
        """
        if writes_network(self._study):
            return Links(written_layout(self._study, chosen))
        own = {key: level for key, level in chosen.items() if key.startswith("topology.")}
        if "topology" not in self._study and not own:
            return None
        table = self._study.table("topology")
        for key, level in own.items():
            table = table.with_value(level.written, key.removeprefix("topology."))
        path = self._study.table("path")
        for key, level in chosen.items():
            if key.startswith("path."):
                path = path.with_value(level.written, *key.split(".")[1:])
        return Links(layout_of(validated(TopologySection, table), path))

    def _members(
        self, index: int, chosen: Mapping[str, Level], links: Links | None
    ) -> list[_Member]:
        """Return the workloads that a table of the study defines: one, or several if it names a
        group of hosts.
        """
        section = _section(self._timed_table(index, chosen))
        place = f"workload.{index}"
        if links is None:
            for key, host in (("from", section.client), ("to", section.server)):
                if host is not None:
                    reason = "there is one client and one server"
                    remedy = "drop it, or give [topology] or [[host]]"
                    raise KeyValueError(f"{place}.{key}", host, reason, remedy)
            return [_Member(index, section.name, index, None, None)]
        pairs = hosts_of(section, index, links.layout)
        if len(pairs) == 1:
            return [_Member(index, section.name, index, pairs[0], None)]
        if section.port is not None:
            reason = f"{len(pairs)} servers would listen on one port"
            raise KeyValueError(f"{place}.port", section.port, reason, "leave it to netwarp")
        return [
            _Member(
                index,
                f"{section.name}-{number + 1}",
                index + number * len(self._names),
                ends,
                section.name,
            )
            for number, ends in enumerate(pairs)
        ]

    def _running(self, level: Level | None) -> list[int]:
        """Return the indices of the workloads that a level of the factor `workloads` names,
        separated by `+`.
        """
        if level is None or level.label == ALL:
            return list(range(len(self._names)))
        named = [name.strip() for name in level.label.split("+")]
        for name in named:
            if name not in self._names:
                remedy = did_you_mean(name, [ALL, *self._names])
                key = factor_key(WORKLOADS_FACTOR)
                raise KeyValueError(key, level.label, f"no workload is called {name}", remedy)
        return [index for index, name in enumerate(self._names) if name in named]

    def _built_alone(
        self, member: _Member, chosen: Mapping[str, Level], links: Links | None
    ) -> tuple[NamedWorkload, Job, Placed | None]:
        """Build a workload as if it were alone. Return it, its job, and its client and server if
        the study has several hosts.
        """
        own = self._levels(member.table, chosen)
        for key in _TIMED:
            own.pop(key, None)
        table = self._timed_table(member.table, chosen)
        section = _section(table)
        port = section.port or FIRST_PORT + member.index
        if member.ends is None or links is None:
            builder = self._builder(member.table, section, table, self._study.table("path"))
            sections, job = builder.build(own)
            named = NamedWorkload(member.name, member.index, sections, section.start_ns, port, None)
            return named, job, None
        own = {key: level for key, level in own.items() if not key.startswith("path.")}
        between = Between(*member.ends, links.layout.way(*member.ends))
        path, crossing = links.alone(between.way)
        builder = self._builder(member.table, section, table, path)
        sections, job = builder.build(own, crossing)

        def of_link(link: Table, crossed: Crossing) -> BuiltLink:
            return self._builder(member.table, section, table, link).link(own, crossed)

        named = NamedWorkload(
            member.name, member.index, sections, section.start_ns, port, between, member.group
        )
        place = f"workload.{member.table}"
        return named, job, Placed(sections, between, of_link, place)

    def _timed_table(self, index: int, chosen: Mapping[str, Level]) -> Table:
        """Return a workload's table, with the levels of keys that workloads of every kind have."""
        prefix = f"workload.{self._names[index]}."
        timed = {
            key.removeprefix(prefix): level.written
            for key, level in chosen.items()
            if key.startswith(prefix) and f"workload.{key.removeprefix(prefix)}" in _TIMED
        }
        return self._tables[index].replaced(timed)

    def _levels(self, index: int, chosen: Mapping[str, Level]) -> dict[str, Level]:
        """Return a workload's levels, by the keys that they would have if the workload were
        alone.
        """
        prefix = f"workload.{self._names[index]}."
        own: dict[str, Level] = {}
        for key, level in chosen.items():
            if key.startswith(prefix):
                rest = key.removeprefix(prefix)
                is_transport = rest.partition(".")[0] == "transport"
                own[rest if is_transport else f"workload.{rest}"] = level
            elif key.startswith(OF_NETWORKS) or key == WORKLOADS_FACTOR:
                continue
            elif key != "transport" or not self._has_own_transport(index):
                own[key] = level
        given = self._tables[index].find("transport")
        if given.value is not None:
            if "transport" in own:
                reason = f"the workload {self._names[index]} has a transport in its table as well"
                remedy = "keep it in one place"
                raise KeyValueError(factor_key(f"{prefix}transport"), None, reason, remedy)
            own["transport"] = Level(str(plain(given.value)), plain(given.value), given.place)
        return own

    def _has_own_transport(self, index: int) -> bool:
        varied = f"workload.{self._names[index]}.transport" in self._keys
        return varied or self._tables[index].find("transport").value is not None

    def _builder(
        self, index: int, section: CompetingSection, table: Table, path: Table
    ) -> CellBuilder:
        """Return the builder of one workload's cells as if it were alone, with `stop` converted to
        a duration.

        Raises:
            KeyValueError: the workload has a `stop` and ends by itself, or has a duration as well.
        """
        lasts_ns = None if section.stop_ns is None else section.stop_ns - section.start_ns
        known = (section.name, lasts_ns, str(path.plain()))
        if known not in self._builders:
            workload = table.without(OWN_KEYS)
            if lasts_ns is not None:
                refuse_stop(workload, table["stop"])
                text = format_duration(lasts_ns)
                workload = workload.replaced({"duration": table["stop"].made(text)})
            transport = self._study.table("transport")
            if self._has_own_transport(index):
                transport = Table(transport, f"{table.place}.transport")
            study = self._study.replaced(
                {
                    "path": Written(path, path.place),
                    "workload": Written(workload, table.place),
                    "transport": Written(transport, transport.place),
                }
            )
            own = self._levels(index, dict.fromkeys(self._keys, Level("", None, "")))
            varied = "path" if "topology" in self._study else None
            keys = [key for key in own if key not in _TIMED and key.partition(".")[0] != varied]
            self._builders[known] = CellBuilder(
                study, keys, has_small_packets_beside=self._has_small_packets
            )
        return self._builders[known]


def _section(table: Table) -> CompetingSection:
    """Validate the keys that every workload has if there are several."""
    section = validated(CompetingSection, table.without([*(set(table) - OWN_KEYS)]))
    if section.stop_ns is not None and section.stop_ns <= section.start_ns:
        reason = f"it begins after {format_duration(section.start_ns)}"
        raise KeyValueError(table["stop"].place, table["stop"].value, reason, "choose a later stop")
    return section


def _job_of_all(workloads: Sequence[NamedWorkload], jobs: Sequence[Job]) -> Job:
    """Merge the jobs of workloads that share one path and one pair of hosts."""
    exchanges = tuple(
        wire.Exchange.of_checked(
            {
                "name": one.name,
                "group": one.group,
                "port": one.port,
                "start_ns": one.start_ns,
                "transport": _transport((one, job), jobs),
                "workload": job.only.workload,
            }
        )
        for one, job in zip(workloads, jobs, strict=True)
    )
    fields = {name: getattr(jobs[0], name) for name in Job.model_fields}
    return Job.of_checked(
        fields
        | {
            "paths": _paths(workloads, jobs),
            "timeline": _with_most_paths(jobs).timeline,
            "workloads": exchanges,
        }
    )


def _transport(one: tuple[NamedWorkload, Job], jobs: Sequence[Job]) -> wire.Transport:
    """Return the transport of one workload with the largest buffer of all jobs, unless the study
    sets the size.
    """
    workload, job = one
    largest_bytes = max(each.only.transport.buffer_bytes for each in jobs)
    if workload.sections.transport.buffer_bytes is not None:
        return job.only.transport
    return job.only.transport.model_copy(update={"buffer_bytes": largest_bytes})


def _with_most_paths(jobs: Sequence[Job]) -> Job:
    """Return the job with the most paths: one whose transport uses the second path, if any does."""
    return max(jobs, key=lambda job: len(job.paths))


def _paths(workloads: Sequence[NamedWorkload], jobs: Sequence[Job]) -> tuple[wire.Path, ...]:
    """Return the paths of a run. The queue of each direction is sized for the first workload whose
    content goes in that direction.
    """
    widest = _with_most_paths(jobs)
    sized_for = {
        direction: next(
            (
                job
                for one, job in zip(workloads, jobs, strict=True)
                if one.sections.workload.content_direction == direction
            ),
            widest,
        )
        for direction in DIRECTIONS
    }
    return tuple(
        path.model_copy(
            update={
                direction: getattr(sized_for[direction].paths[index], direction)
                for direction in DIRECTIONS
                if index < len(sized_for[direction].paths)
            }
        )
        for index, path in enumerate(widest.paths)
    )
