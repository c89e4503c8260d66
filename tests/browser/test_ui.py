"""The local pages in a real browser: quiet, whole at any width, and what is asked is answered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from browser.conftest import LIMIT_MS
from browser.views import faults

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from browser.conftest import Open

pytestmark = [pytest.mark.browser, pytest.mark.guest]
pytest.importorskip("starlette")

SMALL = "transport=tcp,quic&size=100kB&rtt=50ms&rate=20mbit&loss=1%25&replicates=2"


def _state(page: Page, state: str, panel: str = "now") -> None:
    page.wait_for_selector(f"#{panel}[data-state={state}]", state="attached")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 400])
def test_an_answer_fits_any_width(visit_ui: Open, width: int, scheme: str) -> None:
    page = visit_ui(f"?{SMALL}", width=width, scheme=scheme)
    _state(page, "done")
    assert page.locator("#now .bars .fill").count() == 2
    assert page.locator("#now .answer li").count() == 1
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    unnamed = """[...document.querySelectorAll('input, select, button, a')].filter((each) => !(
        each.labels?.length || each.ariaLabel || each.textContent.trim())).length"""
    assert page.evaluate(unnamed) == 0
    heard = page.locator("#now table").first.aria_snapshot()
    assert all(f'columnheader "{name}"' in heard for name in ("Contender", "Value", "Verdict"))
    assert re.search(r'row "TCP [^"]* m?s ', heard)


def test_a_knob_is_turned_by_keyboard_and_the_address_has_it(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _state(page, "done")
    slider = page.locator("[data-turns=rtt]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**rtt=70ms**")
    assert page.input_value("#k-rtt") == "70ms"
    _state(page, "done")
    page.reload()
    assert page.input_value("#k-rtt") == "70ms"
    _state(page, "done")


def test_a_refusal_stands_beside_its_knob(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _state(page, "done")
    page.fill("#k-loss", "9999%")
    page.press("#k-loss", "Tab")
    _state(page, "refused")
    said = page.locator("#r-loss")
    assert said.text_content() == (
        'compare: --loss = "9999%": more than 100\xa0%; write a percentage from "0%" to "100%"'
    )
    assert page.get_attribute("#k-loss", "aria-invalid") == "true"
    page.fill("#k-loss", "2%")
    page.press("#k-loss", "Tab")
    _state(page, "done")
    assert said.is_hidden()


def test_a_refusal_that_is_out_of_sight_is_said_where_the_answer_would_be(visit_ui: Open) -> None:
    page = visit_ui("?transport=tcp&size=-1MB", width=400)
    _state(page, "refused")
    assert page.text_content("#now .state") == page.text_content("#r-size")


def test_two_configurations_stand_side_by_side(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _state(page, "done")
    page.click("[data-does=pin]")
    page.select_option("#k-profile", "satellite-geo")
    page.fill("#k-rtt", "")
    page.press("#k-rtt", "Tab")
    _state(page, "done")
    assert page.locator("#pinned .fill").count() == 2
    page.reload()
    _state(page, "done")
    _state(page, "done", "pinned")
    assert page.locator("#pinned .fill").count() == 2
    page.click("[data-does=pin]")
    assert page.locator("#pinned").is_hidden()
    assert "pin=" not in page.url


def test_what_is_shown_can_be_copied_and_reported(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _state(page, "done")
    page.click("[data-does=command]")
    page.wait_for_selector("#text:not([hidden])")
    assert str(page.text_content("#text")).startswith("netwarp compare --rtt 50ms --rate 20mbit")
    page.click("[data-does=study]")
    page.locator("#text").filter(has_text="# What if?").wait_for()
    with page.context.expect_page() as opened:
        page.click("#report")
    opened.value.wait_for_selector("#answer")


def test_pages_and_messages_have_knobs_of_their_own(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    page.check("[name=kind][value=page]")
    assert page.locator("#k-size").is_hidden()
    assert page.locator("#k-transport").is_hidden()
    _state(page, "done")
    assert page.locator("#now .bars tbody th").all_text_contents() == ["HTTP/2", "HTTP/3"]
    assert "Time to first byte" in str(page.locator("#now .beside thead").first.text_content())
    assert page.locator("[data-checks=transport][value=udp]").is_hidden()
    page.check("[name=kind][value=flow]")
    _state(page, "done")
    assert page.locator("[data-checks=transport][value=udp]").is_visible()
    page.fill("#k-transport", "tcp,5ms")
    page.press("#k-transport", "Tab")
    _state(page, "refused")
    assert page.locator("[data-checks=transport][value='5ms']").count() == 0
    page.fill("#k-transport", "tcp,udp")
    page.press("#k-transport", "Tab")
    _state(page, "done")
    assert page.locator("#now .bars").count() >= 1
    beside = page.locator("#now .beside thead").first
    assert "Time to first byte" in str(beside.text_content()) or "delay" in str(
        beside.text_content()
    )


@pytest.mark.parametrize(
    ("kind", "knob", "metric"),
    [("stream", "stream", "Time stalled"), ("flow", "flow", "Throughput"),
     ("rr", "requests", "latency of requests")],
)  # fmt: skip
def test_films_calls_and_requests_are_asked_for_by_a_click(
    visit_ui: Open, kind: str, knob: str, metric: str
) -> None:
    page = visit_ui(f"?{SMALL}&view=time")
    page.check(f"[name=kind][value={kind}]")
    _state(page, "done")
    assert page.locator("#k-size").is_hidden()
    assert page.locator("#k-shape").is_hidden()
    assert page.input_value(f"#k-{knob}")
    assert metric in " ".join(page.locator("#now .bars caption").all_text_contents())
    # What asks for the kind is not left empty: a file would be sent beside knobs of another kind.
    if kind != "stream":
        page.fill(f"#k-{knob}", "")
        page.press(f"#k-{knob}", "Tab")
        assert page.input_value(f"#k-{knob}")
    page.check("[name=kind][value=bulk]")
    _state(page, "done")
    assert page.locator("#k-size").is_visible()
    assert knob not in page.url.partition("?")[2].split("view")[0].split("size")[0]


def test_a_call_goes_both_ways(visit_ui: Open) -> None:
    page = visit_ui("?flow=64kbit&transport=udp,tcp&rtt=50ms&rate=1mbit&replicates=1")
    _state(page, "done")
    page.select_option("#k-direction", "both")
    page.locator("#now caption").nth(1).wait_for()
    _state(page, "done")
    assert page.is_checked("[data-checks=transport][value=udp]")
    assert [text.split(" (")[0] for text in page.locator("#now caption").all_text_contents()] == [
        "Message delay, 95\N{NO-BREAK SPACE}%, down", "Message delay, 95\N{NO-BREAK SPACE}%, up",
    ]  # fmt: skip


def test_a_network_switches_off_what_it_does_not_have(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _state(page, "done")
    assert page.locator("#k-stop").is_hidden()
    page.select_option("#k-shape", "dumbbell:2")
    page.fill("#k-stop", "2s")
    page.press("#k-stop", "Tab")
    page.locator("#now caption").filter(has_text="Jain").wait_for()
    _state(page, "done")
    assert page.is_disabled("#k-size")
    assert page.text_content("#m-size") == "flows that share a path last until “Flows end after”"
    assert "size=" not in page.url
    page.select_option("#k-shape", "incast:4")
    assert page.is_enabled("#k-size")
    assert page.is_disabled("#k-stop")
    page.select_option("#k-shape", "")
    page.locator("#now caption").filter(has_text="Completion time").wait_for()
    assert page.locator("#k-stop").is_hidden()
    assert page.input_value("#k-size") == "100kB"


def test_a_share_of_one_of_several_flows_is_neither_better_for_less_nor_more(
    visit_ui: Open,
) -> None:
    page = visit_ui("?transport=tcp&rtts=20ms,160ms&rate=20mbit&stop=1s&replicates=1", width=400)
    _state(page, "done")
    captions = page.locator("#now caption").all_text_contents()
    assert [text for text in captions if text.startswith("Share")]
    assert not [text for text in captions if text.startswith("Share") and "better" in text]
    assert page.locator("#now").get_by_text("compared with").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_what_a_network_does_not_have_is_left_out_of_an_address(visit_ui: Open) -> None:
    page = visit_ui("?shape=dumbbell:2&size=2MB&stop=1s&transport=tcp&rate=5mbit&replicates=1")
    _state(page, "done")
    said = page.locator("[data-key='workload.size'] .left-out")
    assert said.text_content() == "Left out of what the address says: 2MB"
    assert said.is_visible()
    assert "size=" not in page.url


@pytest.mark.parametrize("width", [1200, 400])
def test_a_network_is_drawn_with_its_packets(visit_ui: Open, width: int) -> None:
    page = visit_ui(
        "?shape=parking-lot:2&transport=tcp&rtt=20ms&rate=5mbit&stop=1s&replicates=1&view=play",
        width=width,
    )
    drawn = page.locator("#play canvas.network")
    drawn.wait_for()
    assert "6 hosts and 3 routers" in str(drawn.get_attribute("aria-label"))
    at_first = drawn.evaluate("(e) => e.toDataURL()")
    page.focus("[name=scrub]")
    # The first packets with data leave after a tenth of the run.
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    assert drawn.evaluate("(e) => e.toDataURL()") != at_first
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    _state(page, "done")


def test_a_click_stops_what_runs(visit_ui: Open) -> None:
    page = visit_ui("?transport=tcp&size=1GB&rtt=50ms&loss=5%25&replicates=100")
    page.click("[data-does=stop]")
    _state(page, "stopped")
    assert page.locator("[data-does=stop]").is_hidden()


def test_what_is_open_is_in_the_address_and_drawn(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}&view=time&view=play", width=400)
    _state(page, "done")
    page.wait_for_selector("#time-chart svg")
    page.wait_for_selector("#play .lane >> nth=1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert "Congestion window" in str(page.text_content("#time-chart"))
    page.click("#time summary")
    page.wait_for_url(lambda url: "view=time" not in url and "view=play" in url)


def test_a_run_is_played_paused_and_scrubbed(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}&view=play")
    _state(page, "done")
    said = page.locator("#play .lane .said").first
    said.wait_for()
    at_first = said.text_content()
    page.select_option("[name=speed]", "4")
    page.click("[data-does=play]")
    page.locator("[data-does=play]").filter(has_text="Pause").wait_for()
    # It is over soon, and can be played again.
    page.locator("[data-does=play]").filter(has_text="Play").wait_for()
    assert "ended at" in str(page.locator("#play .lane .said").last.text_content())
    page.focus("[name=scrub]")
    page.keyboard.press("Home")
    assert said.text_content() == at_first


@pytest.mark.parametrize("width", [1200, 400])
def test_a_lesson_says_what_to_look_for_and_whether_it_holds(visit_ui: Open, width: int) -> None:
    page = visit_ui("lessons", width=width)
    assert page.locator(".cards li").count() == 12
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("text=Slow start")
    _state(page, "done")
    assert page.locator(".expected .verdict.holds").count() == 1
    assert page.locator(".lesson").get_by_text("Look for:").count() == 1
    assert page.locator(".to-turn").count() == 3
    page.fill("#k-rtt", "50ms")
    page.press("#k-rtt", "Tab")
    _state(page, "done")
    assert "lesson=slow-start" in page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("value", "key", "then"),
    # Of a list the last value is turned, and none that it has already is offered.
    [
        ("33ms", "ArrowRight", "50ms"), ("33ms", "ArrowLeft", "30ms"), ("5s", "ArrowLeft", "1s"),
        ("250us", "ArrowRight", "1ms"), ("20ms,100ms", "ArrowRight", "20ms%2C150ms"),
        ("20ms,10ms", "ArrowRight", "20ms%2C30ms"),
    ],
)  # fmt: skip
def test_a_slider_stands_where_a_typed_value_is(
    visit_ui: Open, value: str, key: str, then: str
) -> None:
    page = visit_ui(f"?transport=tcp&size=10kB&replicates=1&rtt={value}")
    _state(page, "done")
    slider = page.locator("[data-turns=rtt]")
    assert slider.get_attribute("aria-valuetext") == value
    slider.focus()
    page.keyboard.press(key)
    page.wait_for_url(f"**rtt={then}&**")
    _state(page, "done")


def test_what_no_knob_shows_is_refused_and_not_dropped(visit_ui: Open) -> None:
    page = visit_ui("?transport=tcp&size=10kB&replicates=1&los=1%25")
    _state(page, "refused")
    assert str(page.text_content("#now .state")).startswith("--los: unknown")
    page.goto(page.url.partition("?")[0] + "?page=web-30&size=1MB")
    _state(page, "refused")
    assert "compare: --size" in str(page.text_content("#now .state"))


def test_a_knob_whose_levels_are_named_elsewhere_can_be_turned(visit_ui: Open) -> None:
    page = visit_ui("lessons")
    page.click("text=Bufferbloat")
    _state(page, "done")
    page.fill("#k-queue", "2bdp,8bdp")
    page.press("#k-queue", "Tab")
    left = page.locator("[data-key='path.queue'] .left-out")
    left.filter(has_text="--against path.queue=1bdp").wait_for()
    assert '--expect "8bdp / 1bdp: rtt_under_load_s_p95 >= 4"' in str(left.text_content())
    _state(page, "done")
    assert page.locator("#now .fill").count() == 4


@pytest.mark.parametrize("lesson", ["slow-start", "bufferbloat"])
def test_the_knobs_to_turn_are_marked_on_one_line(visit_ui: Open, lesson: str) -> None:
    page = visit_ui("lessons")
    page.click(f"[href*='lesson={lesson}']")
    page.wait_for_selector(".to-turn")
    heights = page.evaluate(
        "[...document.querySelectorAll('fieldset .knob > label')].map((e) => e.offsetHeight)"
    )
    assert max(heights) < 30
    _state(page, "done")


def test_charts_over_time_have_the_width_of_a_small_window(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}&view=time", width=400)
    _state(page, "done")
    page.wait_for_selector("#time-chart svg")
    drawn = page.evaluate(
        "Math.max(...[...document.querySelectorAll('#time-chart .role-axis-grid')]"
        ".map((e) => e.getBoundingClientRect().width))"
    )
    assert drawn > 200


def test_titles_of_charts_over_time_are_whole_in_a_small_window(visit_ui: Open) -> None:
    query = "transport=tcp&size=1MB&rtt=50ms&rate=5mbit&replicates=1&view=time"
    page = visit_ui(f"?{query}", width=400)
    _state(page, "done")
    page.wait_for_selector("#time-chart svg")
    titles = page.locator("#time-chart .role-title-text").all_text_contents()
    # Lines follow each other without a space.
    whole = "Goodput (Mbit/s); dotted: rate of the paths in use".replace(" ", "")
    assert any("".join(title.split()).startswith(whole) for title in titles)
    assert not [title for title in titles if "…" in title]


def test_lines_of_configurations_are_light_on_a_dark_page(visit_ui: Open) -> None:
    query = "transport=tcp&congestion=cubic,bbr&size=1MB&rtt=50ms&rate=5mbit&replicates=1"
    page = visit_ui(f"?{query}&view=time&view=play", scheme="dark")
    _state(page, "done")
    page.wait_for_selector("#time-chart svg")
    page.wait_for_selector("#play .lane >> nth=1")
    darkest = """[...document.querySelectorAll('#time-chart [fill], #time-chart [stroke], .fill')]
        .map(getComputedStyle).flatMap((s) => [s.fill, s.stroke, s.backgroundColor])
        .filter((c) => ['rgb(51, 34, 136)', 'rgb(136, 34, 85)'].includes(c)).length"""
    assert page.evaluate(darkest) == 0
    assert page.locator("#time-chart [stroke='#332288' i], #time-chart [fill='#332288' i]").count()


@pytest.mark.parametrize("width", [1200, 400])
def test_a_study_is_run_and_its_report_is_inside(visit_ui: Open, width: int) -> None:
    page = visit_ui("studies", width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("[data-runs=l4s][data-quick]")
    page.wait_for_selector("#progress[data-state=done]")
    page.frame_locator("#shown iframe").locator("h1").first.wait_for()
    # The list of what was run has it without a reload.
    page.click("[data-shows^='kept/l4s']")
    page.frame_locator("#shown iframe").locator("h1").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_study_can_be_stopped(visit_ui: Open) -> None:
    page = visit_ui("studies", scheme="dark")
    page.click("[data-runs=http-versions]:not([data-quick])")
    # How many runs are planned, or how many have ended, which may have replaced it already.
    page.locator("#progress[data-state=running] .state").filter(
        has_text=re.compile(r"\d runs[:,]")
    ).wait_for()
    assert page.get_attribute("#progress", "data-state") == "running"
    page.click("#progress [data-does=stop]")
    page.wait_for_selector("#progress[data-state=stopped]")
    assert "click the same again" in str(page.text_content("#progress .state"))
    assert page.locator("#progress [data-does=stop]").is_hidden()


@pytest.mark.parametrize("width", [1200, 400])
def test_conclusions_come_while_a_publication_is_reproduced(visit_ui: Open, width: int) -> None:
    page = visit_ui("studies", width=width)
    page.click("[data-reproduces=quic-toy]")
    page.locator("#judged li .verdict").first.wait_for()
    # Four of its five studies are still to run.
    assert page.get_attribute("#progress", "data-state") == "running"
    assert page.locator("#judged [data-study]").count() < 5
    # They are at the top, and the card that was clicked is at the bottom.
    page.click("#progress [href='#judged']")
    box = page.locator("#judged h2").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 900
    assert page.locator("#judged li").first.get_by_text("Found: ").is_visible()
    assert faults(page) == {}
    page.click("#progress [data-does=stop]")
    assert page.locator("#judged li .verdict").first.is_visible()


def test_back_leads_to_the_page_before_and_not_to_the_report_before(visit_ui: Open) -> None:
    page = visit_ui("lessons")
    page.goto(page.url.replace("lessons", "studies"))
    for name in ("l4s", "bufferbloat"):
        page.click(f"[data-runs={name}][data-quick]")
        page.locator("#shown h2").filter(has_text=name).wait_for()
        page.frame_locator("#shown iframe").locator("h1").first.wait_for()
    # The evaluation must have returned before the page goes: its answer is lost with the page.
    page.evaluate("setTimeout(() => history.back())")
    page.wait_for_url("**/lessons", timeout=LIMIT_MS / 4)
