"""Whether a client got all of its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from netwarp.measure.select import of_kind
from netwarp.wire import Page, Record, Resource


def difference(page: Page, records: Sequence[Record]) -> str | None:
    """Say what a client recorded that cannot be; None if nothing."""
    loaded = of_kind(records, Resource)
    times = Counter(each.resource for each in loaded)
    for index, expected in enumerate(page.resources):
        if times[index] != 1:
            return f"{expected.path} has {times[index]} records"
    for each in loaded:
        if each.resource >= len(page.resources):
            return f"resource {each.resource} is not in the page of {len(page.resources)}"
        expected = page.resources[each.resource]
        if each.status != expected.status:
            return f"{expected.path} was answered with {each.status}, not {expected.status}"
        if each.bytes != expected.body_bytes:
            return f"{expected.path} has {each.bytes} of {expected.body_bytes} bytes"
        if page.verify and each.sha256 is None:
            return f"{expected.path} was not hashed, and was to be"
    return None
