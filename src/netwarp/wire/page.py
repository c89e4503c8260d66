"""The workload of a web page, and the record that a client makes of each of its resources."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Direction, Meaning, Wire

U8 = Annotated[int, Field(ge=0, lt=2**8)]
U16 = Annotated[int, Field(ge=0, lt=2**16)]
Http = Annotated[
    Literal["h1", "h2", "h3"],
    Meaning(
        "A version of HTTP.",
        {
            "h1": "HTTP/1.1 (RFC 9112), over several connections.",
            "h2": "HTTP/2 (RFC 9113), over one connection.",
            "h3": "HTTP/3 (RFC 9114), over one QUIC connection.",
        },
    ),
]
ResourceType = Annotated[
    Literal["document", "stylesheet", "script", "image", "font", "fetch", "other"],
    Meaning(
        "The role of a resource in its page.",
        {
            "document": "The HTML of the page, or of a frame in it.",
            "stylesheet": "CSS.",
            "script": "JavaScript.",
            "image": "An image, of any format.",
            "font": "A web font.",
            "fetch": "Data that a script fetches.",
            "other": "A resource of any other type.",
        },
    ),
]

WebProgramKind = Annotated[
    Literal["chromium", "caddy", "nginx"],
    Meaning(
        "The kinds of installed browsers and web servers.",
        {
            "chromium": "The browser Chromium, without a window.",
            "caddy": "Caddy, a server for HTTP/1.1, HTTP/2 and HTTP/3, whose QUIC is quic-go.",
            "nginx": "nginx, as a server for HTTP/1.1 and HTTP/2.",
        },
    ),
]


class Page(Wire):
    """A web page: a client loads its document, and all resources to which the document and other
    resources refer.

    A resource is requested when the one that refers to it has run. A resource runs when it has
    arrived and all that block it have run. The page is loaded when all resources have arrived.
    """

    kind: Literal["page"]
    """Always `page`."""
    http: Http
    """The version of HTTP with which the page is requested."""
    connections: Annotated[int, Field(ge=1, lt=2**32)]
    """Maximum number of connections that the client opens to the server."""
    seed: U64
    """Seed of the bytes of resources that are not files."""
    resources: tuple[PageResource, ...] = Field(min_length=1, strict=False)
    """The resources: the document first, and each after the one that refers to it."""
    verify: bool
    """Whether the client hashes the content that it receives and compares it with the page's bytes;
    for a browser, only sizes are compared."""
    visits: Annotated[int, Field(ge=1, lt=2**32)]
    """Number of visits of the client to the page, each on new connections. The last one is
    measured."""
    cache: bool
    """Whether everything but the document is in the client's cache after the first visit."""
    discovers_http3: bool
    """Whether the client learns from responses over HTTP/2 that the server offers HTTP/3 (Alt-Svc,
    RFC 7838); otherwise it knows this before the first visit."""
    client: WebProgram | None
    """The program that loads the page; null for the endpoint itself."""
    server: WebProgram | None
    """The program that serves the page; null for the endpoint itself."""

    def is_fetched(self, index: int) -> bool:
        """Return whether the last visit requests a resource; one in the client's cache is not
        requested.
        """
        return index == 0 or not self.cache or self.visits == 1

    def may_use(self, http: Http) -> bool:
        """Return whether resources can be transferred over the given version of HTTP."""
        return http == self.http or (self.discovers_http3 and http == "h2")

    @property
    def direction(self) -> Direction:
        """Direction of the content: down, to the client."""
        return "down"


class WebProgram(Wire):
    """An installed program that is the client or the server of a page."""

    kind: WebProgramKind
    """The program's kind."""
    names: tuple[str, ...] = Field(min_length=1, strict=False)
    """Names that the program's executable may have; the first that is installed is started."""


class PageResource(Wire):
    """One resource of a page."""

    path: str
    """Path and query of the resource's URL."""
    resource_type: ResourceType
    """The type of the resource."""
    body_bytes: U64
    """Size of the response's content as it is sent, in bytes."""
    file: str | None
    """Absolute path of the resource's file; null for bytes made from the seed."""
    status: U16
    """Status of the response, such as 200."""
    location: str | None
    """The target of a redirect, as the response states it."""
    initiator: U32 | None
    """Index of the resource that refers to this one; null for the document."""
    blocked_by: tuple[U32, ...] = Field(strict=False)
    """Indices of the resources that must run before this one: for a script, the stylesheets and
    scripts before it."""
    render_blocking: bool
    """Whether the resource blocks rendering: nothing is shown before it has run."""
    urgency: Annotated[U8, Field(le=7)]
    """Urgency of the request (RFC 9218), 0 for the most urgent."""
    incremental: bool
    """Whether the client can use the response before it is complete (RFC 9218)."""


class Resource(Wire):
    """A resource of a page as the client loaded it. Times are those of W3C's Resource Timing."""

    record: Literal["resource"]
    """Always `resource`."""
    resource: U32
    """Index of the resource."""
    connection: U32
    """Index of the connection over which the resource was received."""
    request: U32
    """Index of the request on its connection, from 0."""
    http: Http
    """The version of HTTP over which the resource was received."""
    status: U16
    """Status of the response."""
    bytes: U64
    """Size of the content as it arrived (`encodedBodySize`)."""
    fetch_start_ns: U64
    """When the client could first request the resource (`fetchStart`), because a resource that
    refers to it had run. The request may have waited for a connection."""
    request_start_ns: U64
    """When the request was passed to a connection (`requestStart`)."""
    response_start_ns: U64
    """When the header section of the response was received (`responseStart`)."""
    response_end_ns: U64
    """When the last byte of the content was received (`responseEnd`)."""
    sha256: str | None
    """SHA-256 in hexadecimal digits of the content as it arrived; null if the job does not ask for
    it."""

    @property
    def first_byte_ns(self) -> int:
        """Return when the first byte of the response arrived, in ns of the run's clock."""
        return self.response_start_ns


class PageLoad(Wire):
    """A load of a page as a browser reports it. Times are those of W3C's Navigation Timing and
    Paint Timing.
    """

    record: Literal["page_load"]
    """Always `page_load`."""
    browser: str
    """Name and version of the browser."""
    navigation_start_ns: U64
    """When the browser was ordered to load the page (`navigationStart`)."""
    load_event_ns: U64
    """When the page and all its resources had arrived (`loadEventStart`)."""
    first_contentful_paint_ns: U64 | None
    """When the first text or image was shown; null if the browser does not report it."""
    largest_contentful_paint_ns: U64 | None
    """When the largest text or image was shown; null if the browser does not report it."""
