"""Turning knobs on the local pages: back, what mends a refusal, what two answers have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from browser.conftest import Open

pytestmark = [pytest.mark.browser, pytest.mark.guest]
pytest.importorskip("starlette")

SMALL = "transport=tcp&size=100kB&rtt=50ms&rate=20mbit&replicates=1"


def _done(page: Page) -> None:
    page.wait_for_selector("#now[data-state=done]", state="attached")


def _turn(page: Page, name: str, value: str) -> None:
    page.fill(f"#k-{name}", value)
    page.press(f"#k-{name}", "Tab")


def test_back_undoes_the_turn_of_a_knob_and_forward_does_it_again(visit_ui: Open) -> None:
    page = visit_ui("lessons")
    page.goto(page.url.replace("lessons", f"?{SMALL}"))
    _done(page)
    _turn(page, "rtt", "70ms")
    page.wait_for_url("**rtt=70ms**")
    _turn(page, "loss", "1%")
    page.wait_for_url("**loss=1%25**")
    _done(page)
    page.evaluate("history.back()")
    page.wait_for_url("**rtt=70ms**")
    page.wait_for_function("document.getElementById('k-loss').value === ''")
    assert page.input_value("#k-rtt") == "70ms"
    page.evaluate("history.back()")
    page.wait_for_url("**rtt=50ms**")
    _done(page)
    assert page.input_value("#k-rtt") == "50ms"
    page.evaluate("history.forward()")
    page.wait_for_function("document.getElementById('k-rtt').value === '70ms'")
    # Another document: the answer of an evaluation that is under way would be lost with the page.
    page.evaluate("setTimeout(() => history.go(-2))")
    page.wait_for_url("**/lessons")


def test_a_profile_empties_what_it_has_itself(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    page.select_option("#k-profile", "satellite-geo")
    page.wait_for_url(lambda url: "profile=satellite-geo" in url and "rtt=" not in url)
    assert (page.input_value("#k-rtt"), page.input_value("#k-rate")) == ("", "")
    said = page.text_content(".knob:has(#k-profile) .left-out")
    assert (
        said
        == "Emptied, since satellite-geo has its own: round-trip time 50ms, bottleneck rate 20mbit"
    )
    _turn(page, "rtt", "70ms")
    page.wait_for_url("**rtt=70ms**")
    assert page.input_value("#k-profile") == "satellite-geo", "what is typed afterwards wins"


def test_what_is_pinned_and_open_stays_where_back_undoes_a_turn(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    _turn(page, "rtt", "70ms")
    page.wait_for_url("**rtt=70ms**")
    _done(page)
    page.click("[data-does=pin]")
    page.click("#play > summary")
    page.evaluate("history.back()")
    page.wait_for_url("**rtt=50ms**")
    _done(page)
    assert page.locator("#pinned .fill").count() == 1
    assert "pin=" in page.url
    assert "view=play" in page.url


def test_what_was_copied_goes_when_a_knob_is_turned(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    page.click("[data-does=command]")
    page.wait_for_selector("#text:not([hidden])")
    page.locator("#copied").filter(has_text=re.compile(".")).wait_for()
    below = "document.getElementById('text').getBoundingClientRect().top"
    assert page.evaluate(below) < page.locator("#time").evaluate(
        "(e) => e.getBoundingClientRect().top"
    )
    _turn(page, "rtt", "70ms")
    page.wait_for_url("**rtt=70ms**")
    assert page.locator("#text").is_hidden()
    assert page.text_content("#copied") == ""


@pytest.mark.parametrize("width", [1200, 400])
def test_what_mends_a_refusal_is_offered_as_a_button(visit_ui: Open, width: int) -> None:
    page = visit_ui("?transport=tcp&size=100kB&rtt=50ms&queue=1bdp&replicates=1", width=width)
    page.wait_for_selector("#now[data-state=refused]", state="attached")
    assert "no queue forms where the rate is unlimited" in str(page.text_content("#r-queue"))
    assert page.locator(".knob.missing #k-rate").count() == 1
    page.locator("button:visible", has_text="Set “Bottleneck rate” to 50mbit").first.click()
    _done(page)
    assert page.input_value("#k-rate") == "50mbit"
    assert page.locator(".missing, .remedies:visible").count() == 0
    _turn(page, "rate", "")
    page.wait_for_selector("#now[data-state=refused]", state="attached")
    page.locator("button:visible", has_text="Leave “Queue” out").first.click()
    _done(page)
    assert page.input_value("#k-queue") == ""


def test_two_answers_have_one_unit_and_one_axis(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}&pin=transport%3Dtcp%26size%3D10MB%26rate%3D20mbit%26replicates%3D1")
    _done(page)
    page.wait_for_selector("#pinned[data-state=done]", state="attached")
    captions = page.locator(".bars caption").all_text_contents()
    assert {text.split(",")[0] for text in captions} == {"Completion time (s)"}
    values = page.locator(".bars .num").all_text_contents()
    small, large = (float(text.split()[0].replace("\u00a0", " ").split(" ")[0]) for text in values)
    assert 0.1 < small < 0.5 < large
    widths = [each.evaluate("(e) => e.offsetWidth") for each in page.locator(".fill").all()]
    assert widths[0] / widths[1] == pytest.approx(small / large, rel=0.1)
    _turn(page, "size", "30MB")
    page.locator("#now .bars .num").filter(has_text=re.compile("^1\\d\\.")).wait_for()


def test_shares_are_drawn_as_shares_of_the_whole(visit_ui: Open) -> None:
    page = visit_ui(
        "?transport=tcp&congestion=reno&rtts=20ms,160ms&rate=20mbit&stop=5s&replicates=1"
    )
    _done(page)
    share = """(e) => [e.querySelector('.num').textContent, e.querySelector('.fill').offsetWidth /
        e.querySelector('.track').offsetWidth]"""
    found = [each.evaluate(share) for each in page.locator("#now .bars").all()]
    assert len(found) == 3
    for text, drawn in found:
        number = float(text.split("\u00a0")[0].split(" ")[0])
        assert drawn == pytest.approx(number / 100 if "%" in text else number, abs=0.01)
    assert "bars from 0 to 100" in str(page.locator("#now caption").first.text_content())


def test_all_options_have_a_group_and_a_sentence(visit_ui: Open) -> None:
    page = visit_ui("lessons")
    page.click("[href*='lesson=mptcp']")
    page.wait_for_selector(".to-turn #k-set")
    assert page.text_content("#others > summary .given") == "given: --set, --expect"
    assert page.is_visible("#k-set")
    assert page.is_hidden("#k-duplicate")
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    silent = """[...document.querySelectorAll('#others .knob')].filter((e) => e.checkVisibility())
        .filter((e) => e.querySelector('.help').textContent.trim().length < 12
            || !e.querySelector('.help').checkVisibility()).map((e) => e.dataset.option)"""
    assert page.evaluate(silent) == []
    assert page.locator("#others .group:visible").count() == 7
    _done(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_follows_the_scheme_of_colours(
    visit_ui: Open, scheme: Literal["light", "dark"]
) -> None:
    page = visit_ui("?transport=tcp&congestion=cubic,bbr&size=100kB&rtt=50ms&rate=20mbit"
                    "&loss=1%25&replicates=2", scheme=scheme)  # fmt: skip
    _done(page)
    with page.context.expect_page() as opened:
        page.click("#report")
    report = opened.value
    report.wait_for_selector(".chart[data-drawn]", state="attached")
    look = """() => [getComputedStyle(document.body).backgroundColor,
        [...new Set([...document.querySelectorAll('.chart svg [fill="#003F62" i]')]
            .map((e) => getComputedStyle(e).fill))]]"""
    other: Literal["light", "dark"] = "dark" if scheme == "light" else "light"
    for now in (scheme, other, scheme):
        report.emulate_media(color_scheme=now)
        ground, (line,) = report.evaluate(look)
        assert ground == ("rgb(13, 17, 23)" if now == "dark" else "rgb(255, 255, 255)")
        assert (line == "rgb(0, 63, 98)") == (now == "light")


def test_a_dot_is_the_same_number_of_packets_in_every_lane(visit_ui: Open) -> None:
    """A window of ten packets is seen on a fast link too."""
    page = visit_ui("?transport=tcp&size=100kB&rtt=100ms&rate=20mbit,200mbit&replicates=1"
                    "&against=path.rate=20mbit&view=play")  # fmt: skip
    page.wait_for_selector("#play .lane >> nth=1")
    assert str(page.text_content("#play .key")).startswith("A dot is a packet that")


def test_nothing_moves_below_the_pointer_when_a_knob_gets_the_focus(visit_ui: Open) -> None:
    """A click that begins on a control ends on it."""
    page = visit_ui(f"?{SMALL}")
    _done(page)
    places = """[...document.querySelectorAll('fieldset .knob')].map((e) =>
        [e.getBoundingClientRect().top, e.getBoundingClientRect().height])"""
    before = page.evaluate(places)
    page.focus("#k-rtt")
    assert page.locator("#h-rtt").is_visible()
    assert page.evaluate(places) == before


def test_only_a_whole_answer_can_be_pinned(visit_ui: Open) -> None:
    page = visit_ui("?transport=tcp&size=1GB&rtt=50ms&loss=5%25&replicates=100")
    page.wait_for_selector("#now[data-state=running]", state="attached")
    assert page.locator("[data-does=pin]").is_hidden()
    page.click("[data-does=stop]")
    assert page.locator("[data-does=pin]").is_hidden()


def test_what_was_run_can_be_opened_in_a_small_window(visit_ui: Open) -> None:
    """And the names of levels below a chart of its report do not run into one another."""
    page = visit_ui("studies", width=400)
    page.click("[data-runs=bufferbloat][data-quick]")
    page.wait_for_selector("#progress[data-state=done]")
    inside = page.locator("[data-inside^=bufferbloat]")
    box = inside.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 400
    report = page.frame_locator("#shown iframe")
    report.locator(".chart").first.scroll_into_view_if_needed()
    report.locator(".chart[data-drawn] svg .role-axis-label text").first.wait_for()
    name = "[...document.querySelectorAll('.chart svg .role-axis-label text')]"
    frame = page.frames[1]
    leaning = frame.evaluate(
        f"{name}.filter((e) => e.textContent === 'fq_codel')"
        ".map((e) => e.getAttribute('transform').includes('rotate(320'))"
    )
    assert leaning
    assert all(leaning)


def test_what_is_refused_as_too_little_stands_at_the_low_end(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}&loss=-1%25")
    page.wait_for_selector("#now[data-state=refused]", state="attached")
    assert int(page.input_value("[data-turns=loss]")) <= 1


def test_the_queue_that_nobody_asked_for_is_shown(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    assert page.get_attribute("#k-queue", "placeholder") == "usually 1bdp"
    assert page.locator("#k-discipline option").first.text_content() == "usually fifo"
    _turn(page, "rate", "")  # a link without a rate has no queue
    assert page.get_attribute("#k-queue", "placeholder") == "–"
    assert page.locator("#k-discipline option").first.text_content() == "–"
    _turn(page, "rate", "20mbit")
    _done(page)
    assert "All have: Queue 1 BDP" in str(page.text_content("#now .found"))


def test_an_emptied_list_of_transports_says_what_races(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    said = page.locator("[data-key='transport.kind'] .usual, .knob .usual").first
    assert said.is_hidden()
    page.uncheck("[data-checks=transport][value=tcp]")
    _done(page)
    assert "tcp, tls, sctp, quic" in str(said.text_content())
    assert said.is_visible()
    assert page.locator("#now .fill").count() == 4


def test_what_is_pinned_says_in_what_it_differs(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    page.click("[data-does=pin]")
    said = page.locator("#pinned .state")
    assert said.text_content() == "Pinned: the same as above"
    _turn(page, "loss", "1%")
    page.wait_for_url("**loss=1%25**")
    _done(page)
    assert said.text_content() == "Pinned, with packet loss not set (above: 1%)"
    page.reload()
    _done(page)
    page.wait_for_selector("#pinned[data-state=done]", state="attached")
    assert said.text_content() == "Pinned, with packet loss not set (above: 1%)"


def test_an_old_answer_is_dimmed_while_another_is_on_its_way(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    assert page.get_attribute("#now", "aria-busy") == "false"
    _turn(page, "size", "10GB")
    _turn(page, "loss", "1%")
    page.wait_for_selector("#now[data-state=running][data-outdated][aria-busy=true]")
    assert page.locator("#now .found").evaluate("(e) => getComputedStyle(e).opacity") == "0.4"
    # How long all takes is said at once, and how far it is as it goes on.
    going = page.locator("#now .going")
    going.filter(has_text=re.compile(r"about .* in all")).wait_for()
    going.filter(has_text=re.compile(r"0 of 1 runs have ended; .* of their own time")).wait_for()
    page.click("[data-does=stop]")
    page.wait_for_selector("#now[data-state=stopped][data-outdated][aria-busy=false]")
    assert going.text_content() == ""


def test_a_lesson_shows_which_of_its_statements_is_about_what_runs(visit_ui: Open) -> None:
    page = visit_ui("lessons")
    page.click("[href*='lesson=slow-start']")
    now = page.locator("ul.next > li[aria-current]")
    dimmed = page.locator(".look[data-outdated]")
    page.wait_for_selector("#now[aria-busy]")
    assert (now.count(), dimmed.count()) == (0, 0)
    page.locator("ul.next > li a").first.click()
    now.wait_for()
    assert page.locator("ul.next > li").first.get_attribute("aria-current") == "true"
    assert (now.count(), dimmed.count()) == (1, 1)
    _turn(page, "replicates", "1")
    page.wait_for_selector(".lesson .turned:not([hidden])")
    assert (now.count(), dimmed.count()) == (0, 1)


def test_the_words_of_where_the_time_went_can_be_looked_up(visit_ui: Open) -> None:
    page = visit_ui(f"?{SMALL}")
    _done(page)
    shares = page.locator(".causes dd").last.inner_text().split(", ")
    named = [re.sub(r"\s\d+\s%$", "", each) for each in shares]
    page.click(".meanings summary")
    meant = page.locator(".meanings li strong").all_inner_texts()
    assert named
    assert set(named) <= set(meant)
    # It stays open while intervals tighten.
    _turn(page, "loss", "1%")
    page.wait_for_selector("#now[data-state=running]")
    _done(page)
    page.wait_for_selector(".meanings[open]")
