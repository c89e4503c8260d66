"""Only the pages themselves get an answer."""

from __future__ import annotations

import pytest

from netwarp.ui.access import OWN, report_policy, why_refused

PORT, TOKEN = 8080, "abcDEF123"
HOST = {"host": "127.0.0.1:8080"}


@pytest.mark.parametrize(
    ("path", "headers", "reason"),
    [
        ("/abcDEF123/", {}, "127.0.0.1 alone"),
        ("/abcDEF123/", {"host": "evil.example:8080"}, "127.0.0.1 alone"),
        ("/abcDEF123/", {"host": "127.0.0.1"}, "127.0.0.1 alone"),
        ("/abcDEF123/", {"host": "127.0.0.1:8081"}, "127.0.0.1 alone"),
        ("/abcDEF123/", HOST | {"origin": "http://evil.example"}, "another origin"),
        ("/abcDEF123/", HOST | {"origin": "null"}, "another origin"),
        ("/abcDEF123/", HOST | {"origin": "https://127.0.0.1:8080"}, "another origin"),
        ("/abcDEF123/", HOST | {"sec-fetch-site": "cross-site"}, "another site"),
        ("/abcDEF123/", HOST | {"sec-fetch-site": "same-site"}, "another site"),
        ("/", HOST, "token"),
        ("", HOST, "token"),
        ("/abcDEF12/", HOST, "token"),
        ("/abcDEF1234/", HOST, "token"),
        ("//abcDEF123/", HOST, "token"),
        ("/é/", HOST, "token"),
    ],
)
def test_others_are_refused(path: str, headers: dict[str, str], reason: str) -> None:
    assert reason in str(why_refused("GET", path, headers, PORT, TOKEN))


@pytest.mark.parametrize("headers", [
    {}, {"origin": "http://127.0.0.1:8080"}, {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
])  # fmt: skip
def test_the_pages_are_answered(headers: dict[str, str]) -> None:
    assert why_refused("GET", f"/{TOKEN}/ask", HOST | headers, PORT, TOKEN) is None
    assert why_refused("DELETE", f"/{TOKEN}/ask", HOST | headers, PORT, TOKEN) == "no DELETE"


def test_pages_fetch_nothing_from_elsewhere_and_reports_reach_nothing() -> None:
    of_reports = report_policy(["draw();"])
    for policy in (OWN, of_reports):
        assert "default-src 'none'" in policy
        assert "http" not in policy
        scripts = policy.partition("script-src")[2].partition(";")[0]
        assert "unsafe" not in scripts
    assert "allow-same-origin" not in of_reports
    # printf 'draw();' | openssl dgst -sha256 -binary | base64
    assert "'sha256-Nrzt+Ak9TKllQ0f6KxPbgRgME4RTzfjVUaOmcylYOV8='" in of_reports


def test_a_document_has_an_address_without_the_token() -> None:
    assert why_refused("GET", "/shown/a-key", HOST, PORT, TOKEN) is None
    assert "another origin" in str(
        why_refused("GET", "/shown/a-key", HOST | {"origin": "null"}, PORT, TOKEN)
    )
