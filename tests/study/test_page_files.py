"""Pages from HAR files and directories: what they become, and what is refused of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.study import study_from_mapping

HOST = "https://example.org"


def page_of(folder: Path, **keys: Any) -> tuple[wire.PageResource, ...]:
    study = study_from_mapping(
        {"title": "a page", "path": {"rtt": "10ms"}, "workload": {"kind": "page", **keys}},
        folder=folder,
    )
    workload = study.cells[0].template.only.workload
    assert isinstance(workload, wire.Page)
    return workload.resources


def entry(url: str, at: int, size: int = 100, **more: Any) -> dict[str, Any]:
    """Make an entry of a HAR, asked for at a second of its own."""
    response = {"status": 200, "content": {"size": size, "mimeType": "text/html"}, "bodySize": -1}
    response |= more.pop("response", {})
    return {
        "startedDateTime": f"2026-01-01T00:00:{at:02}Z",
        "request": {"method": more.pop("method", "GET"), "url": HOST + url, "headers": []},
        "response": response,
        **more,
    }


def har(folder: Path, *entries: dict[str, Any], **log: Any) -> str:
    content = {"log": {"version": "1.2", "entries": list(entries), **log}}
    (folder / "page.har").write_text(json.dumps(content))
    return "page.har"


SITE = (
    entry("/", 1, 5000, response={"bodySize": 1500}),
    entry("/a.css", 2, _resourceType="stylesheet"),
    entry("/a.js", 3, _resourceType="script", _priority="High"),
    entry("/late.js", 4, _resourceType="script", _priority="Low"),
    entry("/data?x=1#here", 5, _resourceType="xhr", _initiator={"url": f"{HOST}/late.js"}),
)


def test_a_har_has_sizes_and_what_led_to_what(tmp_path: Path) -> None:
    page = page_of(tmp_path, har=har(tmp_path, *SITE))
    assert [(each.path, each.resource_type, each.body_bytes) for each in page] == [
        ("/", "document", 1500),
        ("/a.css", "stylesheet", 100),
        ("/a.js", "script", 100),
        ("/late.js", "script", 100),
        ("/data?x=1", "fetch", 100),
    ]
    assert [each.initiator for each in page] == [None, 0, 0, 0, 3]
    assert [each.render_blocking for each in page] == [True, True, True, False, False]
    assert page[2].blocked_by == (1,)


def test_redirects_and_what_is_not_found_keep_their_answers(tmp_path: Path) -> None:
    moved = entry("/old.png", 6, 0, response={"status": 301, "redirectURL": "/new.png"})
    there = entry("/new.png", 7, response={"content": {"size": 9, "mimeType": "image/png"}})
    gone = entry("/gone.png", 8, 0, response={"status": 404})
    page = page_of(tmp_path, har=har(tmp_path, SITE[0], moved, there, gone))
    by_path = {each.path: each for each in page}
    assert (by_path["/old.png"].status, by_path["/old.png"].location) == (301, "/new.png")
    assert page[by_path["/new.png"].initiator or 0].path == "/old.png"
    assert by_path["/gone.png"].status == 404


def test_what_is_no_request_of_the_page_is_left_out(tmp_path: Path) -> None:
    others = [
        entry("/beacon", 6, method="POST"),
        entry("/", 7),
        entry("/blocked", 8, response={"status": 0}),
        entry("/second", 9, pageref="page_2"),
    ]
    first = [each | {"pageref": "page_1"} for each in SITE]
    name = har(tmp_path, *first, *others, pages=[{"id": "page_1"}, {"id": "page_2"}])
    assert len(page_of(tmp_path, har=name)) == len(SITE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not json", "not a HAR: it is no JSON"),
        ("[]", "not a HAR 1.2"),
        ('{"log": {}}', "not a HAR 1.2: 'entries' is missing"),
        ('{"log": {"entries": []}}', "no page was loaded in it"),
        ('{"log": {"entries": [{"startedDateTime": 1}]}}', "'request' is missing"),
        ("[" * 100_000, "not a HAR"),
    ],
)
def test_a_malformed_har_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "page.har").write_text(text)
    with pytest.raises(StudyError) as refused:
        page_of(tmp_path, har="page.har")
    assert "workload.har" in str(refused.value)
    assert reason in str(refused.value)


def test_a_circle_in_a_har_is_refused(tmp_path: Path) -> None:
    one = entry("/one.js", 2, _resourceType="script", _initiator={"url": f"{HOST}/two.js"})
    two = entry("/two.js", 3, _resourceType="script", _initiator={"url": f"{HOST}/one.js"})
    with pytest.raises(StudyError, match="in a circle"):
        page_of(tmp_path, har=har(tmp_path, SITE[0], one, two))


def test_a_missing_har_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no such file"):
        page_of(tmp_path, har="nowhere.har")


def site(folder: Path, html: str, **files: str) -> None:
    (folder / "index.html").write_text(html)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def test_a_directory_is_followed_from_its_document_on(tmp_path: Path) -> None:
    site(
        tmp_path,
        '<link rel=stylesheet href="a.css"><script src="/a.js"></script>'
        '<script src="b.js" async></script><img src="a.png"><img src="data:image/png;base64,AA">'
        '<img src="a.png#twice"><img loading=lazy src="never.png"><a href="other.html">',
        a_css="@font-face { src: url('a.woff2') } body { background: url(b.png) }",
        a_js="12345", b_js="1", a_png="1", b_png="12", a_woff2="123",
    )  # fmt: skip
    page = page_of(tmp_path, directory=".")
    assert [(each.path, each.resource_type) for each in page] == [
        ("/", "document"),
        ("/a.css", "stylesheet"),
        ("/a.js", "script"),
        ("/b.js", "script"),
        ("/a.png", "image"),
        ("/a.woff2", "font"),
        ("/b.png", "image"),
    ]
    assert [each.initiator for each in page] == [None, 0, 0, 0, 0, 1, 1]
    assert page[2].blocked_by == (1,)
    assert not page[3].render_blocking
    assert (page[2].file, page[2].body_bytes) == (str(tmp_path / "a.js"), 5)


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ('<img src="gone.png">', "/ refers to /gone.png: no such file"),
        ('<img src="../secret">', "refers to /secret: no such file"),
        ('<img src="%2e%2e/%2e%2e/etc/passwd">', "lies outside the directory"),
        ('<script src="https://cdn.example/a.js">', "which is elsewhere: a run has one server"),
    ],
)
def test_what_a_directory_lacks_is_refused(tmp_path: Path, html: str, reason: str) -> None:
    site(tmp_path, html)
    with pytest.raises(StudyError) as refused:
        page_of(tmp_path, directory=str(tmp_path))
    assert "workload.directory" in str(refused.value)
    assert reason in str(refused.value)


def test_a_directory_without_a_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"no index\.html in it"):
        page_of(tmp_path, directory=".")


def test_one_page_is_given_and_no_more(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="none is given"):
        page_of(tmp_path)
    with pytest.raises(StudyError, match="page and har are given"):
        page_of(tmp_path, page="web-30", har=har(tmp_path, *SITE))


def test_a_study_keeps_its_page_when_the_file_is_gone(tmp_path: Path) -> None:
    tables = {
        "title": "kept",
        "path": {"rtt": "10ms"},
        "workload": {"kind": "page"},
        "factors": {"workload.har": [har(tmp_path, *SITE)]},
    }
    study = study_from_mapping(tables, folder=tmp_path)
    assert study.cells[0].levels["workload.har"] == "page.har"
    raw = json.loads(json.dumps(study.raw))
    (tmp_path / "page.har").unlink()
    again = study_from_mapping(raw)
    assert again.cells[0].template == study.cells[0].template
