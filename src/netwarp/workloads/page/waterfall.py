"""The waterfall of a page load: when each resource was blocked, waited, and was received."""

from collections.abc import Iterator, Mapping, Sequence

from netwarp.measure.select import of_kind
from netwarp.wire import Page, Record, Resource
from netwarp.workloads.activity import Activity, Item, Phase, Tone

TONES: Mapping[str, Tone] = {"blocked": "start", "wait": "moving", "receive": "grade"}
"""Tones (which decide colours) of the HAR timings that a client without cache and name servers has;
`blocked` includes the setup of the resource's connection."""


def waterfall(page: Page, records: Sequence[Record]) -> Activity:
    """Return the phases of the resources that arrived, in the page's order, and milestones."""
    came = sorted(of_kind(records, Resource), key=lambda each: each.resource)
    return Activity(
        title="Resources",
        tones=TONES,
        items=[Item(page.resources[each.resource].path, list(_phases(each))) for each in came],
        milestones=list(_milestones(page, came)),
    )


def _phases(resource: Resource) -> Iterator[Phase]:
    """Yield the phases of a resource: waiting, request and response."""
    moments = (
        resource.fetch_start_ns,
        resource.request_start_ns,
        resource.response_start_ns,
        resource.response_end_ns,
    )
    for label, start_ns, end_ns in zip(TONES, moments[:-1], moments[1:], strict=True):
        yield Phase(start_ns, end_ns, label)


def _milestones(page: Page, came: Sequence[Resource]) -> Iterator[tuple[int, str]]:
    """Yield when the page was first rendered, and when it was loaded completely, if it was."""
    ends_ns = {each.resource: each.response_end_ns for each in came}
    fetched = [index for index in range(len(page.resources)) if page.is_fetched(index)]
    blocking = [index for index in fetched if page.resources[index].render_blocking]
    if all(index in ends_ns for index in blocking):
        yield max(ends_ns[index] for index in blocking), "first render"
    if all(index in ends_ns for index in fetched):
        yield max(ends_ns.values()), "page load"
