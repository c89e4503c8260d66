"""`page`: a web page over HTTP, loaded as a browser does."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.select import of_kind
from netwarp.wire import Job, Record, Resource
from netwarp.workloads.base import Activity, HttpArchive, Workload
from netwarp.workloads.page import verdict
from netwarp.workloads.page.archive import http_archive
from netwarp.workloads.page.metrics import PAGE_METRICS
from netwarp.workloads.page.section import PageSection
from netwarp.workloads.page.waterfall import waterfall


class PageWorkload(Workload[wire.Page]):
    """Times are those of the whole page."""

    section = PageSection
    wire_type = wire.Page
    metrics = PAGE_METRICS

    def content_bytes(self, job: Job) -> int:
        """Say how much the page weighs."""
        return sum(each.body_bytes for each in self.of(job).resources)

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Resource]:
        """Give the resources that the client got."""
        del job
        return of_kind(records, Resource)

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Say when the last resource had arrived."""
        del job
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
        return http_archive(job, self.of(job), records, title)
