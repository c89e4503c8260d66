"""Derives how a page loads from its resources: which wait for which, and their priorities.

It simplifies the rules of the HTML standard. A stylesheet or a script in the head blocks rendering,
and the scripts after it. Nothing blocks requests: what a document refers to is requested as soon as
the document has arrived (browsers' preload scanners look beyond scripts that block the parser);
what a script or a stylesheet refers to, as soon as that has been processed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp import wire
from netwarp.fields import KeyValueError

_PRIORITIES: Mapping[wire.ResourceType, tuple[int, bool]] = {
    "document": (0, True),
    "stylesheet": (0, False),
    "font": (1, False),
    "script": (2, False),
    "fetch": (2, True),
    "image": (4, True),
    "other": (5, True),
}
"""For each type of resource: urgency, and whether incremental delivery is useful (RFC 9218), as in
browsers."""
_URGENCY_IN_HEAD = 1
"""Urgency of scripts that block rendering."""


@dataclass(frozen=True)
class SiteResource:
    """A resource of a page, without its dependencies and priority, which are derived later."""

    path: str
    """Path and query of the resource's URL."""
    type: wire.ResourceType
    body_bytes: int
    initiator: str | None = None
    """Path of the resource that refers to this one; None for the page's document."""
    in_head: bool = False
    """Whether the resource is in the document's head, neither `async` nor `defer`."""
    status: int = 200
    location: str | None = None
    """Path to which the resource redirects; None if it does not redirect."""
    file: str | None = None
    """File with the resource's content; None if the content is generated from the seed."""


def resources(page: Sequence[SiteResource]) -> tuple[wire.PageResource, ...]:
    """Return the page's resources with their dependencies and priorities.

    Args:
        page: the page's resources, the document first.

    Raises:
        KeyValueError: a resource is listed twice, or nothing refers to it; the error's key is None,
            and the caller adds the key that names the page.
    """
    places: dict[str, int] = {}
    for index, each in enumerate(page):
        if each.path in places:
            raise KeyValueError(None, each.path, "the page has it twice", "drop one of them")
        places[each.path] = index
    _refuse_what_never_loads(page, places)
    page = _initiators_first(page)
    places = {each.path: index for index, each in enumerate(page)}
    made = []
    blocking: list[int] = []
    for index, each in enumerate(page):
        urgency, incremental = _PRIORITIES[each.type]
        blocks = each.in_head and each.type in ("stylesheet", "script")
        in_head_script = blocks and each.type == "script"
        made.append(
            wire.PageResource(
                path=each.path,
                resource_type=each.type,
                body_bytes=each.body_bytes,
                file=each.file,
                status=each.status,
                location=each.location,
                initiator=None if each.initiator is None else places[each.initiator],
                blocked_by=tuple(blocking) if in_head_script else (),
                render_blocking=index == 0 or blocks,
                urgency=_URGENCY_IN_HEAD if in_head_script else urgency,
                incremental=incremental,
            )
        )
        if blocks:
            blocking.append(index)
    return tuple(made)


def _initiators_first(page: Sequence[SiteResource]) -> list[SiteResource]:
    """Sort resources so that each comes after its initiator, otherwise in the page's order."""
    by_path = {each.path: each for each in page}

    def distance(each: SiteResource) -> int:
        steps = 0
        while each.initiator is not None:
            each, steps = by_path[each.initiator], steps + 1
        return steps

    return sorted(page, key=distance)


def _refuse_what_never_loads(page: Sequence[SiteResource], places: Mapping[str, int]) -> None:
    for each in page[1:]:
        if each.initiator is None:
            reason = "nothing refers to it, and only the page's document is asked for unasked"
            raise KeyValueError(None, each.path, reason, "name what refers to it")
        seen = [each.path]
        while (initiator := page[places[seen[-1]]].initiator) is not None:
            if initiator not in places:
                reason = f"the page does not have {initiator}, which refers to it"
                raise KeyValueError(None, each.path, reason, "add that to the page")
            if initiator in seen:
                circle = " refers to ".join([initiator, *reversed(seen[seen.index(initiator) :])])
                reason = f"resources refer to each other in a circle: {circle}"
                raise KeyValueError(None, each.path, reason, "break the circle")
            seen.append(initiator)
