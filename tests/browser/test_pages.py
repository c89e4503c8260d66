"""Reports in a real browser: quiet, whole at any width, sorted, filtered, folded, and unharmed."""

from __future__ import annotations

import csv
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import recorded
import support
from netwarp.estimate.staging import Staging
from netwarp.evaluation import RunData, load
from netwarp.report import write_report
from netwarp.results import Results
from netwarp.sources import load_source
from netwarp.sources.preparation import prepare
from netwarp.sources.reproduce import reproduce_document, write_all
from netwarp.study import Study
from report_picture import WIDTH_PX, take_picture

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from browser.conftest import Visit

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE_LEVEL = 'x"][0]+alert(3)+["</script>'


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = support.write_run_directory(tmp_path_factory.mktemp("report") / "out")
    study = support.STUDY | {"figure": []}  # those that netwarp chooses: every kind of chart with x
    (directory / "study.json").write_text(json.dumps(study))
    return write_report(load(directory))


@pytest.fixture(scope="module")
def timeline_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = recorded.write_directory(tmp_path_factory.mktemp("timeline") / "out")
    return write_report(load(directory))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 400])
def test_a_page_is_whole_at_any_width(
    visit: Visit, report: Path, timeline_report: Path, width: int, scheme: str
) -> None:
    for file in (report, timeline_report):
        page = visit(file, width=width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        too_wide = """[...document.querySelectorAll('.chart')].filter(
            (chart) => chart.querySelector('svg').getBoundingClientRect().right
                > chart.getBoundingClientRect().right + 1).length"""
        assert page.evaluate(too_wide) == 0
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_series_of_any_factor_are_drawn_without_a_complaint(visit: Visit, tmp_path: Path) -> None:
    directory = support.write_run_directory(tmp_path / "out")
    figures: list[dict[str, str]] = [
        {"kind": kind, "y": "completion_time_s", "series": "path.rtt"}
        | ({} if kind == "cdf" else {"x": "path.loss"})
        for kind in ("line", "bar", "box", "cdf")
    ]
    (directory / "study.json").write_text(json.dumps(support.STUDY | {"figure": figures}))
    page = visit(write_report(load(directory)))
    assert page.locator("#figures figure svg").count() == 4


def test_the_grid_of_verdicts_stacks_on_a_phone(visit: Visit, report: Path) -> None:
    page = visit(report, width=400)
    places = [cell.bounding_box() for cell in page.query_selector_all(".grid td.mark")]
    assert len(places) == 18
    for place in places:
        assert place is not None
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= 400
    before = "getComputedStyle(document.querySelector('.grid td.mark'), '::before').content"
    assert page.evaluate(before) == '"loss 0 %, RTT 50 ms"'


def test_a_long_condition_has_a_column_as_wide(visit: Visit, report: Path) -> None:
    page = visit(report)
    page.evaluate(
        "document.querySelectorAll('.grid thead span').forEach("
        "part => part.textContent = 'first\u2019s congestion control cubic')"
    )
    parts = "[...document.querySelectorAll('.grid thead span')]"
    widths = page.evaluate(f"{parts}.map(part => [part.scrollWidth, part.offsetWidth])")
    assert all(needed <= given for needed, given in widths)


def test_numbers_are_sorted_by_any_column(visit: Visit, report: Path) -> None:
    page = visit(report)
    head = page.locator("#numbers-table th", has_text="Completion time (s)")
    for order in ("ascending", "descending"):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        values = _column(page, "Completion time (s)")
        assert values == sorted(values, reverse=order == "descending")
    page.locator("#numbers-table th", has_text="Round-trip time").locator("button").click()
    texts = page.locator("#numbers-table tbody tr td:nth-child(2)").all_inner_texts()
    assert texts == ["50 ms"] * 12 + ["200 ms"] * 12


def _column(page: Page, head: str) -> list[float]:
    heads = page.locator("#numbers-table th").all_inner_texts()
    place = next(i for i, text in enumerate(heads, start=1) if text.startswith(head))
    cells = page.locator(f"#numbers-table tbody tr td:nth-child({place})").all()
    return [float(cell.get_attribute("data-sort") or "nan") for cell in cells]


def test_numbers_are_filtered_by_words(visit: Visit, report: Path) -> None:
    page = visit(report)
    rows = page.locator("#numbers-table tbody tr:visible")
    assert rows.count() == 24
    page.get_by_label("Filter").fill("quic 5 %")
    assert rows.count() == 2
    assert all("QUIC" in text for text in rows.all_inner_texts())
    page.get_by_label("Filter").fill("")
    assert rows.count() == 24


def test_trust_is_folded_until_it_is_opened_or_printed(visit: Visit, report: Path) -> None:
    page = visit(report)
    folds = page.locator("details.fold")
    opened = page.locator("details.fold[open]")
    assert (folds.count(), opened.count()) == (6, 0)
    folds.filter(has_text="Was everybody treated alike?").locator("summary").click()
    assert opened.count() == 1
    assert page.get_by_text("fixed in the kernel's SCTP").first.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.count() == 5, "the provenance stays folded on paper"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.count() == 1


def test_charts_that_were_never_in_sight_are_printed(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 300})
    page.goto(report.resolve().as_uri())
    page.evaluate(
        "addEventListener('afterprint', () => {"
        " window.printed = document.querySelectorAll('.chart[data-spec] svg').length })"
    )
    charts = page.locator(".chart[data-spec]").count()
    assert page.locator(".chart[data-spec] svg").count() < charts, "all charts are in sight"
    page.pdf()
    assert page.evaluate("window.printed") == charts
    page.close()


def test_no_column_is_cut_off_on_paper(browser: Browser, report: Path) -> None:
    """The table of numbers has a page of its own, A4 on its side: 297 mm less its margins."""
    page = browser.new_page(viewport={"width": int((297 - 24) / 25.4 * 96), "height": 700})
    page.goto(report.resolve().as_uri())
    page.emulate_media(media="print")
    table = page.locator("#numbers-table")
    assert table.evaluate("each => each.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]
    assert table.evaluate("each => getComputedStyle(each.closest('section')).page") == "wide"
    page.close()


def test_a_figure_is_saved_from_the_page(visit: Visit, report: Path, tmp_path: Path) -> None:
    page = visit(report)
    begins = {"svg": b"<svg", "png": b"\x89PNG", "csv": b"panel,x,"}
    for ending, signature in begins.items():
        with page.expect_download() as download:
            page.locator(f"button[data-save={ending}]").first.click()
        assert download.value.suggested_filename == f"completion-time-over-loss.{ending}"
        path = tmp_path / f"figure.{ending}"
        download.value.save_as(path)
        assert path.read_bytes().startswith(signature)
    rows = list(csv.DictReader((tmp_path / "figure.csv").read_text().splitlines()))
    assert sum(bool(row["mean"]) for row in rows) == 24


def test_runs_over_time_are_named_in_sight_and_saved_as_rows(
    visit: Visit, timeline_report: Path, tmp_path: Path
) -> None:
    page = visit(timeline_report)
    figure = page.locator("#figure-timeline")
    is_clipped = "(text) => text.closest('[clip-path]') !== null"
    for name in ("TCP", "QUIC"):
        labels = figure.locator("text", has_text=name).all()
        assert len(labels) == 3
        assert not any(label.evaluate(is_clipped) for label in labels)
    with page.expect_download() as download:
        figure.locator("button[data-save=csv]").click()
    download.value.save_as(tmp_path / "runs.csv")
    rows = list(csv.DictReader((tmp_path / "runs.csv").read_text().splitlines()))
    assert {row["run"] for row in rows} == {"", "TCP", "QUIC"}
    assert "Goodput (Mbit/s)" in {row["panel"] for row in rows}


def test_one_run_of_several_is_chosen(visit: Visit, timeline_report: Path) -> None:
    page = visit(timeline_report)
    chart = page.locator("#over-time-chart")
    first = chart.get_attribute("aria-label")
    page.locator("select").select_option(index=2)
    page.wait_for_function(
        "(c => c.dataset.drawn === c.dataset.spec)(document.getElementById('over-time-chart'))"
    )
    assert chart.get_attribute("aria-label") != first


def test_the_picture_of_a_report_ends_with_its_first_figure(
    visit: Visit, report: Path, tmp_path: Path
) -> None:
    page = visit(report, width=WIDTH_PX)
    take_picture(page, tmp_path / "report.png")
    width_px, height_px = struct.unpack(">II", (tmp_path / "report.png").read_bytes()[16:24])
    bottoms = "(figures) => figures.map((f) => f.getBoundingClientRect().bottom + scrollY)"
    first_px, second_px, *_ = page.locator("#figures .chart").evaluate_all(bottoms)
    assert width_px == WIDTH_PX
    assert first_px <= height_px < second_px


@pytest.fixture
def scorecard(tmp_path: Path) -> Path:
    """Write the scorecard of a source with hostile words, of the shared example's results."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "source.toml").write_text(
        f"authors = {json.dumps(HOSTILE)}\npublished = '2000'\ntitle = {json.dumps(HOSTILE)}\n"
        "method = 'A testbed.'\ndiffers = 'Only in its tests.'\nstudies = ['one']\n"
    )
    study = {key: value for key, value in support.STUDY.items() if key != "figure"}
    (folder / "one.toml").write_text(_toml(study))

    def run_study(study: Study, directory: Path, staging: Staging | None) -> tuple[RunData, None]:
        assert staging is not None
        directory.parent.mkdir(parents=True, exist_ok=True)
        data = load(support.write_run_directory(directory), study=study)
        write_report(data)
        return data, None

    done = reproduce_document(prepare(load_source(folder), out=tmp_path / "out"), run_study)
    return write_all([done], tmp_path)


def test_a_scorecard_is_whole_and_quiet(visit: Visit, scorecard: Path) -> None:
    # Of one source beside its studies, and of several, in the folder above.
    for width in (1200, 400):
        for file in (scorecard.parent / "out" / "scorecard.html", scorecard):
            page = visit(file, width=width)
            assert page.locator("h1").inner_text() == HOSTILE
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("figure svg").count() == page.locator("figure").count() > 0


def test_a_scorecard_gives_its_data_and_its_study(scorecard: Path, visit: Visit) -> None:
    page = visit(scorecard)
    study = page.locator("details", has_text="The study file")
    assert not study.locator("pre").is_visible()
    study.locator("summary").click()
    assert 'kind = "bulk"' in study.locator("pre").inner_text().replace('"kind"', "kind")
    with page.expect_download() as download:
        page.get_by_text("Its cells as CSV").click()
    assert Path(download.value.path()).read_text().startswith("transport,path.loss")


def _toml(study: dict[str, Any]) -> str:
    """Write a study of plain values, tables of them, and lists of such tables."""
    plain = {k: v for k, v in study.items() if not isinstance(v, dict) and k != "claim"}
    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in plain.items()]
    for name in ("path", "workload", "factors"):
        lines.append(f"[{name}]")
        lines += [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in study[name].items()]
    return "\n".join(lines) + "\n"


def test_hostile_words_stay_text(visit: Visit, tmp_path: Path) -> None:
    directory = support.write_run_directory(tmp_path / "out")
    results = Results(
        tuple(
            replace(run, factors=_with_hostile_level(dict(run.factors)), reason=HOSTILE)
            for run in support.results().runs
        )
    )
    figures = [
        {"kind": kind, "x": "path.loss", "y": "completion_time_s", "series": "transport",
         "title": HOSTILE}
        for kind in ("line", "bar")
    ]  # fmt: skip
    study = support.STUDY | {"title": HOSTILE, "description": HOSTILE, "figure": figures}
    (directory / "study.json").write_text(json.dumps(study))
    data = replace(load(directory), results=results)
    page = visit(write_report(data))
    assert page.locator("h1").inner_text() == HOSTILE
    assert HOSTILE_LEVEL in page.locator("#figures").inner_text()
    assert page.locator("img").count() == 0


def _with_hostile_level(factors: dict[str, Any]) -> dict[str, Any]:
    is_changed = factors["path.loss"] == "1%"
    return factors | ({"path.loss": HOSTILE_LEVEL} if is_changed else {})
