"""How charts look: colours, shapes and dashes by series, and the Vega-Lite configuration.

Colours are those of Okabe and Ito 2008 ("Color Universal Design"), which readers with any colour
vision tell apart; shape and dash say the same once more, for print without colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.wording import level_text

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn."""

    colour: str
    shape: str
    dash: tuple[int, ...]


BLUE, SKY, GREEN, VERMILION = "#0072B2", "#56B4E9", "#009E73", "#D55E00"
PURPLE, ORANGE, GREY, OLIVE = "#CC79A7", "#E69F00", "#6E7781", "#8A8A00"

TRANSPORT_STYLES = {
    "tcp": SeriesStyle(BLUE, "circle", ()),
    "tls": SeriesStyle(SKY, "square", (6, 3)),
    "sctp": SeriesStyle(GREEN, "triangle-up", (2, 2)),
    "quic": SeriesStyle(VERMILION, "diamond", ()),
    "udp": SeriesStyle(PURPLE, "triangle-down", (8, 3, 2, 3)),
    "mptcp": SeriesStyle(ORANGE, "cross", (4, 2)),
}
_ANY = (
    *TRANSPORT_STYLES.values(),
    SeriesStyle(GREY, "triangle-right", (1, 2)),
    SeriesStyle(OLIVE, "triangle-left", (10, 4)),
)

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
INK, FAINT, RULE = "#1F2328", "#57606A", "#D8DEE4"

START_UP, STALL, WAIT, OUTAGE = "#DDE2E7", "#D1242F", "#AAB3BD", "#8C959F"
LOWEST_QUALITY, HIGHEST_QUALITY = (0xB6, 0xD4, 0xEE), (0x0A, 0x3D, 0x78)


def quality_colours(qualities: int) -> list[str]:
    """Give the qualities of a medium shades of one blue: the higher, the darker."""
    return [
        "#" + "".join(
            f"{round(low + (high - low) * rank / max(1, qualities - 1)):02X}"
            for low, high in zip(LOWEST_QUALITY, HIGHEST_QUALITY, strict=True)
        )
        for rank in range(qualities)
    ]  # fmt: skip


def series_styles(factor: str | None, labels: Sequence[str]) -> list[SeriesStyle]:
    """Give each series a style; a transport has its own in every chart."""
    if factor == "transport" and all(label in TRANSPORT_STYLES for label in labels):
        return [TRANSPORT_STYLES[label] for label in labels]
    return [_ANY[i % len(_ANY)] for i in range(len(labels))]


def series_texts(factor: str | None, labels: Sequence[str]) -> list[str]:
    """Name the series as the legend does."""
    return [level_text(factor, label) if factor else label for label in labels]


def config() -> dict[str, Any]:
    """Vega-Lite's configuration for every chart: thin rules, no frame, text as in a journal."""
    return {
        "background": "white",
        "font": FONT,
        "padding": 8,
        "view": {"stroke": None},
        "title": {
            "anchor": "start", "frame": "group", "fontSize": 15, "fontWeight": 600, "color": INK,
            "subtitleFontSize": 11.5, "subtitleColor": FAINT, "subtitlePadding": 4, "offset": 12,
        },
        "axis": {
            "labelFontSize": 11.5, "titleFontSize": 12, "titleFontWeight": 500, "titlePadding": 8,
            "labelColor": FAINT, "titleColor": INK, "gridColor": "#EAEEF2",
            "domainColor": "#8C959F", "tickColor": "#8C959F", "tickSize": 4, "labelPadding": 4,
            "domain": False, "ticks": False,
        },
        "axisX": {"grid": False, "domain": True, "ticks": True},
        "legend": {
            "orient": "top", "direction": "horizontal", "title": None, "labelFontSize": 12.5,
            "labelColor": INK, "titleFontSize": 12, "titleFontWeight": 600, "titleColor": INK,
            "symbolSize": 110, "symbolOpacity": 1, "columnPadding": 18,
            "labelLimit": 260, "offset": 8,
        },
        "header": {
            "labelFontSize": 12, "labelFontWeight": 600, "labelColor": INK, "labelPadding": 6,
            "title": None,
        },
    }  # fmt: skip


def dark_overlay() -> dict[str, Any]:
    """What the report lays over `config` on a dark page; the data keep their colours."""
    text, faint, rule = "#E6EDF3", "#9DA7B1", "#30363D"
    return {
        "background": None,
        "title": {"color": text, "subtitleColor": faint},
        "axis": {
            "labelColor": faint, "titleColor": text, "gridColor": rule, "domainColor": "#6E7681",
            "tickColor": "#6E7681",
        },
        "legend": {"labelColor": text, "titleColor": text},
        "header": {"labelColor": text},
    }  # fmt: skip
