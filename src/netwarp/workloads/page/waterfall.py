"""What a page's resources waited for and when they came, as browser tools draw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from netwarp.measure.select import of_kind
from netwarp.wire import Page, Record, Resource
from netwarp.workloads.base import Activity, Item, Phase, Tone

TONES: Mapping[str, Tone] = {"blocked": "start", "wait": "moving", "receive": "grade"}
"""The timings of HAR that a client without a cache and name servers has; `blocked` includes the
time in which its connection was made."""


def waterfall(page: Page, records: Sequence[Record]) -> Activity:
    """Arrange the resources that came, in the page's order, and what was reached by then."""
    came = sorted(of_kind(records, Resource), key=lambda each: each.resource)
    return Activity(
        title="Resources",
        tones=TONES,
        items=[Item(page.resources[each.resource].path, list(_phases(each))) for each in came],
        milestones=list(_milestones(page, came)),
    )


def _phases(resource: Resource) -> Iterator[Phase]:
    moments = (
        resource.fetch_start_ns,
        resource.request_start_ns,
        resource.response_start_ns,
        resource.response_end_ns,
    )
    for label, start_ns, end_ns in zip(TONES, moments[:-1], moments[1:], strict=True):
        yield Phase(start_ns, end_ns, label)


def _milestones(page: Page, came: Sequence[Resource]) -> Iterator[tuple[int, str]]:
    """Say when what is shown first and when all was there, where it was."""
    ends_ns = {each.resource: each.response_end_ns for each in came}
    fetched = [index for index in range(len(page.resources)) if page.is_fetched(index)]
    blocking = [index for index in fetched if page.resources[index].render_blocking]
    if all(index in ends_ns for index in blocking):
        yield max(ends_ns[index] for index in blocking), "first render"
    if all(index in ends_ns for index in fetched):
        yield max(ends_ns.values()), "page load"
