"""A headless Chromium that notes what a page should not do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pytest

from browser.ui_page import served
from netwarp.ui.access import SHOWN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]
"""Opens a page: its file, and `width=` and `scheme=` of the window."""
Open = Callable[..., "Page"]
"""Opens one of the local pages: its path, and `width=` and `scheme=` of the window."""
LIMIT_MS = 120_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed: apt install chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the local pages to the tests of a file, and give their address."""
    with served(tmp_path_factory.mktemp("pages")) as pages:
        yield pages.address


@pytest.fixture
def visit_ui(browser: Browser, address: str) -> Iterator[Open]:
    """Open local pages; none may have complained or reached out."""
    trouble: list[str] = []
    contexts = []

    def opened(path: str = "", width: int = 1200, scheme: Any = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(LIMIT_MS)
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        inside = (address, urljoin(address, f"/{SHOWN}/"))
        page.on("request", lambda request: _note_outside(request.url, inside, trouble))
        page.goto(address + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open pages whose charts are all drawn; none may have complained or reached out."""
    trouble: list[str] = []
    contexts = []

    def open_page(path: Path, width: int = 1200, scheme: Any = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _note_outside(request.url, ("file:",), trouble))
        page.goto(path.resolve().as_uri())
        for chart in page.query_selector_all(".chart"):
            chart.scroll_into_view_if_needed()
        page.wait_for_function(
            "[...document.querySelectorAll('.chart[data-spec]')].every((c) => c.dataset.drawn)"
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def _note_outside(url: str, inside: tuple[str, ...], trouble: list[str]) -> None:
    if not url.startswith((*inside, "data:", "blob:")):
        trouble.append(f"request: {url}")
