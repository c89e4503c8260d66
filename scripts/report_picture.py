#!/usr/bin/env python3
"""Takes the README's picture of a report: from its title to the end of its first figure.

`make picture` runs the demo and takes it of that; it needs the distribution's Chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

FILE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
WIDTH_PX = 1084
"""Of the window: wide enough for two panels side by side, and letters stay readable in a README."""
MARGIN_PX = 8
LONGEST_MS = 300_000
"""For any step: a machine that does other work draws slowly."""


def main(report: Path) -> None:
    """Open a report in Chromium, and write the picture."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": 900}, color_scheme="light")
        page.set_default_timeout(LONGEST_MS)
        page.goto(report.resolve().as_uri())
        take_picture(page, FILE)
        browser.close()


def chromium() -> str:
    """Return the distribution's Chromium, or end with the reason."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("taking a picture: no chromium found: apt install chromium")
    return program


def take_picture(page: Page, picture: Path) -> None:
    """Write the upper part of a report that is open, with its first figure, as PNG."""
    chart = page.locator("#figures .chart").first
    chart.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('#figures .chart').dataset.drawn")
    end_px = chart.evaluate("(chart) => chart.getBoundingClientRect().bottom + scrollY")
    page.screenshot(
        path=picture,
        full_page=True,
        clip={"x": 0, "y": 0, "width": WIDTH_PX, "height": end_px + MARGIN_PX},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
