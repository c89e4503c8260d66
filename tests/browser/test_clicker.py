"""Random clicking leaves no guest, no growing memory, and no complaint.

NETWARP_CLICKS says how many actions there are, and NETWARP_CLICK_MINUTES for how long they go on in
place of that; NETWARP_CLICK_SEED draws them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.clicker import Clicker
from browser.ui_page import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.guest]
pytest.importorskip("starlette")

CLICKS = int(os.environ.get("NETWARP_CLICKS", "120"))
MINUTES = float(os.environ.get("NETWARP_CLICK_MINUTES", "0"))
SEED = int(os.environ.get("NETWARP_CLICK_SEED", "1"))
MOST_GROWTH = 1.2


def test_random_clicking_leaves_nothing_behind(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as pages:
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        clicker = Clicker(context, pages.address, SEED)
        clicker.look_at_everything()
        warm_kb = 0
        by_minute: dict[int, int] = {}
        begun_s = time.monotonic()
        while not _is_over(len(clicker.done), begun_s):
            clicker.act()
            by_minute.setdefault(int((time.monotonic() - begun_s) / 60), pages.memory_kb)
            if not warm_kb and len(clicker.done) >= (CLICKS // 2):
                clicker.settle()
                warm_kb = pages.memory_kb
        clicker.settle()
        grown_kb = pages.memory_kb
        context.close()
        # Whoever asks next outlives what the closed pages had asked for.
        last = browser.new_context()
        Clicker(last, pages.address, SEED).settle()
        left = _guests_of(pages)
        last.close()
    said = (
        f"seed {SEED}, {len(clicker.done)} actions, {warm_kb} kB, then {grown_kb} kB;"
        f" kB by minute {by_minute}, complaints {clicker.trouble}, guests left {left}"
    )
    print(said)  # noqa: T201 - what a long run is for
    assert clicker.trouble == [], said
    assert left == [], said
    assert _processes_in(tmp_path) == [], said
    assert grown_kb <= MOST_GROWTH * warm_kb, said


def _is_over(actions: int, begun_s: float) -> bool:
    if MINUTES:
        return actions > CLICKS and time.monotonic() - begun_s > 60 * MINUTES
    return actions >= CLICKS


def _guests_of(pages: Served) -> list[str]:
    """Return the command lines of the process's children."""
    tasks = Path(f"/proc/{pages.process.pid}/task").glob("*/children")
    found = [child for task in tasks for child in task.read_text().split()]
    return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in found]


def _processes_in(place: Path) -> list[str]:
    """Return the processes whose working directory or command line is of a place."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_text()
            if str(place) in line or (process / "cwd").readlink().is_relative_to(place):
                found.append(line)
        except OSError:  # it has ended, or is another user's
            continue
    return found
