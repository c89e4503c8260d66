"""Serves reports and scorecards at addresses of their own, which do not tell the pages' token.

Whoever wrote a run directory may have written its report, and what a document's own address is, its
scripts, links and referrers know. So the pages' addresses redirect to one that gives this document
alone, and only netwarp's own scripts run in it.
"""

from __future__ import annotations

import hmac
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from netwarp.run_files import read_text
from netwarp.ui.access import SHOWN, report_policy
from netwarp.ui.memory import return_memory

if TYPE_CHECKING:
    from pathlib import Path

KEY_DIGITS = 32
INTERPRETING_BODY = "<body data-interprets"
"""Beginning of the body of a document whose charts interpret expressions, as the policy forbids to
compile them."""
MOST_KEPT = 100
"""Most documents that have an address; an earlier one has to be opened again."""


class ShownDocuments:
    """The files of reports and scorecards that have been opened, by their addresses' last part."""

    def __init__(self, token: str) -> None:
        """Make addresses that cannot be guessed without the pages' token, and do not tell it."""
        self._token = token.encode()
        self._paths: dict[str, tuple[Path, Path]] = {}
        """For each address the document's path, and what it led to when it was opened."""

    def redirect(self, path: Path) -> Response:
        """Return a redirection to the address of a document, which it keeps as long as it is among
        the last ones that were opened.
        """
        key = hmac.new(self._token, bytes(path), "sha256").hexdigest()[:KEY_DIGITS]
        self._paths.pop(key, None)
        self._paths[key] = path, path.resolve()
        while len(self._paths) > MOST_KEPT:
            del self._paths[next(iter(self._paths))]
        return RedirectResponse(f"/{SHOWN}/{key}", 303)

    def show(self, request: Request) -> Response:
        """Return a document; it may run netwarp's own scripts, and connect to nothing."""
        path, place = self._paths.get(request.path_params["key"], (None, None))
        if path is None:
            return _not_found("this document is not open any more: open it again among the studies")
        if path.resolve() != place:
            return _not_found(f"{path} is another document now: open it again among the studies")
        try:
            text = read_text(path)
        except (OSError, ValueError) as error:
            return _not_found(f"read {path}: {error}")
        return HTMLResponse(
            text.replace("<body", INTERPRETING_BODY, 1),
            headers={"content-security-policy": _policy()},
            background=BackgroundTask(return_memory),
        )


def _not_found(reason: str) -> Response:
    return Response(f"{reason}\n", 404, media_type="text/plain")


@cache
def _policy() -> str:
    from netwarp.report.chart_script import chart_script

    own = files("netwarp").joinpath("report", "script.js").read_text(encoding="utf-8")
    return report_policy((own, chart_script()))
