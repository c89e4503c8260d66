"""The colours of charts on a dark page, where colours that would be too dark are lightened.

Charts are drawn once, in the colours of print; a page's style replaces them, so that it follows the
system and saved pictures stay as they are.
"""

from collections.abc import Iterator
from functools import cache

from netwarp.figures.style import (
    LEAST_CONTRAST,
    contrast,
    series_palette,
    shaded,
    text_colour,
)
from netwarp.metrics.attribution import CAUSE_TEXTS

PAGE = "#0D1117"
"""Background colour of a dark page, as in the style of reports."""
LEAST_OF_MARKS = 4.0
"""Minimum contrast of marks to the background: more than the 3 that WCAG 2 requires."""
_LIGHTER = [step / 20 for step in range(20)]


def on_dark(colour: str, least: float = LEAST_OF_MARKS) -> str:
    """Return a colour, lightened as far as a mark on a dark page needs for contrast."""
    lighter = (shaded(colour, shade) for shade in _LIGHTER)
    return next(each for each in lighter if contrast(each, PAGE) >= least)


@cache
def dark_rules() -> str:
    """Return CSS rules for charts on a page, for systems in dark mode."""
    return "@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(_rules()) + "\n}\n"


def _rules() -> Iterator[str]:
    colours = dict.fromkeys([*series_palette(), *(text.colour for text in CAUSE_TEXTS.values())])
    for colour in colours:
        light = on_dark(colour)
        if light != colour:
            yield f'  .chart [fill="{colour}" i] {{ fill: {light}; }}'
            yield f'  .chart [stroke="{colour}" i] {{ stroke: {light}; }}'
    for ink in dict.fromkeys(each for colour in colours for each in (colour, text_colour(colour))):
        light = on_dark(ink, LEAST_CONTRAST)
        if light != ink:
            yield f'  .chart .role-mark text[fill="{ink}" i] {{ fill: {light}; }}'
