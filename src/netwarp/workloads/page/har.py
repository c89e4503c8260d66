"""Reads a page from a HAR file that a browser has saved.

If a file has several pages, the first is read. A run has one server, which serves the resources of
other servers, too. Requests other than GET over HTTP, requests without a response, and repeated
ones are left out.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.regular_files import read_regular_file
from netwarp.workloads.page.resources import SiteResource

MOST_BYTES = 256 << 20
"""Maximum size of a HAR file in bytes. The file may contain the contents of responses, which are
ignored."""
_TYPES: Mapping[str, wire.ResourceType] = {
    "document": "document",
    "stylesheet": "stylesheet",
    "script": "script",
    "image": "image",
    "font": "font",
    "fetch": "fetch",
    "xhr": "fetch",
}
_TYPES_BY_MEDIA: Mapping[str, wire.ResourceType] = {
    "text/html": "document",
    "text/css": "stylesheet",
    "text/javascript": "script",
    "application/javascript": "script",
    "application/x-javascript": "script",
    "application/json": "fetch",
}
_BLOCKING_PRIORITIES = ("High", "VeryHigh")
"""Priorities in Chromium of scripts that block the parser. If the HAR has no priorities, all
scripts of the document block."""
_WITHOUT_CONTENT = (204, 304)
REMEDY = "save one with a browser's network tools"


def read_har(name: str) -> list[SiteResource]:
    """Read the resources of the page in a HAR file, the document first.

    Raises:
        UnreadableFileError: it cannot be read.
        KeyValueError: it is not a HAR, or has no page; its key is None.
    """
    try:
        log = json.loads(read_regular_file(Path(name), MOST_BYTES))["log"]
        return _site(_chosen(log))
    except (ValueError, RecursionError) as error:
        if isinstance(error, KeyValueError):
            raise
        raise KeyValueError(None, name, f"not a HAR: it is no JSON ({error})", REMEDY) from None
    except (AttributeError, KeyError, TypeError) as error:
        reason = f"not a HAR 1.2: {_what_is_missing(error)}"
        raise KeyValueError(None, name, reason, REMEDY) from None


def _what_is_missing(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _chosen(log: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the entries of the HAR for the page, in order of their requests."""
    pages: Sequence[Mapping[str, Any]] = log.get("pages") or ()
    first = pages[0]["id"] if pages else None
    entries = sorted(log["entries"], key=lambda each: str(each["startedDateTime"]))
    seen: set[str] = set()
    chosen = []
    for each in entries:
        url = each["request"]["url"].partition("#")[0]
        is_of_page = first is None or each.get("pageref", first) == first
        is_asked = each["request"]["method"] == "GET" and urlsplit(url).scheme in ("http", "https")
        if is_of_page and is_asked and each["response"]["status"] >= 200 and url not in seen:
            seen.add(url)
            chosen.append(each)
    if not chosen:
        raise KeyValueError(None, None, "no page was loaded in it", REMEDY)
    return chosen


def _site(entries: Sequence[Mapping[str, Any]]) -> list[SiteResource]:
    """Return the resources of a page, each with the resource that referred to it."""
    urls = [str(each["request"]["url"]).partition("#")[0] for each in entries]
    home = urlsplit(urls[0]).netloc
    paths = {url: _path(url, home) for url in urls}
    redirected = {
        urljoin(url, each["response"]["redirectURL"]): url
        for url, each in zip(urls, entries, strict=True)
        if each["response"].get("redirectURL")
    }
    site: list[SiteResource] = []
    for url, each in zip(urls, entries, strict=True):
        initiator = None
        if site:
            found = redirected.get(url) or _initiator(each)
            initiator = paths.get(found or "", paths[urls[0]])
        kind = _type(each)
        redirected_to = location = each["response"].get("redirectURL") or None
        if redirected_to:
            location = paths.get(urljoin(url, redirected_to), redirected_to)
        blocks = each.get("_priority", _BLOCKING_PRIORITIES[0]) in _BLOCKING_PRIORITIES
        is_first_hand = initiator == paths[urls[0]]
        site.append(
            SiteResource(
                path=paths[url],
                type=kind,
                body_bytes=_body_bytes(each["response"]),
                initiator=initiator,
                in_head=is_first_hand and (kind == "stylesheet" or (kind == "script" and blocks)),
                status=int(each["response"]["status"]),
                location=location,
            )
        )
    return site


def _path(url: str, home: str) -> str:
    """Return the path to request from the run's server; for URLs of other servers it begins with
    the server's name.
    """
    parts = urlsplit(url)
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    return f"{path}{query}" if parts.netloc == home else f"/{parts.netloc}{path}{query}"


def _initiator(entry: Mapping[str, Any]) -> str | None:
    """Return the URL of the resource that referred to this one; None if the HAR does not have
    it.
    """
    found = entry.get("_initiator")
    if isinstance(found, Mapping):
        frames = (found.get("stack") or {}).get("callFrames") or [{}]
        url = found.get("url") or frames[0].get("url")
        return str(url).partition("#")[0] if url else None
    fields = entry["request"].get("headers") or ()
    return next((str(f["value"]) for f in fields if str(f["name"]).lower() == "referer"), None)


def _type(entry: Mapping[str, Any]) -> wire.ResourceType:
    """Return the type of a resource, from the type or media type in the HAR."""
    known = _TYPES.get(str(entry.get("_resourceType", "")).lower())
    if known is not None:
        return known
    media = str(entry["response"]["content"].get("mimeType", "")).partition(";")[0].strip().lower()
    if media.startswith("image/"):
        return "image"
    if "font" in media:
        return "font"
    return _TYPES_BY_MEDIA.get(media, "other")


def _body_bytes(response: Mapping[str, Any]) -> int:
    """Return the size of the content in bytes, as transferred if the HAR has that, else
    uncompressed.
    """
    if response["status"] in _WITHOUT_CONTENT:
        return 0
    sizes = (response.get("bodySize", -1), response["content"].get("size", 0))
    return max(0, next((int(size) for size in sizes if size > 0), 0))
