"""Pages over real transports: when they load, by the round trips of each version of HTTP."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Connection, Page, Resource

RTT_S = 0.2
#: Round trips until a request may be sent: TCP's and TLS's handshakes, or QUIC's.
HANDSHAKES = {"1.1": 2, "2": 2, "3": 1}
PATH = {"rtt": "200ms", "rate": "20mbit"}


def plan(path: dict[str, Any], versions: list[str], **workload: Any) -> list[PlannedRun]:
    return plan_study(
        study_from_mapping(
            {
                "title": "guest test",
                "replicates": 1,
                "path": path,
                "workload": {"kind": "page", "page": "nam-2021", **workload},
                "factors": {"workload.http": versions},
            }
        )
    )


def load(place: Path, path: dict[str, Any], *versions: str, **workload: Any) -> list[Measured]:
    """Carry out a study of a page; every run must succeed."""
    measured = run_study(plan(path, list(versions or HANDSHAKES), **workload), place)
    for run in measured:
        assert run.status.outcome == "ok", f"{run.planned.run}: {run.status.reason}"
    return measured


def resources(run: Measured) -> list[Resource]:
    found = [each for each in run.records if isinstance(each, Resource)]
    return sorted(found, key=lambda each: each.resource)


def page_of(run: Measured) -> Page:
    page = run.planned.job.only.workload
    assert isinstance(page, Page)
    return page


def version(run: Measured) -> str:
    return run.planned.cell.levels["workload.http"]


@pytest.fixture(scope="module")
def lossless(tmp_path_factory: pytest.TempPathFactory) -> list[Measured]:
    return load(tmp_path_factory.mktemp("lossless"), PATH)


def test_the_first_request_is_sent_when_the_handshakes_are_over(lossless: list[Measured]) -> None:
    for run in lossless:
        document = resources(run)[0]
        connected_s = HANDSHAKES[version(run)] * RTT_S
        # A certificate and two kilobytes at 20 Mbit/s take a millisecond or two.
        assert document.request_start_ns / 1e9 == pytest.approx(connected_s, abs=0.003)
        assert run.metrics["connect_time_s"] >= connected_s
        # HTTP/1.1's head is in one TLS record with content that does not fit the first window.
        more = 1 if version(run) == "1.1" else 0
        first_byte_s = connected_s + (1 + more) * RTT_S
        assert run.metrics["first_byte_s"] == pytest.approx(first_byte_s, abs=0.01)


def test_resources_are_asked_for_when_what_refers_to_them_has_come(
    lossless: list[Measured],
) -> None:
    for run in lossless:
        loaded = resources(run)
        for resource, each in zip(page_of(run).resources, loaded, strict=True):
            if resource.initiator is not None:
                gap_ns = each.fetch_start_ns - loaded[resource.initiator].response_end_ns
                assert 0 <= gap_ns < 10_000
            assert each.fetch_start_ns <= each.request_start_ns < each.response_start_ns
            assert each.response_start_ns <= each.response_end_ns


def test_http1_has_six_connections_and_the_others_one(lossless: list[Measured]) -> None:
    for run in lossless:
        opened = [each for each in run.records if isinstance(each, Connection)]
        expected = {"1.1": 6, "2": 1, "3": 1}[version(run)]
        for side in ("client", "server"):
            numbers = sorted(each.connection for each in opened if each.side == side)
            assert numbers == list(range(expected)), f"{version(run)}, {side}"


def test_http1_asks_for_one_thing_at_a_time(lossless: list[Measured]) -> None:
    (run,) = (run for run in lossless if version(run) == "1.1")
    by_connection: dict[int, list[Resource]] = {}
    for each in sorted(resources(run), key=lambda each: each.request_start_ns):
        by_connection.setdefault(each.connection, []).append(each)
    for requests in by_connection.values():
        assert [each.request for each in requests] == list(range(len(requests)))
        for before, after in pairwise(requests):
            assert after.request_start_ns >= before.response_end_ns


def test_what_is_shown_first_comes_before_the_images(lossless: list[Measured]) -> None:
    for run in lossless:
        if version(run) != "1.1":
            page = page_of(run)
            ends_ns = {True: [0], False: [2**62]}
            for each in resources(run):
                blocking = page.resources[each.resource].render_blocking
                ends_ns[blocking].append(each.response_end_ns)
            assert max(ends_ns[True]) < min(ends_ns[False]), version(run)


def test_a_page_of_today_arrives_whole_under_loss(tmp_path: Path) -> None:
    path = PATH | {"rtt": "50ms", "loss": "3%"}
    for run in load(tmp_path, path, page="web-80"):
        assert len(resources(run)) == 80
        assert run.metrics["first_render_s"] < run.metrics["page_load_time_s"]


def test_records_are_equal_to_the_byte(tmp_path: Path) -> None:
    found = []
    for place in (tmp_path / "one", tmp_path / "another"):
        runs = load(place, PATH | {"loss": "5%"})
        found.append([(run.path / RECORDS_FILE).read_bytes() for run in runs])
    assert found[0] == found[1]


def test_pages_come_over_tcp_and_mptcp_without_encryption(tmp_path: Path) -> None:
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": PATH | {"second": {"rtt": "200ms", "rate": "20mbit"}},
            "transport": "mptcp",
            "workload": {"kind": "page", "page": "nam-2021"},
            "factors": {"workload.http": ["1.1", "2"]},
        }
    )
    tcp = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": PATH,
            "transport": "tcp",
            "workload": {"kind": "page", "page": "nam-2021"},
            "factors": {"workload.http": ["1.1", "2"]},
        }
    )
    for name, each in (("mptcp", study), ("tcp", tcp)):
        for run in run_study(plan_study(each), tmp_path / name):
            assert run.status.outcome == "ok", f"{name}, {run.planned.run}: {run.status.reason}"
            # One round trip for TCP's handshake.
            document = resources(run)[0]
            assert document.request_start_ns / 1e9 == pytest.approx(RTT_S, abs=0.003)


def test_a_directory_below_tmp_is_loaded_as_it_is(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "index.html").write_text(
        "<!doctype html><link rel=stylesheet href=style.css><script src=a.js></script>"
        "<img src='sub/a%20b.png?x=1'>"
    )
    (site / "style.css").write_text("@font-face { font-family: f; src: url(f.woff2) }")
    for name, size in (("a.js", 5_000), ("f.woff2", 30_000), ("sub/a b.png", 40_000)):
        (site / name).write_bytes(bytes(size))
    plan_ = plan_study(
        study_from_mapping(
            {
                "title": "guest test",
                "replicates": 1,
                "path": PATH,
                "workload": {"kind": "page", "directory": str(site)},
                "factors": {"workload.http": ["1.1", "2", "3"]},
            }
        )
    )
    for run in run_study(plan_, tmp_path / "runs"):
        assert run.status.outcome == "ok", run.status.reason
        came = [(each.resource, each.bytes) for each in resources(run)]
        sizes = [path.stat().st_size for path in (site / "index.html", site / "style.css")]
        assert came == list(enumerate([*sizes, 5_000, 40_000, 30_000]))


def test_a_har_with_a_redirect_and_a_missing_image_is_loaded_as_it_was(tmp_path: Path) -> None:
    def entry(second: int, path: str, status: int, size: int, to: str = "") -> dict[str, Any]:
        return {
            "startedDateTime": f"2026-01-01T00:00:0{second}Z",
            "request": {"method": "GET", "url": f"https://site.test{path}", "headers": []},
            "response": {
                "status": status,
                "redirectURL": to,
                "bodySize": size,
                "content": {"size": size, "mimeType": "text/html" if second == 0 else "image/png"},
            },
        }

    entries = [entry(0, "/", 200, 3_000), entry(1, "/a", 302, 0, "/b"), entry(2, "/b", 200, 9_000)]
    entries.append(entry(3, "/gone", 404, 700))
    har = tmp_path / "page.har"
    har.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}), encoding="utf-8")
    tables = {
        "title": "guest test",
        "replicates": 1,
        "path": PATH,
        "workload": {"kind": "page", "har": str(har)},
        "factors": {"workload.http": ["2", "3"]},
    }
    for run in run_study(plan_study(study_from_mapping(tables)), tmp_path / "runs"):
        assert run.status.outcome == "ok", run.status.reason
        answers = {page_of(run).resources[each.resource].path: each for each in resources(run)}
        assert {path: each.status for path, each in answers.items()} == {
            "/": 200, "/a": 302, "/b": 200, "/gone": 404,
        }  # fmt: skip
        assert answers["/b"].fetch_start_ns >= answers["/a"].response_end_ns


def test_what_a_second_visit_saves_is_round_trips(tmp_path: Path) -> None:
    def first_byte(http: str, visit: str, resume: str, **more: str) -> Measured:
        tables = {
            "title": "guest test",
            "replicates": 1,
            "path": PATH,
            "transport": {"tls" if http == "2" else "quic": {"resume": resume}},
            "workload": {"kind": "page", "page": "nam-2021", "visit": visit, **more},
            "factors": {"workload.http": [http]},
        }
        name = f"{http}-{visit}-{resume}"
        (run,) = run_study(plan_study(study_from_mapping(tables)), tmp_path / name)
        assert run.status.outcome == "ok", f"{name}: {run.status.reason}"
        return run

    for http, visit, resume, round_trips in [
        ("2", "first", "none", 3),
        ("2", "second", "1rtt", 3),  # TCP's handshake, TLS's, and the request
        ("3", "second", "none", 2),
        ("3", "second", "0rtt", 1),
    ]:
        run = first_byte(http, visit, resume)
        assert run.metrics["first_byte_s"] == pytest.approx(round_trips * RTT_S, abs=0.01)
        ends = [each for each in run.records if isinstance(each, Connection)]
        seen = {(each.side, each.transfer): each.resumed for each in ends}
        visits = 1 if visit == "first" else 2
        assert sorted(seen) == [(s, n) for s in ("client", "server") for n in range(visits)]
        assert {seen["client", visits - 1], seen["server", visits - 1]} == {resume}
        assert len(resources(run)) == 8


def test_a_visit_with_a_warm_cache_asks_for_the_document_alone(tmp_path: Path) -> None:
    (run,) = load(tmp_path, PATH, "2", visit="cached")
    assert [each.resource for each in resources(run)] == [0]
    assert run.metrics["page_load_time_s"] < 5 * RTT_S


def test_a_client_that_discovers_http3_begins_over_http2(tmp_path: Path) -> None:
    (run,) = load(tmp_path / "first", PATH, "3", discovery="alt-svc")
    versions = [each.http for each in resources(run)]
    assert versions[0] == "h2"
    assert set(versions) == {"h2"}, "what the document refers to is asked for before QUIC connects"
    opened = [each for each in run.records if isinstance(each, Connection)]
    assert {each.settings.transport for each in opened if each.side == "client"} == {"tls", "quic"}
    (again,) = load(tmp_path / "second", PATH, "3", discovery="alt-svc", visit="second")
    assert {each.http for each in resources(again)} == {"h3"}
    (larger,) = load(tmp_path / "larger", PATH, "3", discovery="alt-svc", page="web-30")
    assert {each.http for each in resources(larger)} == {"h2", "h3"}
    assert 0 < larger.metrics["http3_ratio"] < 1
