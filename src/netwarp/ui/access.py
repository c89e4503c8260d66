"""Refuses requests that do not come from the pages themselves.

A page of another site can have links to this server, and a name of that site can resolve to
127.0.0.1 (DNS rebinding). So the host must be the address that was printed, the origin must be this
server's own, and the path must begin with the token. Pure: headers and paths in, a reason out.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from hmac import compare_digest

HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of every response: no page is stored, read by other sites, or named to them."""
OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none';"
    " frame-ancestors 'none'"
)
"""Content security policy of the pages: nothing is loaded from elsewhere, and no text is run as
code.
"""
SHOWN = "shown"
"""First part of the addresses of reports and scorecards, in place of the token. What follows it is
as hard to guess, and gives one document alone.
"""


def report_policy(scripts: Iterable[str]) -> str:
    """Return the content security policy of reports: each is isolated from the pages, runs no
    scripts but these, and cannot send anything. Text is never compiled: charts are to interpret
    their expressions, as whoever wrote a report wrote those, too.

    Args:
        scripts: the texts of the scripts that run, exactly as they stand in a report.
    """
    hashes = (b64encode(sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        "sandbox allow-scripts allow-downloads; default-src 'none';"
        f" script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )


def why_refused(
    method: str, path: str, headers: Mapping[str, str], port: int, token: str
) -> str | None:
    """Return the reason why a request is refused; None if it is not refused.

    Args:
        method: the request's method.
        path: the path of its address.
        headers: the request's headers, by names in lower case.
        port: the port at which this server listens.
        token: the token with which the addresses of its pages begin.
    """
    hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
    host = headers.get("host", "")
    if host not in hosts:
        return "this host is served under 127.0.0.1 alone"
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return "pages of another origin get nothing here"
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return "pages of another site get nothing here"
    first = path.split("/")[1] if path.startswith("/") else ""
    if first != SHOWN and not compare_digest(first.encode(), token.encode()):
        return "the token is missing: open the address that `netwarp ui` printed"
    if method not in ("GET", "HEAD", "POST"):
        return f"no {method}"
    return None
