"""A report that somebody else wrote, opened from the local pages in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser.ui_page import served
from netwarp.evaluation import load
from netwarp.report import write_report
from netwarp.run_directory import RunDirectory
from netwarp.version import __version__
from support import write_run_directory

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
pytest.importorskip("starlette")

FOREIGN = """<script>document.title = 'foreign'</script>
<img src="data:," onerror="document.title = 'foreign'"></body>"""


def foreign_directory(path: Path) -> None:
    """Write a run directory whose report has scripts of its own, and whose mark fits to it."""
    write_run_directory(path)
    report = write_report(load(path))
    before, _, after = report.read_text().rpartition("</body>")
    report.write_text(before + FOREIGN + after)
    directory = RunDirectory(path)
    directory.drawn_file.write_text(directory.drawn(__version__))
    assert directory.is_drawn_by(__version__)


def test_scripts_of_others_do_not_run_and_the_address_does_not_tell_the_token(
    browser: Browser, tmp_path: Path
) -> None:
    foreign_directory(tmp_path / "netwarp-out" / "foreign")
    with served(tmp_path) as pages:
        page = browser.new_page()
        page.goto(f"{pages.address}kept/foreign")
        _has_own_charts(page)
        assert page.title() != "foreign"
        token = pages.address.rstrip("/").rpartition("/")[2]
        assert token not in page.evaluate("location.href + document.referrer + document.baseURI")
        page.close()


def _has_own_charts(page: Page) -> None:
    page.locator(".chart").first.scroll_into_view_if_needed()
    page.locator(".chart svg").first.wait_for()
