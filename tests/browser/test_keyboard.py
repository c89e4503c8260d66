"""The local pages without a mouse, and as a screen reader has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from browser.views import SMALL, asked, played

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.guest]
pytest.importorskip("starlette")

UNNAMED = re.compile(
    r"- (?:slider|textbox|combobox|checkbox|radio|button|link|img|iframe)(?:$| \[|:)", re.MULTILINE
)
"""A control in a snapshot of what a screen reader is given, without a name."""
FOCUSED = """() => {
    const e = document.activeElement;
    const look = getComputedStyle(e);
    const label = e.labels?.[0]?.textContent.trim() ?? e.ariaLabel ?? e.textContent.trim();
    return { name: e.id || e.name || e.dataset.does || e.dataset.turns || label,
        is_seen: look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) >= 1
            && e.checkVisibility(), is_body: e === document.body };
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(120_000)
    yield opened
    context.close()


def test_the_tabulator_reaches_every_knob_and_shows_where_it_is(page: Page, address: str) -> None:
    asked(page, address, SMALL)
    reached = []
    for _ in range(100):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["is_body"]:
            break
        assert focused["is_seen"], focused
        reached.append(focused["name"])
    knobs = page.evaluate("""() => [...document.querySelectorAll('#knobs > fieldset .knob')]
        .filter((e) => e.checkVisibility()).flatMap((e) => [...e.querySelectorAll('[name]')])
        .map((e) => e.id)""")
    assert len(knobs) > 8
    assert set(knobs) <= set(reached)
    assert {"command", "study", "link", "pin", "report"} <= set(reached)


@pytest.mark.parametrize("path", ["", "lessons", "studies"])
def test_a_screen_reader_has_a_name_for_every_control(page: Page, address: str, path: str) -> None:
    if path:
        page.goto(address + path)
    else:
        played(page, address, SMALL)
        page.click("#others summary")
    heard = page.locator("body").aria_snapshot()
    assert heard.count("\n") > 20
    assert UNNAMED.findall(heard) == [], heard
    if not path:
        assert 'slider "Round-trip time"' in heard
        assert 'combobox "Queue discipline"' in heard
        assert 'slider "Time in the run"' in heard
        assert 'img "Panels over time: What happened in a run' in heard


def test_what_has_no_name_is_found() -> None:
    assert UNNAMED.findall('- slider: "3"') == ["- slider:"]
    assert UNNAMED.findall('- button "Play"\n- slider "Loss": "3"') == []


def test_an_answer_is_read_out(page: Page, address: str) -> None:
    asked(page, address, SMALL)
    told = page.locator("#now .told")
    assert told.get_attribute("aria-live") == "polite"
    sentence = page.locator("#now .answer li").first.text_content()
    assert told.text_content() == f"Completion time: {sentence}"
    asked(page, address, "transport=tcp&size=10kB&rtt=20ms&replicates=1")
    assert re.fullmatch(r"Completion time: TCP [0-9.]+ ms", str(told.text_content()))


def test_a_run_is_played_by_keys(page: Page, address: str) -> None:
    played(page, address, SMALL)
    button, scrub = page.locator("[data-does=play]"), page.locator("[name=scrub]")
    scrub.focus()
    page.keyboard.press("Home")
    assert scrub.get_attribute("aria-valuetext") == "0.000 seconds"
    page.keyboard.press("PageUp")
    assert scrub.get_attribute("aria-valuetext") != "0.000 seconds"
    page.focus("[name=speed]")
    page.keyboard.press("6")
    assert page.input_value("[name=speed]") == "60"
    button.focus()
    page.keyboard.press("Space")
    button.filter(has_text="Pause").wait_for()
    page.keyboard.press("Enter")
    button.filter(has_text="Play").wait_for()
