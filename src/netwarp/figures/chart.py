"""A chart: its Vega-Lite specification with data, and its conversion to pictures.

Charts are written as plain JSON. Importing Altair would take as long as a whole report, and it
would validate the same specifications each time; a test does that once. In a notebook
`altair.Chart.from_dict(chart.spec)` shows one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from netwarp import vega
from netwarp.figures.style import Spec, Theme, config

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.1.0.json"
MOST_DRAWINGS = 4
PNG_SCALE = 2  # sharp on dense screens and at a README's width


@dataclass(frozen=True)
class Chart:
    """A figure of the study as a chart, which can be drawn as SVG or PNG."""

    name: str
    """File name of the chart's pictures, without extension."""
    title: str
    alt: str
    """Description of what the chart shows, for readers who cannot see it."""
    spec: Spec
    """Vega-Lite specification with data."""
    picture: Spec | None = None
    """Vega-Lite specification for pictures, without interactive parts; None if `spec` is used for
    them, too."""

    def restyled(self, laid_over: Mapping[str, Any]) -> Chart:
        """Return the chart with a Vega-Lite configuration merged into its own."""
        spec, picture = (
            each and each | {"config": _merged(each["config"], laid_over)}
            for each in (self.spec, self.picture)
        )
        return replace(self, spec=spec or self.spec, picture=picture)

    def of_width(self, width: int) -> Chart:
        """Return the chart with a picture of an exact width in pixels, which are points in a PDF.

        The width of axes and labels is known only after drawing, and ticks may change with the
        width. So the chart is drawn again with wider plots until less than a pixel for each is
        left, and the right margin gets the rest.
        """
        columns = self.spec.get("usermeta", {}).get("columns", 1)
        picture = self.still
        left = width - _drawn_width(picture)
        drawings = 1
        while not 0 <= left < columns and drawings < MOST_DRAWINGS:
            picture = _widened(picture, left // columns)
            left = width - _drawn_width(picture)
            drawings += 1
        right = max(0, left)
        margin = self.still["config"]["padding"]
        sides = dict.fromkeys(("left", "top", "bottom"), margin) | {"right": margin + right}
        return replace(self, picture=picture | {"padding": sides})

    @property
    def still(self) -> Spec:
        """The Vega-Lite specification for pictures."""
        return self.picture or self.spec

    def svg(self) -> str:
        """Return the chart as SVG."""
        return vega.svg(self.still)

    def png(self) -> bytes:
        """Return the chart as PNG."""
        return vega.png(self.still, PNG_SCALE)

    def pdf(self) -> bytes:
        """Return the chart as PDF, in which text can be selected."""
        return vega.pdf(self.still)


def _drawn_width(spec: Spec) -> int:
    attributes = vega.svg(spec).partition(">")[0]
    return round(float(re.findall(r' width="([0-9.]+)"', attributes)[0]))


def _widened(spec: Spec, by: int) -> Spec:
    """Return a chart with each plot wider by this many pixels."""
    wider = dict(spec)
    if isinstance(spec.get("width"), int | float):
        wider["width"] = spec["width"] + by
    if "spec" in spec:
        wider["spec"] = _widened(spec["spec"], by)
    if "vconcat" in spec:
        wider["vconcat"] = [_widened(each, by) for each in spec["vconcat"]]
    return wider


def _merged(base: Mapping[str, Any], laid_over: Mapping[str, Any]) -> Spec:
    """Merge two specifications, key by key; values of the second have precedence."""
    merged = dict(base)
    for key, value in laid_over.items():
        inner = merged.get(key)
        if isinstance(inner, dict) and isinstance(value, dict):
            merged[key] = _merged(inner, value)
        else:
            merged[key] = value
    return merged


def finished(chart: Spec, title: str, subtitle: str | list[str], alt: str, theme: Theme) -> Spec:
    """Return a chart with schema, title, description and configuration added."""
    titled = {"title": {"text": title, "subtitle": subtitle}} if theme.has_title else {}
    head = {"$schema": SCHEMA, "config": config(theme), "description": alt}
    return head | titled | chart
