"""Web pages in a study file, and what their resources wait for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.study import study_from_mapping
from netwarp.study.compare import study_from_compare
from netwarp.workloads.page.built_in import PageName, built_in_page
from netwarp.workloads.page.resources import SiteResource, resources
from support import job_of, tables

SOURCE = {"kind": "page", "page": "nam-2021"}


def page_of(transport: str = "tls", /, **keys: Any) -> wire.Page:
    """Plan the one run of a page, and give its workload."""
    workload = job_of(transport, workload=SOURCE | keys).only.workload
    assert isinstance(workload, wire.Page)
    return workload


def test_what_is_not_given_is_http2_over_one_connection() -> None:
    page = page_of()
    assert (page.http, page.connections, page.verify) == ("h2", 1, True)
    assert Counter(each.resource_type for each in page.resources) == {
        "document": 1,
        "stylesheet": 1,
        "script": 1,
        "image": 5,
    }


def test_http1_has_six_connections_or_as_many_as_the_study_says() -> None:
    assert page_of("tcp", http="1.1").connections == 6
    assert page_of("tls", http="1.1", connections=2, verify=False).connections == 2


@pytest.mark.parametrize(
    ("transport", "http", "reason"),
    [
        ("quic", "2", "HTTP/2 runs over tcp or tls or mptcp, not over quic; over quic runs HTTP/3"),
        ("tls", "3", "HTTP/3 runs over quic, not over tls; over tls runs HTTP/1.1 and HTTP/2"),
        ("sctp", "1.1", "not over sctp; no version of HTTP runs over sctp"),
    ],
)
def test_a_version_is_refused_over_what_does_not_carry_it(
    transport: str, http: str, reason: str
) -> None:
    with pytest.raises(StudyError, match=r"workload\.http") as refused:
        page_of(transport, http=http)
    assert reason in str(refused.value)


def test_a_version_brings_its_transport_where_none_is_named() -> None:
    study = study_from_mapping(
        {
            "title": "versions",
            "path": {"rtt": "50ms"},
            "transport": {"quic": {"congestion": "reno"}},
            "workload": SOURCE,
            "factors": {"workload.http": ["1.1", "2", "3"]},
        }
    )
    found = [(cell.levels["workload.http"], cell.sections.transport.kind) for cell in study.cells]
    assert found == [("1.1", "tls"), ("2", "tls"), ("3", "quic")]
    assert [cell.sections.transport.resolved_congestion for cell in study.cells] == [
        "cubic",
        "cubic",
        "reno",
    ]


def test_a_file_still_needs_a_transport() -> None:
    with pytest.raises(StudyError, match="no transport is named"):
        study_from_mapping({"title": "none", "path": {}, "workload": {"size": "1MB"}})


def test_options_of_a_transport_that_no_version_uses_are_refused() -> None:
    with pytest.raises(StudyError, match="the study does not use sctp"):
        study_from_mapping(
            {
                "title": "unused",
                "path": {},
                "transport": {"sctp": {"streams": 2}},
                "workload": SOURCE,
                "factors": {"workload.http": ["2", "3"]},
            }
        )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"page": "web-81"}, "web-80"),
        ({"http": "0.9"}, "workload.http"),
        ({"connections": 0}, "a whole number from 1 to 100"),
        ({"size": "1MB"}, "a bulk has it, not a page"),
        ({"client": "firefox"}, "workload.client"),
        ({"http": "3", "server": "nginx"}, "speaks HTTP/1.1 and HTTP/2, not HTTP/3"),
        ({"discovery": "alt-svc"}, "comes over HTTP/2, which nobody has to discover"),
        ({"client": "chromium", "visit": "second"}, "keep open"),
    ],
)
def test_what_is_no_page_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        page_of(**changes)


def test_programs_and_visits_are_in_the_job() -> None:
    page = page_of("quic", http="3", client="chromium", server="caddy", visit="cached")
    assert page.client is not None
    assert page.server is not None
    assert (page.client.kind, page.server.kind, page.server.names) == (
        "chromium",
        "caddy",
        ("caddy",),
    )
    assert (page.visits, page.cache, page.discovers_http3) == (2, True, False)
    assert page_of("quic", http="3", discovery="alt-svc").discovers_http3
    assert [page.is_fetched(index) for index in range(3)] == [True, False, False]


def test_programs_need_encryption_and_servers_of_files_answer_with_200(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="browsers and servers speak HTTP over TLS or QUIC"):
        page_of("tcp", client="chromium")
    har = tmp_path / "page.har"
    response = {"status": 301, "redirectURL": "/b", "content": {"mimeType": "text/html"}}
    entry = {
        "startedDateTime": "2026",
        "request": {"method": "GET", "url": "https://site.test/"},
        "response": response,
    }
    har.write_text(json.dumps({"log": {"entries": [entry]}}), encoding="utf-8")
    with pytest.raises(StudyError, match="it serves files, and / is answered with 301"):
        job_of("tls", workload={"kind": "page", "har": str(har), "server": "caddy"})


def test_no_early_data_over_tls() -> None:
    with pytest.raises(StudyError, match="sends no early data here, as browsers do not"):
        study_from_mapping(
            tables("tls", workload=SOURCE) | {"transport": {"tls": {"resume": "0rtt"}}}
        )


def test_a_client_that_moves_loads_no_page() -> None:
    handovers = {"path": {"rtt": "50ms", "handovers": {"count": 1}, "second": {"rtt": "60ms"}}}
    with pytest.raises(StudyError, match=r"stays where it is|handovers"):
        study_from_mapping(tables("tls", workload=SOURCE) | handovers)


@pytest.mark.parametrize("name", get_args(PageName))
def test_every_built_in_page_loads_from_its_document_on(name: Any) -> None:
    page = built_in_page(name)
    assert page == built_in_page(name), "the same page every time"
    assert page[0].initiator is None
    for index, each in enumerate(page[1:], start=1):
        assert each.initiator is not None
        assert each.initiator < index
        assert all(before < index for before in each.blocked_by)
        assert each.body_bytes > 0
    assert len({each.path for each in page}) == len(page)


def test_the_pages_of_today_have_their_weight() -> None:
    weights = {
        name: sum(each.body_bytes for each in built_in_page(name)) for name in get_args(PageName)
    }
    counts = {name: len(built_in_page(name)) for name in get_args(PageName)}
    assert counts == {"nam-2021": 8, "web-30": 30, "web-80": 80, "web-150": 150}
    of_usual = Counter[str]()
    for each in built_in_page("web-80"):
        of_usual[each.resource_type] += each.body_bytes
    # Web Almanac 2024, Page Weight, medians of desktop pages.
    medians = {"image": 1_054_000, "script": 613_000, "font": 131_000, "stylesheet": 78_000}
    assert {kind: of_usual[kind] for kind in medians} == pytest.approx(medians, rel=1e-4)
    assert weights["web-30"] < weights["web-80"] / 2 < weights["web-150"] / 4


def test_scripts_in_the_head_wait_for_what_stands_before_them() -> None:
    document, style, script, late, image = resources(
        [
            SiteResource("/", "document", 1),
            SiteResource("/a.css", "stylesheet", 1, "/", in_head=True),
            SiteResource("/a.js", "script", 1, "/", in_head=True),
            SiteResource("/late.js", "script", 1, "/"),
            SiteResource("/a.webp", "image", 1, "/a.css"),
        ]
    )
    assert [each.blocked_by for each in (document, style, script, late, image)] == [
        (), (), (1,), (), ()
    ]  # fmt: skip
    assert [each.render_blocking for each in (document, style, script, late, image)] == [
        True, True, True, False, False
    ]  # fmt: skip
    assert (image.initiator, image.incremental) == (1, True)
    assert document.urgency == style.urgency < script.urgency < late.urgency < image.urgency


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (
            [SiteResource("/a", "script", 1, "/b"), SiteResource("/b", "script", 1, "/a")],
            "in a circle: /a refers to /b refers to /a",
        ),
        ([SiteResource("/a", "script", 1, "/gone")], "the page does not have /gone"),
        ([SiteResource("/a", "image", 1)], "nothing refers to it"),
        ([SiteResource("/", "image", 1, "/")], "the page has it twice"),
    ],
)
def test_what_never_loads_is_refused(page: list[SiteResource], reason: str) -> None:
    with pytest.raises(KeyValueError) as refused:
        resources([SiteResource("/", "document", 1), *page])
    assert reason in refused.value.reason


def test_compare_races_versions_of_http_where_pages_are_loaded() -> None:
    study = study_from_compare(
        loss=["0%", "2%"],
        page=["nam-2021"],
        server=["netwarp", "caddy"],
        resume=["1rtt"],
    )
    assert list(study.cells[0].levels) == ["workload.http", "workload.server", "path.loss"]
    assert {cell.levels["workload.http"] for cell in study.cells} == {"2", "3"}
    assert study.cells[0].template.only.workload.visits == 2  # type: ignore[union-attr]
    assert [figure.y for figure in study.figures] == ["page_load_time_s"] * 2
    over_tcp = study_from_compare(transport=["tcp"], page=["web-30"], http=["1.1", "2"])
    assert [cell.sections.transport.kind for cell in over_tcp.cells] == ["tcp", "tcp"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"size": ["1MB"], "page": ["web-30"]}, "--size = .* a bulk has it, not a page"),
        ({"http": ["2"]}, "--page: of page, har and directory, none is given"),
        ({"page": ["web-31"]}, '--page = "web-31": unknown'),
        ({"page": ["web-30"], "server": ["nginx"]}, "--server"),
    ],
)
def test_compare_names_the_option_of_a_page_that_is_wrong(
    given: dict[str, Any], reason: str
) -> None:
    with pytest.raises(StudyError, match=reason):
        study_from_compare(**given)
