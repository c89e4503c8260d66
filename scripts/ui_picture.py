#!/usr/bin/env python3
"""Takes the README's picture of the local pages: knobs, an answer, and its first replicate over
time.

`make picture` does it; it needs the distribution's Chromium.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

from report_picture import LONGEST_MS, WIDTH_PX, chromium

FILE = Path(__file__).parents[1] / "docs" / "images" / "ui.png"
HEIGHT_PX = 900
ASKED = {
    "transport": "tcp,quic", "size": "10MB", "rtt": "50ms", "rate": "50mbit", "loss": "1%",
    "replicates": "10", "view": "time",
}  # fmt: skip
"""What the page shows: the values with which it begins."""


def main() -> None:
    """Serve the pages, open one in Chromium, and write the picture when it is drawn."""
    from playwright.sync_api import sync_playwright

    netwarp = Path(sys.prefix) / "bin" / "netwarp"
    process = subprocess.Popen([netwarp, "ui"], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[-1] if process.stdout else ""
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            page = browser.new_page(
                viewport={"width": WIDTH_PX, "height": HEIGHT_PX}, color_scheme="light"
            )
            page.set_default_timeout(LONGEST_MS)
            page.goto(f"{address}?{urlencode(ASKED)}")
            page.wait_for_selector("#now[data-state=done]", state="attached")
            page.wait_for_selector("#time-chart[data-drawn]")
            page.screenshot(path=FILE)
            browser.close()
    finally:
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    main()
