"""Converts a page load to HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/).

Developer tools of browsers can open it. Names that begin with an underscore are browsers' additions
to HAR. Time 0 of the run is the beginning of 1970.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from netwarp import wire
from netwarp.measure.select import connections, of_kind
from netwarp.transports import TRANSPORTS
from netwarp.units import NS_PER_MS
from netwarp.wire import Connection, Job, Page, PageResource, Record, Resource
from netwarp.workloads.base import HttpArchive

UNKNOWN = -1
"""HAR's value for an unknown number, or a time that does not apply."""
MEDIA_TYPES: Mapping[wire.ResourceType, str] = {
    "document": "text/html; charset=utf-8",
    "stylesheet": "text/css",
    "script": "text/javascript",
    "image": "image/webp",
    "font": "font/woff2",
    "fetch": "application/json",
    "other": "application/octet-stream",
}
"""Media types by type of resource, as the server sends them."""
PROTOCOLS: Mapping[wire.Http, str] = {"h1": "http/1.1", "h2": "h2", "h3": "h3"}
"""ALPN identifiers, with which the Performance API names versions of HTTP (`nextHopProtocol`)."""


def http_archive(job: Job, page: Page, records: Sequence[Record], title: str) -> HttpArchive:
    """Convert a page load to a HAR page and its entries; of a failed run, those that arrived.

    Args:
        job: the run's job.
        page: the job's workload.
        records: the run's records.
        title: the page's title.
    """
    came = sorted(of_kind(records, Resource), key=lambda each: (each.fetch_start_ns, each.resource))
    opened = {each.connection: each for each in connections(records, "client")}
    scheme = "https" if TRANSPORTS[job.only.transport.kind].is_encrypted else "http"
    start_ns = min((each.fetch_start_ns for each in came), default=0)
    is_whole = len(came) == sum(map(page.is_fetched, range(len(page.resources))))
    end_ns = max((each.response_end_ns for each in came), default=0)
    har_page = {
        "startedDateTime": _moment(start_ns),
        "id": job.run,
        "title": title,
        "pageTimings": {"onLoad": _ms(end_ns - start_ns) if is_whole else UNKNOWN},
    }
    origin = f"{scheme}://netwarp.test"
    entries = [_entry(job.run, origin, page, each, opened.get(each.connection)) for each in came]
    return HttpArchive(har_page, entries)


def _entry(
    run: str, origin: str, page: Page, came: Resource, connection: Connection | None
) -> dict[str, Any]:
    """Return the HAR entry of one resource."""
    resource = page.resources[came.resource]
    timings = _timings(came, connection)
    protocol = PROTOCOLS[came.http]
    entry = {
        "pageref": run,
        "startedDateTime": _moment(came.fetch_start_ns),
        "time": _ms(came.response_end_ns - came.fetch_start_ns),
        "request": _request(origin + resource.path, protocol),
        "response": _response(resource, came, protocol),
        "cache": {},
        "timings": timings,
        "connection": str(came.connection),
        "_resourceType": resource.resource_type,
    }
    if resource.initiator is not None:
        url = origin + page.resources[resource.initiator].path
        entry["_initiator"] = {"type": "parser", "url": url}
    return entry


def _request(url: str, protocol: str) -> dict[str, Any]:
    """Return the request of a HAR entry."""
    return {
        "method": "GET",
        "url": url,
        "httpVersion": protocol,
        "cookies": [],
        "headers": [],
        "queryString": [],
        "headersSize": UNKNOWN,
        "bodySize": 0,
    }


def _response(resource: PageResource, came: Resource, protocol: str) -> dict[str, Any]:
    """Return the response of a HAR entry."""
    phrases = {status.value: status.phrase for status in HTTPStatus}
    return {
        "status": came.status,
        "statusText": phrases.get(came.status, ""),
        "httpVersion": protocol,
        "cookies": [],
        "headers": [],
        "content": {"size": came.bytes, "mimeType": MEDIA_TYPES[resource.resource_type]},
        "redirectURL": resource.location or "",
        "headersSize": UNKNOWN,
        "bodySize": came.bytes,
    }


def _timings(came: Resource, connection: Connection | None) -> dict[str, float]:
    """Return the parts of a resource's load time in HAR's form; the time to connect belongs to the
    connection's first request.

    TLS has no separate part, because its time is not known. For a browser's connections no times
    are known.
    """
    blocked_ns, connect_ns = came.request_start_ns - came.fetch_start_ns, None
    if came.request == 0 and connection is not None:
        since_ns = max(came.fetch_start_ns, connection.start_ns)
        connect_ns = max(0, connection.connected_ns - since_ns)
        blocked_ns = max(0, blocked_ns - connect_ns)
    return {
        "blocked": _ms(blocked_ns),
        "dns": UNKNOWN,
        "connect": UNKNOWN if connect_ns is None else _ms(connect_ns),
        "send": 0,
        "wait": _ms(came.response_start_ns - came.request_start_ns),
        "receive": _ms(came.response_end_ns - came.response_start_ns),
        "ssl": UNKNOWN,
    }


def _ms(duration_ns: int) -> float:
    return duration_ns / NS_PER_MS


def _moment(at_ns: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_ns / 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
