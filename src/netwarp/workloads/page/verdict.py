"""Checks that a client received its whole page."""

from collections import Counter
from collections.abc import Sequence

from netwarp.measure.select import of_kind
from netwarp.wire import Page, PageLoad, Record, Resource


def difference(page: Page, records: Sequence[Record]) -> str | None:
    """Return how the client's records contradict each other or the job; None if they do not."""
    loaded = of_kind(records, Resource)
    times = Counter(each.resource for each in loaded)
    for index, expected in enumerate(page.resources):
        if times[index] != int(page.is_fetched(index)):
            return f"{expected.path} has {times[index]} records"
    for each in loaded:
        if each.resource >= len(page.resources):
            return f"resource {each.resource} is not in the page of {len(page.resources)}"
        expected = page.resources[each.resource]
        if each.status != expected.status:
            return f"{expected.path} was answered with {each.status}, not {expected.status}"
        if not page.may_use(each.http):
            return f"{expected.path} came over {each.http}, not over {page.http}"
        # A browser discards the content of a redirection.
        is_kept = page.client is None or expected.location is None
        if is_kept and each.bytes != expected.body_bytes:
            return f"{expected.path} has {each.bytes} of {expected.body_bytes} bytes"
        if page.verify and page.client is None and each.sha256 is None:
            return f"{expected.path} was not hashed, and was to be"
    if page.client is not None and not of_kind(records, PageLoad):
        return f"{page.client.kind} has not told of its load"
    return None
