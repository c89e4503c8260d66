"""Every view of the local pages, light and dark, wide and narrow: quiet, whole, readable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from browser.views import LOOKS, SMALL, VIEWS, asked, faults

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.guest]
pytest.importorskip("starlette")

LIMIT_MS = 240_000


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    trouble: list[str] = []
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(LIMIT_MS)
    opened.on("console", lambda message: trouble.append(f"console: {message.text}"))
    opened.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    yield opened
    context.close()
    assert trouble == []


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_whole_named_and_readable(page: Page, address: str, name: str) -> None:
    VIEWS[name](page, address)
    found = {}
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        # Charts and drawings are drawn anew after a change of width, once the page has been.
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        found[f"{scheme} {width}"] = faults(page)
    assert not any(found.values()), found


def test_what_is_wrong_with_a_page_is_found(page: Page, address: str) -> None:
    asked(page, address, SMALL)
    page.evaluate("""document.body.insertAdjacentHTML('beforeend',
        '<input><p style="color: #aaa; background: #fff">pale</p><hr style="width: 3000px">')""")
    found = faults(page)
    assert found["unnamed"] == ["<input>"]
    assert [said.split('"')[1] for said in found["pale"]] == ["pale"]
    assert "hr." in found["wider"][0]


def test_drawings_follow_the_scheme_of_colours(page: Page, address: str) -> None:
    page.emulate_media(color_scheme="light")
    VIEWS["a page"](page, address)
    drawn = page.locator("#play .lane canvas").first
    name = page.locator("#time-chart svg text").filter(has_text="script-1.js").first
    light = drawn.evaluate("(e) => e.toDataURL()"), name.evaluate("(e) => getComputedStyle(e).fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("(before) => document.querySelector('#play .lane canvas').toDataURL()"
                           " !== before", arg=light[0])  # fmt: skip
    assert name.evaluate("(e) => getComputedStyle(e).fill") != light[1]
