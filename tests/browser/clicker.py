"""A user of the local pages who clicks, types and drags at random, from a seed.

What is done depends on the seed and on what the page shows, which follows from the times of runs:
the same seed is the same kind of session, not the same one.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

Error: type[Exception] = pytest.importorskip("playwright.sync_api").Error

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request, Response

SMALL = "transport=tcp,quic&size=100kB&rtt=20ms&loss=0%25,1%25&replicates=2"
SETTLED = "#now:not([data-state=running])"
PATIENCE_MS = 180_000
TYPED = (
    "", "1%", "0%,2%", "20ms", "5s", "250us", "9999%", "-1", "5furlong", "gemodel 1% 30%",
    "1mbit", "50mbit", "1gbit", "100kB", "1MB", "3", "2", "400", "tcp", "quic,tcp", "bbr", "4bdp",
    "10p", "é", "'; drop", "<b>x</b>", "web-30", "1.1,3", "path.ecn=true", "transport.ecn=true",
    "64kbit", "up",
    "x" * 300, "completion_time_s", "completion_time_s < 1 s", "path.loss=0%", "fq_codel",
)  # fmt: skip
PLACES = ("./", "./", "lessons", "studies")
CONTROLS = "button, a[href], summary, select, textarea, input"
LEFT = re.compile("context was destroyed|navigat|detached|Target page", re.IGNORECASE)
VISIBLE = """(selector) => [...document.querySelectorAll(selector)].map((e, place) => ({
    place, kind: e.type === 'range' ? 'range' : e.localName === 'textarea' || e.type === 'text'
        ? 'text' : e.localName,
    name: (e.id || e.name || e.dataset.does || e.dataset.runs || e.textContent || '').trim()
        .slice(0, 40),
    offers: [...(e.options ?? [])].map((o) => o.value),
    shown: e.checkVisibility() && !e.disabled && e.options?.length !== 0,
})).filter(({ shown }) => shown)"""
CHOOSE = """([selector, place, value]) => {
    const chosen = document.querySelectorAll(selector)[place];
    if (!chosen?.options) return;
    chosen.value = value;
    chosen.dispatchEvent(new Event('input', { bubbles: true }));
    chosen.dispatchEvent(new Event('change', { bubbles: true }));
}"""
BOX = """([selector, place]) => {
    const found = document.querySelectorAll(selector)[place];
    found?.scrollIntoView({ block: 'center', behavior: 'instant' });
    return found?.getBoundingClientRect().toJSON() ?? null;
}"""


@dataclass
class Clicker:
    """Somebody at a page.

    Args:
        context: the browser's window.
        address: that of the pages.
        seed: of everything that is drawn.
    """

    context: BrowserContext
    address: str
    seed: int
    trouble: list[str] = field(default_factory=list)
    """What pages complained about."""
    done: list[str] = field(default_factory=list)
    """What has been done, in words."""

    def __post_init__(self) -> None:
        self._drawn = random.Random(self.seed)  # noqa: S311 - clicks
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.on("page", self._watch)
        self.page = self.context.new_page()
        self.page.goto(self.address)

    def _watch(self, page: Page) -> None:
        page.on("console", lambda said: self._note(f"console: {said.text}"))
        page.on("pageerror", lambda error: self._note(f"error: {error}"))
        page.on("dialog", lambda dialog: self._note(f"dialog: {dialog.message}"))
        page.on("response", self._see)
        page.on("requestfailed", self._see_failed)

    def _see(self, response: Response) -> None:
        if response.status >= 400:
            self._note(f"{response.status}: {response.url}")

    def _see_failed(self, request: Request) -> None:
        if "ERR_ABORTED" not in str(request.failure):  # which a new question does to the last one
            self._note(f"failed: {request.url}: {request.failure}")

    def _note(self, what: str) -> None:
        self.trouble.append(f"after {self.done[-3:]}: {what[:400]}")

    def act(self) -> None:
        """Do one thing; a page that is being left while it is looked at is waited for."""
        try:
            self._act()
        except Error as error:
            if not LEFT.search(str(error)):
                raise
            self.page.wait_for_load_state()

    def _act(self) -> None:
        chosen = self._drawn.choices(
            [self._use_a_control, self._press_a_key, self._go, self._wait_for_an_answer,
             self._look_at_reports],
            [30, 5, 2, 6, 1],
        )[0]  # fmt: skip
        chosen()

    def look_at_everything(self) -> None:
        """Open what the pages have, so that nothing is imported for the first time later."""
        self.page.goto(f"{self.address}?{SMALL}&view=time&view=play")
        self.page.wait_for_selector("#now[data-state=done]", state="attached")
        self.page.wait_for_selector("#time-chart svg")
        self.page.wait_for_selector("#play .lane")
        for copied in ("command", "study"):
            self.page.click(f"[data-does={copied}]")
        with self.context.expect_page() as opened:
            self.page.click("#report")
        opened.value.wait_for_selector("#answer")
        opened.value.close()
        self.page.goto(f"{self.address}lessons")
        self.page.goto(f"{self.address}studies")
        self.page.click("[data-runs=l4s][data-quick]")
        self.page.wait_for_selector("#progress[data-state=done]")
        self.page.click("[data-inside^=l4s]")
        self.page.wait_for_selector("#time-chart svg")
        self.page.click("#why summary")
        self.page.click("[data-does=explain]")
        self.page.wait_for_selector(
            "#why:is([data-state=done], [data-state=refused])", state="attached"
        )

    def settle(self) -> None:
        """Ask a small question, and wait for its last answer."""
        self.page.goto(f"{self.address}?transport=tcp&size=10kB&rtt=20ms&replicates=2")
        self.page.wait_for_selector("#now:is([data-state=done], [data-state=failed])")
        if self.page.get_attribute("#now", "data-state") != "done":
            self._note(f"no answer: {self.page.text_content('#now .state')}")

    def _use_a_control(self) -> None:
        found = self.page.evaluate(VISIBLE, CONTROLS)
        if not found:
            return
        control = self._drawn.choice(found)
        self.done.append(f"{control['kind']} {control['name']}")
        if control["kind"] == "select":
            value = self._drawn.choice(control["offers"])
            self.page.evaluate(CHOOSE, [CONTROLS, control["place"], value])
            return
        # By the mouse: whatever is there by now gets the click, as with a hand.
        box = self.page.evaluate(BOX, [CONTROLS, control["place"]])
        if box is None:
            return
        share = self._drawn.random() if control["kind"] == "range" else 0.5
        self.page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        if control["kind"] == "range":
            for _ in range(self._drawn.randrange(4)):
                self.page.keyboard.press(self._drawn.choice(["ArrowLeft", "ArrowRight", "Home"]))
        elif control["kind"] == "text":
            self._type()

    def _type(self) -> None:
        text = self._drawn.choice(TYPED)
        self.done[-1] += f" {text[:20]!r}"
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)
        self.page.keyboard.press(self._drawn.choice(["Tab", "Enter"]))

    def _press_a_key(self) -> None:
        key = self._drawn.choice(["Tab", "Tab", "Shift+Tab", "Space", "ArrowDown", "ArrowRight"])
        self.done.append(key)
        self.page.keyboard.press(key)

    def _go(self) -> None:
        where = self._drawn.choice([*PLACES, "reload", "back"])
        self.done.append(f"go {where}")
        if where == "reload":
            self.page.reload()
        elif where == "back":
            self.page.go_back()
        else:
            self.page.goto(self.address + where)
        if not self.page.url.startswith(self.address):
            self.page.goto(self.address)

    def _wait_for_an_answer(self) -> None:
        if self.page.query_selector("#now"):
            self.done.append("wait")
            # What takes longer is outdated by the next question.
            self.page.evaluate(
                """(selector) => new Promise((done) => {
                    const look = () => document.querySelector(selector) ? done() : 0;
                    new MutationObserver(look).observe(document.body,
                        { subtree: true, attributes: true });
                    setTimeout(done, 5000);
                    look();
                })""",
                SETTLED,
            )

    def _look_at_reports(self) -> None:
        for other in self.context.pages:
            if other is not self.page:
                other.wait_for_load_state()
                other.close()
