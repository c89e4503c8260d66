"""`page`: a web page over HTTP, loaded as a browser does."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.select import of_kind
from netwarp.wire import Connection, Job, PageLoad, Record, Resource
from netwarp.workloads.base import (
    GUEST_MEMORY_BYTES,
    NO_FILES,
    NO_PROGRAMS,
    Activity,
    HttpArchive,
    Program,
    Workload,
)
from netwarp.workloads.page import verdict
from netwarp.workloads.page.archive import http_archive
from netwarp.workloads.page.metrics import PAGE_METRICS
from netwarp.workloads.page.programs import PROGRAMS
from netwarp.workloads.page.section import PageSection
from netwarp.workloads.page.waterfall import waterfall

MOST_SERVED_RESOURCES = 2000
"""How many a server serves to another host."""
BROWSER_START_CPU_S = 2.0
VISIT_CPU_S = 2.5
"""CPU time of Chromium in a guest: until it can be told to load a page, and for a load; where many
packets are lost, it is twice as much."""
BROWSER_MEMORY_BYTES = 3 << 30
"""Memory of a guest with a browser and all that it maps."""


class PageWorkload(Workload[wire.Page]):
    """Times are those of the whole page."""

    section = PageSection
    wire_type = wire.Page
    metrics = PAGE_METRICS
    programs = tuple(PROGRAMS.values())

    def needed_programs(self, job: Job) -> Sequence[Program]:
        """Give the browser and the server, where they are not netwarp's own."""
        page = self.of(job)
        return [PROGRAMS[each.kind] for each in (page.client, page.server) if each is not None]

    def programs_cpu_s(self, job: Job) -> float:
        """Say what a browser takes, to start and to show the page as often as it visits it."""
        return 0.0 if self.dials(job) else BROWSER_START_CPU_S + self.of(job).visits * VISIT_CPU_S

    def runs_programs(self, job: Job) -> bool:
        """Say whether one end is a program of the machine."""
        return bool(self.needed_programs(job))

    def dials(self, job: Job) -> bool:
        """Say whether netwarp's own client loads the page."""
        return self.of(job).client is None

    def memory_bytes(self, job: Job) -> int:
        """Say how much memory a guest has: more where a browser runs in it."""
        return GUEST_MEMORY_BYTES if self.dials(job) else BROWSER_MEMORY_BYTES

    def start_ns(self, records: Sequence[Record]) -> int:
        """Say when the client first connected, or the browser was told to load the page."""
        loads = of_kind(records, PageLoad)
        return loads[0].navigation_start_ns if loads else super().start_ns(records)

    def content_bytes(self, job: Job) -> int:
        """Say how much the page weighs."""
        return sum(each.body_bytes for each in self.of(job).resources)

    def server_refusal(self, job: Job) -> str | None:
        """Refuse programs, files, and more resources than a server has for one run."""
        resources = self.of(job).resources
        if self.runs_programs(job):
            return NO_PROGRAMS
        if any(each.file is not None for each in resources):
            return NO_FILES
        if len(resources) > MOST_SERVED_RESOURCES:
            return f"its page has {len(resources)} resources; {MOST_SERVED_RESOURCES} are allowed"
        return None

    def measured(self, job: Job, records: Sequence[Record]) -> Sequence[Record]:
        """Give the records of the last visit."""
        last = self.of(job).visits - 1
        return [
            each for each in records if not isinstance(each, Connection) or each.transfer == last
        ]

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Resource]:
        """Give the resources that the client got."""
        del job
        return of_kind(records, Resource)

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Say when the last resource had arrived, or the browser says that the page is loaded."""
        del job
        loads = of_kind(records, PageLoad)
        if loads:
            return loads[0].load_event_ns
        return max(each.response_end_ns for each in of_kind(records, Resource))

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Say what the client recorded that cannot be."""
        return verdict.difference(self.of(job), records)

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Say when the last resource had arrived."""
        return max((each.response_end_ns for each in of_kind(records, Resource)), default=None)

    def activity(self, job: Job, records: Sequence[Record]) -> Activity:
        """Arrange what the page's resources waited for, as far as a run came."""
        return waterfall(self.of(job), records)

    def http_archive(self, job: Job, records: Sequence[Record], title: str) -> HttpArchive | None:
        """Write a load as HAR has it, as far as it came."""
        return http_archive(job, self.of(job), self.measured(job, records), title)
