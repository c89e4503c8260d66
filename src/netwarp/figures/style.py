"""The style of charts: colours, shapes and dashes of series, themes, Vega-Lite's configuration.

A transport has one colour in every chart; its variants (`tcp-2008` beside `tcp`) are shades of it,
with dashes and shapes of their own. The colours are those of Okabe and Ito 2008 ("Color Universal
Design"), those of other series Paul Tol's "muted" scheme (2021): readers with any colour vision can
distinguish them. Shape and dash distinguish the series, too, for print without colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.transports import TRANSPORTS

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn."""

    colour: str
    shape: str
    dash: tuple[int, ...]


PURPLE, GREY = "#CC79A7", "#6E7781"

TRANSPORT_STYLES: dict[str, SeriesStyle] = {
    kind: SeriesStyle(traits.colour, traits.shape, traits.dash)
    for kind, traits in TRANSPORTS.items()
}
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3), (1, 3), (10, 4))
_OTHERS = ("#332288", "#882255", "#44AA99", "#999933", "#AA4499", "#CC6677", "#117733", "#DDCC77")
_SHADES = (0.0, -0.45, 0.4, -0.65, 0.6)
"""Shades for the variants of a transport: the share by which a colour is moved towards black
(negative) or white."""

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
INK, FAINT = "#1F2328", "#57606A"
NAMES = "names"
"""The style of texts among the marks; a page draws them in its own text colour."""

START_UP, STALL, WAIT, OUTAGE = "#DDE2E7", "#D1242F", "#AAB3BD", "#8C959F"
RECEIVING = "#3572A5"
LOWEST_QUALITY, HIGHEST_QUALITY = (0xB6, 0xD4, 0xEE), (0x0A, 0x3D, 0x78)
DIVERGING = ("#542788", "#F7F7F7", "#B35806")
"""Colours for less, the same and more (ColorBrewer's PuOr, safe for any colour vision)."""


@dataclass(frozen=True)
class Theme:
    """Size and text style of a chart. Lengths are in pixels, which are points in a PDF."""

    name: str
    width: int
    """Width of the whole chart."""
    height: int
    """Height of a single plot."""
    panel_height: int
    """Height of a plot among several."""
    font_size: float
    """Size of axis labels; other sizes are derived from it."""
    line_width: float
    point_size: float
    has_title: bool
    """Whether the chart has a title. A figure in a paper has none, as it has a caption."""


SCREEN = Theme("screen", 1000, 340, 240, 12, 2, 70, has_title=True)
PAPER = Theme("paper", 252, 150, 100, 7, 1, 14, has_title=False)
"""One column of a two-column paper: 252 pt, 3.5 inches."""
THEMES = {theme.name: theme for theme in (SCREEN, PAPER)}


def quality_colours(qualities: int) -> list[str]:
    """Return shades of blue for the qualities of a video: the higher, the darker."""
    return [
        "#" + "".join(
            f"{round(low + (high - low) * rank / max(1, qualities - 1)):02X}"
            for low, high in zip(LOWEST_QUALITY, HIGHEST_QUALITY, strict=True)
        )
        for rank in range(qualities)
    ]  # fmt: skip


def series_styles(
    factor: str | None, labels: Sequence[str], transport: str | None = None
) -> list[SeriesStyle]:
    """Return a style for each series.

    Args:
        factor: factor of the series; None for a single series.
        labels: labels of the levels.
        transport: the transport of all series, if there is one and it is not the factor.
    """
    if factor != "transport" and transport is not None:
        return _variants([transport] * len(labels))
    named = labels if factor == "transport" else []
    known = [label for label in named if _kind(label) in TRANSPORT_STYLES]
    of_known = dict(zip(known, _variants(known), strict=True))
    others = iter(range(len(labels)))
    return [of_known.get(label) or _other(next(others)) for label in labels]


def _other(index: int) -> SeriesStyle:
    """Return a style for a label that does not belong to a transport, such as the name of a
    stack.
    """
    return SeriesStyle(
        _OTHERS[index % len(_OTHERS)], _SHAPES[index % len(_SHAPES)], _DASHES[index % len(_DASHES)]
    )


def _variants(labels: Sequence[str]) -> list[SeriesStyle]:
    """Return styles for the variants of transports, by label. The plain name, or else the first
    label, has the unshaded colour.
    """
    styles: dict[int, SeriesStyle] = {}
    seen: dict[str, int] = {}
    plain_first = sorted(enumerate(labels), key=lambda item: item[1] not in TRANSPORT_STYLES)
    for index, label in plain_first:
        base = TRANSPORT_STYLES[_kind(label)]
        rank = seen.get(_kind(label), 0)
        seen[_kind(label)] = rank + 1
        styles[index] = _variant(base, rank) if rank else base
    return [styles[index] for index in range(len(labels))]


def _variant(base: SeriesStyle, rank: int) -> SeriesStyle:
    shade = _SHADES[rank % len(_SHADES)]
    shape = _SHAPES[(_SHAPES.index(base.shape) + rank) % len(_SHAPES)]
    dashes = [dash for dash in _DASHES if dash != base.dash]
    return SeriesStyle(shaded(base.colour, shade), shape, dashes[(rank - 1) % len(dashes)])


def _kind(label: str) -> str:
    """Return the transport with which a variant's label begins: `tcp` of `tcp-2008`."""
    return label.replace(" ", "-").partition("-")[0].lower()


def shaded(colour: str, shade: float) -> str:
    """Return a shade of a colour: towards black if `shade` is negative, else towards white."""
    end = 255 if shade > 0 else 0
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + abs(shade) * (end - part)):02X}" for part in parts)


LEAST_CONTRAST = 4.5
"""Contrast between text and background that WCAG 2, level AA, requires."""
_DARKER = (-0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8)


def text_colour(colour: str) -> str:
    """Return a colour, darkened as far as text on white needs for contrast."""
    darker = [shaded(colour, shade) for shade in _DARKER]
    found = (each for each in darker if contrast(each, "#FFFFFF") >= LEAST_CONTRAST)
    return next(found, darker[-1])


def contrast(colour: str, other: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2)."""
    dark, light = sorted((_luminance(colour), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else float(((p + 0.055) / 1.055) ** 2.4) for p in parts]
    red, green, blue = linear
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def series_palette() -> list[str]:
    """Return all colours that series may have."""
    transports = [style.colour for style in TRANSPORT_STYLES.values()]
    return [*(shaded(colour, shade) for colour in transports for shade in _SHADES), *_OTHERS]


def config(theme: Theme = SCREEN) -> Spec:
    """Return Vega-Lite's configuration: thin rules, no frame, text as in a scientific journal."""
    size = theme.font_size
    return {
        "background": "white",
        "font": FONT,
        "padding": 8 if theme.has_title else 2,
        "view": {"stroke": None},
        "title": {
            "anchor": "start", "frame": "group", "fontSize": 1.25 * size, "fontWeight": 600,
            "color": INK, "subtitleFontSize": 0.96 * size, "subtitleColor": FAINT,
            "subtitlePadding": 4, "offset": size,
        },
        "axis": {
            "labelFontSize": 0.96 * size, "titleFontSize": size, "titleFontWeight": 500,
            "titlePadding": 0.65 * size, "labelColor": FAINT, "titleColor": INK,
            "gridColor": "#EAEEF2", "gridWidth": 0.08 * size, "domainColor": "#8C959F",
            "tickColor": "#8C959F", "tickSize": 4, "labelPadding": 4, "domain": False,
            "ticks": False,
        },
        "axisX": {"grid": False, "domain": True, "ticks": True},
        "legend": {
            "orient": "top", "direction": "horizontal", "title": None, "labelFontSize": size,
            "labelColor": INK, "titleFontSize": size, "titleFontWeight": 600, "titleColor": INK,
            "symbolSize": 9 * size, "symbolOpacity": 1, "columnPadding": 1.5 * size,
            "labelLimit": 260, "offset": 0.65 * size,
        },
        "header": {
            "labelFontSize": size, "labelFontWeight": 600, "labelColor": INK, "labelPadding": 6,
            "title": None,
        },
        "style": {NAMES: {"color": INK}},
    }  # fmt: skip


def page_overlay() -> Spec:
    """Return the configuration that a page adds, with text and rules in its light or dark
    colours.
    """
    text, faint, rule = "var(--ink)", "var(--faint)", "var(--rule)"
    return {
        "background": "transparent",
        # Without padding at the bottom, titles of axes are cut off.
        "padding": {"left": 0, "top": 0, "right": 0, "bottom": 5},
        "title": {"color": text, "subtitleColor": faint},
        "axis": {
            "labelColor": faint, "titleColor": text, "gridColor": rule, "domainColor": faint,
            "tickColor": faint,
        },
        "legend": {"labelColor": text, "titleColor": text},
        "header": {"labelColor": text},
        "style": {NAMES: {"color": text}},
    }  # fmt: skip
