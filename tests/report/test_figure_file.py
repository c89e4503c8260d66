"""`netwarp figure`: one figure into a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import support
from netwarp.errors import InputError, RunDirectoryError
from netwarp.report.pictures import draw_figure, figures_of


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return support.write_run_directory(tmp_path_factory.mktemp("figure") / "out")


def test_figures_are_counted_as_in_the_report(directory: Path) -> None:
    names = [chart.name for chart in figures_of(directory)]
    assert names == ["completion-time-over-loss", "completion-time-over-loss-ratio"]


def test_a_figure_is_drawn_beside_the_report_or_where_it_is_asked_for(
    directory: Path, tmp_path: Path
) -> None:
    path = draw_figure(directory, 2)
    assert path == directory / "figures" / "completion-time-over-loss-ratio.svg"
    assert "Ratio to TCP" in path.read_text()
    paper = draw_figure(directory, 1, tmp_path / "one.pdf", theme="paper")
    assert paper.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("number", [1, 2])
def test_a_figure_for_a_paper_is_exactly_a_column_wide(
    directory: Path, tmp_path: Path, number: int
) -> None:
    path = draw_figure(directory, number, tmp_path / "one.svg", theme="paper")
    assert ' width="252" ' in path.read_text()[:300]


def test_a_configuration_is_laid_over_the_theme(directory: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.json"
    config.write_text(json.dumps({"font": "Times", "axis": {"labelFontSize": 20}}))
    path = draw_figure(directory, 1, tmp_path / "one.json", config=config)
    drawn = json.loads(path.read_text())["config"]
    assert (drawn["font"], drawn["axis"]["labelFontSize"]) == ("Times", 20)
    assert drawn["axis"]["titleFontWeight"] == 500  # what it does not say stays


@pytest.mark.parametrize(
    ("number", "options", "message"),
    [
        (3, {}, "no figure 3: it has figures 1 to 2"),
        (0, {}, "no figure 0"),
        (1, {"theme": "poster"}, "choose one of screen, paper"),
        (1, {"out": Path("one.gif")}, "unknown ending"),
        (1, {"config": Path("/dev/zero")}, "a device"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    directory: Path, number: int, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draw_figure(directory, number, **options)  # type: ignore[arg-type]


def test_a_configuration_is_an_object(directory: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.json"
    config.write_text("[1]")
    with pytest.raises(InputError, match="not an object"):
        draw_figure(directory, 1, config=config)


def test_a_directory_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="not a run directory"):
        draw_figure(tmp_path, 1)
