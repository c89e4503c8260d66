"""The workload `page`: a web page loaded over HTTP as a browser does.

`built_in.py`, `har.py` and `directory.py` read pages, `resources.py` determines which resources
wait for which, and `programs.py` lists the browsers and servers that can be used.
"""

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.select import of_kind
from netwarp.wire import Connection, Job, PageLoad, Record, Resource
from netwarp.workloads.activity import Activity
from netwarp.workloads.base import (
    GUEST_MEMORY_BYTES,
    NO_FILES,
    NO_PROGRAMS,
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
"""Largest number of resources of a page that a server accepts from another host."""
BROWSER_START_CPU_S = 1.6
VISIT_CPU_S = 2.0
"""CPU time in s that Chromium takes in a guest to start and to load a page: together the mean of 98
first visits in nam-2021 (November 2026). Under heavy packet loss it is twice as much."""
BROWSER_MEMORY_BYTES = 3 << 30
"""Memory in bytes of a guest with a browser."""


class PageWorkload(Workload[wire.Page]):
    """Load of a web page; metrics are those of the whole page."""

    section = PageSection
    wire_type = wire.Page
    metrics = PAGE_METRICS
    content_records = ("resource",)
    programs = tuple(PROGRAMS.values())

    def needed_programs(self, job: Job) -> Sequence[Program]:
        """Return the browser and the web server of the host that a run needs."""
        page = self.of(job)
        return [PROGRAMS[each.kind] for each in (page.client, page.server) if each is not None]

    def programs_cpu_s(self, job: Job) -> float:
        """Estimate the CPU time that a browser takes to start and for each visit, in s."""
        return 0.0 if self.dials(job) else BROWSER_START_CPU_S + self.of(job).visits * VISIT_CPU_S

    def runs_programs(self, job: Job) -> bool:
        """Return whether the client or the server is a program of the host."""
        return bool(self.needed_programs(job))

    def dials(self, job: Job) -> bool:
        """Return whether netwarp itself opens the connections: its own client loads the page."""
        return self.of(job).client is None

    def memory_bytes(self, job: Job) -> int:
        """Return a guest's memory in bytes: more if a browser runs in it."""
        return GUEST_MEMORY_BYTES if self.dials(job) else BROWSER_MEMORY_BYTES

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return when the client first connected, or when the browser began to load."""
        loads = of_kind(records, PageLoad)
        return loads[0].navigation_start_ns if loads else super().start_ns(records)

    def content_bytes(self, job: Job) -> int:
        """Return the size of the page in bytes."""
        return sum(each.body_bytes for each in self.of(job).resources)

    def server_refusal(self, job: Job) -> str | None:
        """Return the reason why a server refuses the workload: it runs programs, reads files, or
        has too many resources. None if it accepts it.
        """
        resources = self.of(job).resources
        if self.runs_programs(job):
            return NO_PROGRAMS
        if any(each.file is not None for each in resources):
            return NO_FILES
        if len(resources) > MOST_SERVED_RESOURCES:
            return f"its page has {len(resources)} resources; {MOST_SERVED_RESOURCES} are allowed"
        return None

    def measured(self, job: Job, records: Sequence[Record]) -> Sequence[Record]:
        """Return the records of the last visit."""
        last = self.of(job).visits - 1
        return [
            each for each in records if not isinstance(each, Connection) or each.transfer == last
        ]

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Resource]:
        """Return the resources that the client received."""
        return of_kind(records, Resource)

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the last resource arrived, or, with a browser, when its load event
        occurred.
        """
        loads = of_kind(records, PageLoad)
        if loads:
            return loads[0].load_event_ns
        return max(each.response_end_ns for each in of_kind(records, Resource))

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return how the client's records contradict each other or the job; None if they do not."""
        return verdict.difference(self.of(job), records)

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return the time at which the last resource had arrived."""
        return max((each.response_end_ns for each in of_kind(records, Resource)), default=None)

    def activity(self, job: Job, records: Sequence[Record]) -> Activity:
        """Return the waterfall of the page's resources, for failed runs, too."""
        return waterfall(self.of(job), records)

    def http_archive(self, job: Job, records: Sequence[Record], title: str) -> HttpArchive | None:
        """Convert a page load to HAR, for failed runs, too."""
        return http_archive(job, self.of(job), self.measured(job, records), title)
