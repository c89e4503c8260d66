"""The views of the local pages: how each is come by, and what is wrong with how a page looks.

A view is opened once, and then looked at in every width and scheme of colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Page

View = Callable[["Page", str], None]
"""Opens a view, given a page and the address of the pages."""
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (
    ("light", 1200),
    ("dark", 1200),
    ("light", 400),
    ("dark", 400),
)
SMALL = "transport=tcp,quic&size=100kB&rtt=50ms&rate=20mbit&loss=1%25&replicates=2"
OPEN = "&view=time&view=play"
ENDLESS = "transport=tcp&size=1GB&rtt=50ms&loss=5%25&replicates=100"


def asked(page: Page, address: str, query: str, state: str = "done") -> None:
    """Ask for something, and wait until it is answered."""
    page.goto(f"{address}?{query}")
    page.wait_for_selector(f"#now[data-state={state}]", state="attached")


def played(page: Page, address: str, query: str) -> None:
    """Ask for something with its first replicates over time, and play them to their middle."""
    asked(page, address, query + OPEN)
    page.wait_for_selector("#time-chart svg")
    page.wait_for_selector("#play .lane")
    page.locator("[name=scrub]").evaluate(
        "(e) => { e.value = 500; e.dispatchEvent(new Event('input', { bubbles: true })); }"
    )


def pinned(page: Page, address: str) -> None:
    """Two questions beside one another."""
    asked(
        page, address, f"{SMALL}&pin=transport%3Dtcp%26size%3D100kB%26rtt%3D20ms%26replicates%3D1"
    )
    page.wait_for_selector("#pinned .fill")


def copied(page: Page, address: str) -> None:
    """The study file below the answer."""
    asked(page, address, SMALL)
    page.click("[data-does=study]")
    page.wait_for_selector("#text:not([hidden])")


def options(page: Page, address: str) -> None:
    """All options."""
    asked(page, address, SMALL)
    page.click("#others > summary")
    for group in page.locator("#others .group > summary:visible").all():
        group.click()


def studied(page: Page, address: str, name: str) -> None:
    """Run the smaller version of a study, and look at its report."""
    page.goto(f"{address}studies")
    page.click(f"[data-runs={name}][data-quick]")
    page.wait_for_selector("#progress[data-state=done]")
    page.frame_locator("#shown iframe").locator("h1").first.wait_for()


def running_study(page: Page, address: str) -> None:
    """A study under way."""
    page.goto(f"{address}studies")
    page.click("[data-runs=loss-sweep]:not([data-quick])")
    page.locator("#progress .state").filter(has_text="runs").wait_for()


def refused_study(page: Page, address: str) -> None:
    """A publication that needs programs which the command installs."""
    page.goto(f"{address}studies")
    page.click("[data-reproduces=tso-2021]")
    page.wait_for_selector("#progress[data-state=refused]")


def compared(page: Page, address: str) -> None:
    """Two run directories, and what differs."""
    studied(page, address, "bufferbloat")
    page.goto(f"{address}studies")
    for box in page.locator("[data-compares]").all()[:2]:
        box.check()
    page.locator("#diff").filter(has_not_text="Comparing").wait_for()


def inside(page: Page, address: str) -> None:
    """A run directory over time, and why its transfers take so long."""
    page.goto(f"{address}studies")
    page.locator("[data-inside^=bufferbloat]").first.click()
    page.wait_for_selector("#time-chart svg")
    page.click("#why summary")
    page.click("[data-does=explain]")
    page.wait_for_selector("#why:is([data-state=done], [data-state=refused])", state="attached")


def scored(page: Page, address: str) -> None:
    """A publication reproduced, and its scorecard."""
    page.goto(f"{address}studies")
    page.click("[data-reproduces=rfc-9438]")
    page.wait_for_selector("#progress[data-state=done]")
    page.frame_locator("#shown iframe").locator("h1").first.wait_for()


def failed(page: Page, address: str) -> None:
    """A question whose runs fail."""
    said = 'event: failed\ndata: {"message": "c000-r00: the guest ended with status 1"}\n\n'
    page.route(
        "**/ask?*",
        lambda route: route.fulfill(
            content_type="text/event-stream", body=f"{said}event: done\ndata: {{}}\n\n"
        ),
    )
    asked(page, address, SMALL, "failed")


def plain(page: Page, address: str, path: str) -> None:
    """A page that asks for nothing."""
    page.goto(address + path)


VIEWS: Mapping[str, View] = {
    "lessons": partial(plain, path="lessons"),
    "a lesson": partial(asked, query=f"lesson=slow-start&{SMALL}"),
    "a file": partial(played, query=SMALL),
    "a page": partial(played, query="page=web-30&http=1.1,3&rtt=50ms&rate=20mbit&replicates=1"),
    "a film": partial(
        played, query="stream=bola&transport=tcp&rtt=50ms&rate=5mbit&watch=10s&replicates=1"
    ),
    "a call": partial(
        played,
        query="flow=500kbit&direction=both&transport=udp,tcp&rtt=50ms&rate=2mbit&duration=2s"
        "&replicates=1",
    ),
    "requests": partial(
        played, query="requests=2kB&transport=tcp,quic&rtt=50ms&rate=2mbit&duration=2s&replicates=1"
    ),
    "a dumbbell": partial(
        played, query="shape=dumbbell:4&transport=tcp&rtt=20ms&rate=5mbit&stop=2s&replicates=1"
    ),
    "an incast": partial(
        played, query="shape=incast:16&transport=tcp&size=10kB&rtt=2ms&rate=20mbit&replicates=1"
    ),
    "a parking lot": partial(
        played, query="shape=parking-lot:4&transport=tcp&rtt=20ms&rate=5mbit&stop=2s&replicates=1"
    ),
    "a chain": partial(
        played, query="shape=chain:4&transport=tcp&size=100kB&rtt=20ms&rate=5mbit&replicates=1"
    ),
    "two questions": pinned,
    "a study file": copied,
    "all options": options,
    "many conditions": partial(
        asked,
        query="transport=tcp,quic,sctp&size=100kB&rtt=20ms,100ms&loss=0%25,2%25&rate=20mbit"
        "&replicates=1",
    ),
    "running": partial(asked, query=ENDLESS, state="running"),
    "refused": partial(asked, query="transport=tcp&loss=9999%25", state="refused"),
    "failed": failed,
    "given up": partial(asked, query="transport=sctp&size=10kB&loss=100%25&rtt=50ms&replicates=1"),
    "no study": partial(plain, path="studies"),
    "a study refused": refused_study,
    "a study running": running_study,
    "a report": partial(studied, name="l4s"),
    "a difference": compared,
    "an inside": inside,
    "a scorecard": scored,
}  # fmt: skip
"""The views by name, in an order in which later ones find what earlier ones have run."""

UNNAMED = """() => [
    ...document.querySelectorAll('input, select, textarea, button, a, iframe, summary')]
    .filter((e) => e.checkVisibility() && !(e.labels?.length || e.ariaLabel || e.title
        || e.getAttribute('aria-labelledby') || e.textContent.trim()))
    .map((e) => e.outerHTML.slice(0, 120))"""
"""Controls that a screen reader has no name for."""
WIDER = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility()
        && e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, pre'))
    .slice(0, 5).map((e) => `${e.localName}.${e.className}#${e.id}`)"""
"""What reaches beyond the window, if the page can be scrolled sideways."""
PALE = """() => {
    const parse = (text) => {
        const [r, g, b, a = 1] = text.match(/[0-9.]+/g).map(Number);
        return { r, g, b, a };
    };
    const over = (top, below) => ({
        r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
        b: top.b * top.a + below.b * (1 - top.a), a: 1,
    });
    const linear = (value) => {
        const share = value / 255;
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    const light = ({ r, g, b }) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const behind = (e) => {
        const layers = [];
        for (let at = e; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            if (colour.a) layers.push(colour);
            if (colour.a === 1) break;
        }
        const dark = matchMedia('(prefers-color-scheme: dark)').matches;
        const canvas = dark ? { r: 18, g: 18, b: 18, a: 1 } : { r: 255, g: 255, b: 255, a: 1 };
        return layers.reduceRight((below, top) => over(top, below), canvas);
    };
    const found = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const e = node.parentElement;
        if (!node.textContent.trim() || !e.checkVisibility({ opacityProperty: true })) continue;
        if (e.closest('.unseen, .skip, svg, :disabled, script, style, option')) continue;
        if (e.closest('.knob:has(:disabled)')) continue; // what is switched off may be pale
        let opacity = 1;
        for (let at = e; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
        const ground = behind(e);
        const colour = parse(getComputedStyle(e).color);
        const ink = over({ ...colour, a: colour.a * opacity }, ground);
        const [high, low] = [light(ink), light(ground)].sort((a, b) => b - a);
        const ratio = (high + 0.05) / (low + 0.05);
        const size = parseFloat(getComputedStyle(e).fontSize);
        if (ratio < (size >= 24 ? 3 : 4.5)) {
            const name = e.className || e.parentElement.className || e.parentElement.id;
            const said = node.textContent.trim().slice(0, 30);
            found.add(`${e.localName} ${name}: ${ratio.toFixed(2)} "${said}"`);
        }
    }
    return [...found].slice(0, 8);
}"""
"""Text whose contrast is below that of WCAG 2, level AA, as far as the page draws it as text."""


def faults(page: Page) -> dict[str, list[str]]:
    """Return what is wrong with how a page looks now, by kind."""
    looked = {"wider": WIDER, "unnamed": UNNAMED, "pale": PALE}
    found = {kind: page.evaluate(script) for kind, script in looked.items()}
    return {kind: what for kind, what in found.items() if what}
