"""The parts of panels over time: runs, rows, layers, readouts at the pointer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.figures.style import FAINT, Spec, Theme

if TYPE_CHECKING:
    from netwarp.figures.lines import Line
    from netwarp.figures.over_time.run_timeline import RunTimeline

READOUT = "readout_"
"""Prefix of the names of layers that show values at the pointer."""
AXIS_SIZES, NAME_SIZES = 4, 6
"""Widths of the axis at the left and of the runs' names at the right, in font sizes."""


@dataclass(frozen=True)
class ShownRun:
    """A run that the chart shows."""

    name: str  # shown at its rows; empty if it is the only run
    colour: str
    timeline: RunTimeline


@dataclass(frozen=True)
class Frame:
    """The settings that all rows of a chart share."""

    end_s: float
    together: bool  # whether several runs are shown: their rows are lower
    interactive: bool
    theme: Theme

    @property
    def width(self) -> int:
        """Width of the plots in pixels, without axis and names."""
        beside = AXIS_SIZES + (NAME_SIZES if self.together else 0)
        return round(self.theme.width - beside * self.theme.font_size)

    def height(self, pixels: int) -> int:
        """Return the height of a row in this theme, from its height on a screen in pixels."""
        return round(pixels * self.theme.font_size / 12)


@dataclass(frozen=True)
class Row:
    """One plot of a panel."""

    run: ShownRun
    title: str | None  # of the panel, above its first row
    height: int
    layers: list[Spec]


def layer_over_time(frame: Frame, rows: list[dict[str, Any]], mark: Spec, **encoding: Any) -> Spec:
    """Return a layer over time with its own data."""
    scale = {"domain": [0, frame.end_s], "nice": False}
    x = {"field": "t", "type": "quantitative", "scale": scale, "axis": None}
    return {
        "data": {"values": [_rounded(row) for row in rows]},
        "mark": mark,
        "encoding": {"x": x} | encoding,
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of data whose numbers are rounded to what a screen can show, to keep pages
    small.
    """
    return {
        key: float(f"{value:.6g}") if isinstance(value, float) else value
        for key, value in row.items()
    }


def value_axis(frame: Frame, field: str, top: float, ticks: int) -> Spec:
    """Return the axis of values of a row, with about as many ticks as `ticks` says."""
    axis = {"format": ".4~g", "tickCount": ticks, "labelFontSize": 0.9 * frame.theme.font_size}
    return {
        "field": field, "type": "quantitative", "title": None, "stack": None, "axis": axis,
        "scale": {"domain": [0, top], "nice": False},
    }  # fmt: skip


def tip(field: str, title: str, text_format: str) -> Spec:
    """Return the definition of a tooltip field for a value."""
    return {"field": field, "type": "quantitative", "title": title, "format": text_format}


def readout(area: Spec, name: str, value: Spec) -> Spec:
    """Return the layers that show time and value of an area at the pointer, with a thin line."""
    shown = {"param": f"at_{READOUT}{name}", "empty": False, "value": 0.7}
    encoding = {
        "x": area["encoding"]["x"],
        "y": {"value": 0},
        "opacity": {"condition": shown, "value": 0},
        "tooltip": [tip("t", "time (s)", ".2f"), value],
    }
    mark = {"type": "rule", "color": FAINT, "strokeWidth": 1, "clip": True}
    return {"name": f"{READOUT}{name}", "data": area["data"], "mark": mark, "encoding": encoding}


def area_over_time(frame: Frame, run: ShownRun, line: Line, y: Spec, **look: Any) -> Spec:
    """Return a run's values over time as an area with an edge."""
    rows = [{"t": t, y["field"]: v} for t, v in line.points]
    edge = {"color": run.colour, "strokeWidth": 1.1}
    mark = {"type": "area", "color": run.colour, "opacity": 0.3, "clip": True, "line": edge}
    return layer_over_time(frame, rows, mark | look, y=y)


def symbol(shape: str, colour: str) -> Spec:
    """Return the mark of a small filled symbol with a white edge."""
    return {"type": "point", "shape": shape, "filled": True, "size": 45, "color": colour,
            "opacity": 1, "stroke": "white", "strokeWidth": 0.7}  # fmt: skip


def bands_over_time(
    frame: Frame,
    rows: list[dict[str, Any]],
    place: Spec,
    title: str,
    colours: Mapping[str, str],
    tooltip: list[Spec],
    *,
    legend: bool,
    offset: float = 4,
) -> Spec:
    """Return intervals of time as rectangles, coloured by their labels.

    Args:
        frame: the chart's settings.
        rows: rows with the interval from `t` to `end`, and its label in `what`.
        place: encoding of `y` and `y2`.
        title: title of the legend.
        colours: colours by label.
        tooltip: the tooltip of an interval.
        legend: whether the legend is at this row, and not at another row of the panel.
        offset: distance of the legend, in pixels.
    """
    size = frame.theme.font_size
    shown = {
        "title": title, "titleOrient": "left", "titleFontSize": size, "titleFontWeight": 600,
        "symbolType": "square", "symbolSize": 7.5 * size, "labelFontSize": 0.92 * size,
        "offset": offset,
    }  # fmt: skip
    colour = {
        "field": "what", "type": "nominal", "legend": shown if legend else None,
        "scale": {"domain": list(colours), "range": list(colours.values())},
    }  # fmt: skip
    return layer_over_time(
        frame, rows, {"type": "rect", "clip": True},
        x2={"field": "end"}, **place, color=colour, tooltip=tooltip,
    )  # fmt: skip
