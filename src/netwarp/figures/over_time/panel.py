"""What the panels of a chart over time are made of: rows, axes, values under the pointer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import altair as alt

from netwarp.figures.style import FAINT

if TYPE_CHECKING:
    from netwarp.figures.over_time.data import RunTimeline

    Layers = list[alt.Chart]

NEAR = "near_"
"""What the names of layers begin with that show values under the pointer."""
WIDTH = 560


@dataclass(frozen=True)
class Seen:
    """A run in the chart."""

    name: str
    """At its rows; empty where it is the only one."""
    colour: str
    timeline: RunTimeline


@dataclass(frozen=True)
class Frame:
    """What all rows share."""

    end_s: float
    together: bool
    """Whether several runs are shown: their rows are lower."""
    interactive: bool


@dataclass(frozen=True)
class Row:
    """One plot of a panel."""

    run: Seen
    title: str | None
    """Of the panel, over its first row."""
    height: int
    layers: Layers


def rows_of(rows: list[dict[str, Any]]) -> alt.Chart:
    """Make a chart of rows that travel with it."""
    return alt.Chart(_Rows(values=[_rounded(row) for row in rows]))


class _Rows(alt.InlineData):
    """Rows that nobody changes: Altair copies a layer, data and all, whenever it adds something."""

    def __deepcopy__(self, memo: object = None) -> Self:
        return self


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Keep what a screen can show: pages of charts have many numbers."""
    return {
        key: float(f"{value:.6g}") if isinstance(value, float) else value
        for key, value in row.items()
    }


def time_axis(frame: Frame, *, labelled: bool = False) -> alt.X:
    """Give the time axis that all rows share; one of them says its values."""
    scale = alt.Scale(domain=[0, frame.end_s], nice=False)
    if not labelled:
        return alt.X("t:Q", scale=scale, axis=None)
    axis = alt.Axis(title="Time (s)", format=".6~g", tickCount=8)
    return alt.X("t:Q", scale=scale, axis=axis)


def value_axis(field: str, scale: alt.Scale, ticks: int) -> alt.Y:
    """Give a row's own axis of values, with about so many ticks."""
    axis = alt.Axis(format=".4~g", tickCount=ticks, labelFontSize=10.5)
    return alt.Y(field, title=None, scale=scale, axis=axis, stack=None)


def under_the_pointer(base: alt.Chart, row: str, value: alt.Tooltip) -> alt.Chart:
    """Show time and value at the pointer, with a hairline."""
    near = alt.selection_point(name=f"at_{NEAR}{row}", empty=False)
    opacity = alt.when(near).then(alt.value(0.7)).otherwise(alt.value(0))
    time = alt.Tooltip("t:Q", title="time (s)", format=".2f")
    hairline = base.mark_rule(color=FAINT, strokeWidth=1, clip=True)
    seen: alt.Chart = hairline.encode(y=alt.value(0), opacity=opacity, tooltip=[time, value])
    return seen.properties(name=f"{NEAR}{row}")
