"""Colours of charts on dark pages, and of the names on light ones."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from netwarp.figures.dark import LEAST_OF_MARKS, PAGE, dark_rules, on_dark
from netwarp.figures.style import (
    LEAST_CONTRAST,
    contrast,
    series_palette,
    series_styles,
    text_colour,
)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colour", series_palette())
def test_every_colour_of_a_series_can_be_seen(colour: str) -> None:
    assert contrast(on_dark(colour), PAGE) >= LEAST_OF_MARKS
    assert contrast(on_dark(text_colour(colour), LEAST_CONTRAST), PAGE) >= LEAST_CONTRAST
    assert contrast(text_colour(colour), "#FFFFFF") >= LEAST_CONTRAST


def test_colours_that_are_light_enough_stay() -> None:
    assert on_dark("#E69F00") == "#E69F00"
    assert "#E69F00" not in dark_rules().replace("text[fill", "")


def test_series_of_one_chart_stay_apart() -> None:
    for labels in (["tcp", "tcp-bbr", "quic"], ["a", "b", "c", "d"]):
        factor = "transport" if "tcp" in labels else None
        shown = [on_dark(style.colour) for style in series_styles(factor, labels)]
        for one, other in combinations(shown, 2):
            parts = zip(re.findall("..", one[1:]), re.findall("..", other[1:]), strict=True)
            assert sum(abs(int(a, 16) - int(b, 16)) for a, b in parts) > 60
