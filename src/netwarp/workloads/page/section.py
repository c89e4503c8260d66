"""The section ``[workload]`` with ``kind = "page"``: a web page over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import KeyValueError, Kind, Section, Switch
from netwarp.transports import TRANSPORTS, HttpVersion
from netwarp.wire import Direction, Resume, TransportKind
from netwarp.workloads.page.built_in import PageName, built_in_page
from netwarp.workloads.page.programs import HTTP_VERSIONS, ClientName, ServerName, in_job
from netwarp.workloads.page.resources import SiteResource, resources
from netwarp.workloads.section import FileReader, WorkloadSection

ConnectionCount = Annotated[
    int, Field(ge=1, le=100, strict=True), Kind("a whole number from 1 to 100")
]


class ReadPage(Section):
    """A page that was read from a HAR file or a folder."""

    label: str
    file: str
    resources: Annotated[tuple[wire.PageResource, ...], Field(min_length=1, strict=False)]


HarPage = Annotated[ReadPage, Kind("a HAR file")]
DirectoryPage = Annotated[ReadPage, Kind("a directory")]
_FOUND = 200
WIRE_VERSIONS: Mapping[HttpVersion, wire.Http] = {"1.1": "h1", "2": "h2", "3": "h3"}


def _read_har_page(name: str) -> Mapping[str, Any]:
    # Imported only where it is needed: importing an HTML parser takes longer than planning.
    from netwarp.workloads.page.har import read_har

    return _read_page(name, read_har(name))


def _read_directory_page(name: str) -> Mapping[str, Any]:
    from netwarp.workloads.page.directory import read_directory

    return _read_page(name, read_directory(name))


def _read_page(name: str, site: Sequence[SiteResource]) -> Mapping[str, Any]:
    """Return a page that was read, and its dependencies and priorities, as a table; see
    `WorkloadSection.file_readers`.
    """
    made = [each.model_dump(mode="json") for each in resources(site)]
    return {"label": Path(name).name, "file": name, "resources": made}


class PageSection(WorkloadSection):
    """A web page that a client loads over HTTP as a browser does, from one server that has all of
    its resources. The client's cache is empty, and computing takes no time. Where a study names no
    transport, it is TLS for HTTP/1.1 and HTTP/2, and QUIC for HTTP/3.
    """

    compared_by: ClassVar[str] = "page_load_time_s"
    compared: ClassVar[Mapping[str, tuple[str, ...]]] = {"http": ("2", "3")}
    races_http: ClassVar[bool] = True
    again: ClassVar[Mapping[str, Any]] = {"visit": "second"}
    relative_paths: ClassVar[Mapping[str, str | None]] = {"har": None, "directory": None}
    file_readers: ClassVar[Mapping[str, FileReader]] = {
        "har": _read_har_page,
        "directory": _read_directory_page,
    }

    kind: Literal["page"]
    """A web page, loaded by `client` from `server`."""
    page: PageName | None = None
    """A built-in page: that of nam-2021 (HTML, CSS, JS and five images), or one of today's weight
    with as many resources as its name says (`web-30`, `web-80`, `web-150`). One of `page`, `har`
    and `directory`."""
    har: HarPage | None = None
    """A page that a browser has loaded and saved as HAR: sizes and initiators are those of the
    file; the bytes are generated from the seed, and one server has all of them. A relative path
    starts at the study file."""
    directory: DirectoryPage | None = None
    """A directory with a page: `index.html`, and the files that it and its stylesheets refer to. A
    relative path starts at the study file."""
    client: ClientName = "netwarp"
    """The client: netwarp's own, or the distribution's browser `chromium`, headless. A browser's
    computing takes no time either; it loads HTML, CSS and scripts with the sizes and references
    that the page has."""
    server: ServerName = "netwarp"
    """The server: netwarp's own, or `caddy` (HTTP/1.1, 2 and 3) or `nginx` (HTTP/1.1 and 2) of the
    distribution, configured to serve only this page. Chromium, Caddy and nginx are the machine's
    own, with their own TCP options and QUIC."""
    http: HttpVersion = "2"
    """Version of HTTP. 1.1 and 2 run over `tls`, or without encryption over `tcp` and `mptcp`; 3
    runs over `quic`."""
    discovery: Literal["forced", "alt-svc"] = "forced"
    """HTTP/3: whether the client knows beforehand that the server speaks it, or learns it from the
    server's answers (Alt-Svc, RFC 7838) as browsers do: then a first visit begins over HTTP/2 with
    TLS, and requests after QUIC is connected use HTTP/3."""
    visit: Literal["first", "second", "cached"] = "first"
    """Which visit is measured: a client's first, its second with nothing in the cache, or its
    second with all but the document in the cache, so that only the document is fetched and
    recorded. A second visit has new connections, which can use the first one's tickets
    (`transport.resume`; programs have their own way) and knows of HTTP/3."""
    connections: ConnectionCount = 6
    """Maximum number of connections that the client opens over HTTP/1.1, as browsers do; other
    versions use one."""
    verify: Switch = True
    """Hash the content at netwarp's own client and compare; otherwise it counts and discards."""

    @property
    def content_direction(self) -> Direction:
        """Direction of most bytes: down, to the client."""
        return "down"

    @property
    def must_be_alone(self) -> bool:
        """Whether the workload must be the only one of a run, because its client or server is a
        program that is installed on the host.
        """
        return self._has_programs

    @property
    def dials_again(self) -> bool:
        """True: a visit may open several connections, or follow an earlier visit, so that there may
        be sessions to resume.
        """
        return True

    @property
    def usual_transport(self) -> TransportKind:
        """The encrypted transport of the study's version of HTTP, which is used if the study names
        none.
        """
        return next(kind for kind in self._carriers if TRANSPORTS[kind].is_encrypted)

    @property
    def _carriers(self) -> list[TransportKind]:
        """The transports that the study's version of HTTP can use."""
        return [kind for kind, traits in TRANSPORTS.items() if self.http in traits.http_versions]

    def parts(self, streams: int | None) -> int:
        """Return the number of connections that may be open at once."""
        return self.connections if self.http == "1.1" else 1

    @property
    def _resources(self) -> tuple[wire.PageResource, ...]:
        if self.page is not None:
            return built_in_page(self.page)
        read = self.har or self.directory
        return read.resources if read else ()

    @model_validator(mode="after")
    def _one_page(self) -> Self:
        given = [key for key in ("page", "har", "directory") if getattr(self, key) is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)} are given" if given else "none is given"
            raise KeyValueError(
                "page", None, f"of page, har and directory, {found}", 'give one: page = "web-80"'
            )
        return self

    @model_validator(mode="after")
    def _what_programs_can(self) -> Self:
        if self.http not in HTTP_VERSIONS[self.server]:
            spoken = " and ".join(f"HTTP/{each}" for each in HTTP_VERSIONS[self.server])
            reason = f"{self.server} of the distributions speaks {spoken}, not HTTP/{self.http}"
            raise KeyValueError("server", self.server, reason, 'server = "caddy" speaks all three')
        if self.discovery == "alt-svc" and self.http != "3":
            reason = f"the page comes over HTTP/{self.http}, which nobody has to discover"
            raise KeyValueError("discovery", self.discovery, reason, 'choose http = "3"')
        if self.client != "netwarp" and self.visit != "first" and self.server != "caddy":
            reason = f"a second visit would use the connections of the first, which {self.client}"
            reason += f" and the server {self.server} keep open"
            raise KeyValueError("visit", self.visit, reason, 'choose server = "caddy"')
        unusual = next((each for each in self._resources if each.status != _FOUND), None)
        if self.server != "netwarp" and unusual is not None:
            reason = f"it serves files, and {unusual.path} is answered with {unusual.status}"
            raise KeyValueError("server", self.server, reason, 'server = "netwarp" answers so')
        return self

    @property
    def _has_programs(self) -> bool:
        return self.client != "netwarp" or self.server != "netwarp"

    def refuse_transport(self, kind: TransportKind, *, moves: bool) -> None:
        """Refuse transports that the study's version of HTTP cannot use, and clients that move."""
        if self._has_programs and not TRANSPORTS[kind].is_encrypted:
            end = "client" if self.client != "netwarp" else "server"
            reason = f"browsers and servers speak HTTP over TLS or QUIC here, not over {kind}"
            raise KeyValueError(
                f"workload.{end}", getattr(self, end), reason, f"choose {self.usual_transport}"
            )
        if kind not in self._carriers:
            versions = TRANSPORTS[kind].http_versions
            raise KeyValueError(
                "workload.http",
                self.http,
                f"HTTP/{self.http} runs over {' or '.join(self._carriers)}, not over {kind}",
                f"over {kind} runs HTTP/{' and HTTP/'.join(versions)}"
                if versions
                else f"no version of HTTP runs over {kind}: choose another transport",
            )
        if moves:
            raise KeyValueError(
                "path.handovers", None, "the client that loads a page stays where it is", "drop it"
            )

    def refuse_resume(self, kind: TransportKind, resume: Resume) -> None:
        """Refuse TLS early data over TCP, which browsers do not send either."""
        if resume == "0rtt" and TRANSPORTS[kind].runs_over_tcp:
            reason = f"HTTP/{self.http} over {kind} sends no early data here, as browsers do not"
            raise KeyValueError("transport.resume", resume, reason, "choose 1rtt, or HTTP/3")

    def job(self, parts: int) -> wire.Page:
        """Return the workload part of the job."""
        return wire.Page(
            kind="page",
            http=WIRE_VERSIONS[self.http],
            connections=parts,
            seed=0,
            resources=self._resources,
            verify=self.verify,
            visits=1 if self.visit == "first" else 2,
            cache=self.visit == "cached",
            discovers_http3=self.discovery == "alt-svc",
            client=in_job(self.client),
            server=in_job(self.server),
        )
