"""Pages with the distribution's browser and servers at one end or at both: interoperability."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from guest.lab import Measured, run_study
from guest.tshark import fields
from netwarp.backends.needs import missing_programs
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Connection, PageLoad, Resource
from netwarp.workloads.page.programs import PROGRAMS

RTT_S = 0.1
HANDSHAKES = {"1.1": 2, "2": 2, "3": 1}
WIRE = {"1.1": "h1", "2": "h2", "3": "h3"}


def load(
    place: Path, client: str, server: str, http: str, *, capture: bool = False, **workload: str
) -> Measured:
    """Load a page once; skips where a program is not installed."""
    wanted = [PROGRAMS[name] for name in (client, server) if name in PROGRAMS]  # type: ignore[index]
    missing = missing_programs(wanted)
    if missing is not None:
        pytest.skip(missing)
    page = workload or {"page": "nam-2021"}
    tables = {
        "title": "guest test",
        "replicates": 1,
        "path": {"rtt": "100ms", "rate": "20mbit"},
        "workload": {"kind": "page", "client": client, "server": server, **page},
        "factors": {"workload.http": [http]},
    } | ({"capture": "pcap"} if capture else {})
    (run,) = run_study(plan_study(study_from_mapping(tables)), place)
    return run


@pytest.mark.parametrize(
    ("client", "server", "http"),
    [
        ("netwarp", "nginx", "1.1"),
        ("netwarp", "nginx", "2"),
        ("netwarp", "caddy", "1.1"),
        ("netwarp", "caddy", "2"),
        ("netwarp", "caddy", "3"),
        ("chromium", "netwarp", "1.1"),
        ("chromium", "netwarp", "2"),
        ("chromium", "netwarp", "3"),
        ("chromium", "caddy", "3"),
        ("chromium", "nginx", "2"),
    ],
)
def test_a_page_comes_whole_over_what_was_asked_for(
    tmp_path: Path, client: str, server: str, http: str
) -> None:
    run = load(tmp_path, client, server, http)
    assert run.status.outcome == "ok", run.status.reason
    came = [each for each in run.records if isinstance(each, Resource)]
    assert sorted(each.resource for each in came) == list(range(8))
    assert {each.http for each in came} == {WIRE[http]}
    document = min(came, key=lambda each: each.resource)
    start_ns = document.fetch_start_ns
    # Two handshakes or one, then the request. Where the head is in one TLS record with content that
    # does not fit the first window, it takes a round trip more.
    first_byte_s = (HANDSHAKES[http] + 1) * RTT_S
    waited_s = (document.response_start_ns - start_ns) / 1e9
    assert first_byte_s <= waited_s < first_byte_s + RTT_S + 0.05
    loads = [each for each in run.records if isinstance(each, PageLoad)]
    assert len(loads) == (client == "chromium")
    if loads:
        (told,) = loads
        assert told.browser.startswith("Chrome/")
        assert told.first_contentful_paint_ns is not None
        assert told.navigation_start_ns < told.first_contentful_paint_ns <= told.load_event_ns
        assert 0 < run.metrics["first_contentful_paint_s"] < run.metrics["page_load_time_s"]
        assert run.metrics["largest_contentful_paint_s"] >= run.metrics["first_contentful_paint_s"]
    else:
        opened = [each for each in run.records if isinstance(each, Connection)]
        assert len(opened) == (6 if http == "1.1" else 1)
        assert all(each.sha256 is not None for each in came)


Impostor = Callable[[str], None]
"""Puts a script, given as text, in Caddy's place."""

ANOTHER_CERTIFICATE = """#!/bin/sh
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=netwarp.test \\
    -addext subjectAltName=DNS:netwarp.test -addext basicConstraints=critical,CA:FALSE \\
    -keyout /tmp/key.pem -out /tmp/certificate.pem
exec caddy "$@"
"""
"""A Caddy for whose name somebody else made a certificate."""

HANGS_UP = """#!/usr/bin/env python3
import socket
server = socket.create_server(("", 4433))
while True:
    connection, _ = server.accept()
    connection.recv(65536)
    connection.close()
"""
"""A server that ends every connection as soon as it is asked for anything."""


@pytest.fixture
def impostor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Impostor]:
    # Guests have the host's files, but for those in /tmp.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        script = Path(folder) / "caddy"

        def write(text: str) -> None:
            script.write_text(text)
            script.chmod(0o755)
            Path(folder).chmod(0o755)
            program = replace(PROGRAMS["caddy"], names=(str(script),))
            monkeypatch.setitem(PROGRAMS, "caddy", program)

        yield write


@pytest.mark.parametrize(
    ("client", "http", "reason"),
    [
        ("netwarp", "1.1", "invalid peer certificate: UnknownIssuer"),
        ("netwarp", "2", "invalid peer certificate: UnknownIssuer"),
        ("netwarp", "3", "invalid peer certificate: UnknownIssuer"),
        ("chromium", "1.1", "could not load /: net::ERR_CERT_AUTHORITY_INVALID"),
        ("chromium", "2", "could not load /: net::ERR_CERT_AUTHORITY_INVALID"),
        ("chromium", "3", "it does not trust the server's certificate"),
    ],
)
def test_a_certificate_of_somebody_else_is_a_failed_run(
    tmp_path: Path, impostor: Impostor, client: str, http: str, reason: str
) -> None:
    if shutil.which("openssl") is None or shutil.which("caddy") is None:
        pytest.skip("openssl or caddy is not installed")
    impostor(ANOTHER_CERTIFICATE)
    run = load(tmp_path, client, "caddy", http)
    assert run.status.outcome == "failed"
    assert reason in str(run.status.reason)


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        ("netwarp", "TLS handshake: unexpected end of file"),
        ("chromium", "could not load /: net::ERR_CONNECTION_CLOSED"),
    ],
)
def test_a_server_that_hangs_up_is_a_failed_run(
    tmp_path: Path, impostor: Impostor, client: str, reason: str
) -> None:
    impostor(HANGS_UP)
    run = load(tmp_path, client, "caddy", "2")
    assert run.status.outcome == "failed"
    assert reason in str(run.status.reason)


def test_a_client_of_ours_repeats_itself_against_nginx(tmp_path: Path) -> None:
    first, again = (load(tmp_path / name, "netwarp", "nginx", "2") for name in ("one", "another"))
    texts = [(each.path / RECORDS_FILE).read_bytes() for each in (first, again)]
    assert texts[0] == texts[1]


def test_a_browser_that_asks_for_what_the_page_lacks_is_a_failed_run(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(
        "<!doctype html><title>A page</title><link rel=icon href=data:,><p>Text</p>"
        "<script src=/a.js></script>"
    )
    (site / "a.js").write_text("new Image().src = '/hidden.png';")
    run = load(tmp_path / "runs", "chromium", "netwarp", "2", directory=str(site))
    assert run.status.outcome == "failed"
    assert "asks for /hidden.png, which the page does not have" in str(run.status.reason)


def test_a_browser_discovers_http3_and_comes_back_over_it(tmp_path: Path) -> None:
    run = load(
        tmp_path, "chromium", "caddy", "3", page="nam-2021", discovery="alt-svc", visit="second"
    )
    assert run.status.outcome == "ok", run.status.reason
    came = [each for each in run.records if isinstance(each, Resource)]
    assert len(came) == 8
    assert {each.http for each in came} == {"h3"}
    # The ticket of the first visit and early data: one round trip.
    assert run.metrics["first_byte_s"] == pytest.approx(RTT_S, abs=0.02)


def test_a_browser_with_a_warm_cache_asks_for_the_document_alone(tmp_path: Path) -> None:
    run = load(tmp_path, "chromium", "caddy", "2", page="nam-2021", visit="cached")
    assert run.status.outcome == "ok", run.status.reason
    assert [each.resource for each in run.records if isinstance(each, Resource)] == [0]


def test_a_browser_s_first_visit_begins_over_http2(tmp_path: Path) -> None:
    run = load(tmp_path, "chromium", "netwarp", "3", page="nam-2021", discovery="alt-svc")
    assert run.status.outcome == "ok", run.status.reason
    came = sorted(
        (each for each in run.records if isinstance(each, Resource)), key=lambda e: e.resource
    )
    assert came[0].http == "h2"
    assert len(came) == 8


@pytest.mark.skipif(shutil.which("tshark") is None, reason="no tshark")
def test_a_browser_s_load_is_captured_with_its_secrets(tmp_path: Path) -> None:
    run = load(tmp_path, "chromium", "caddy", "2", capture=True)
    assert run.status.outcome == "ok", run.status.reason
    assert fields(run.path, "frame.number", only="http2.headers.path")
