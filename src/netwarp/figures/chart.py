"""A figure, drawn: Vega-Lite with its data, and pictures of it.

Charts are written as the JSON that they are. Altair would import for as long as a whole report
takes, and check the same specifications again in each; a test does that once. In a notebook
`altair.Chart.from_dict(chart.spec)` shows one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from netwarp import vega
from netwarp.figures.style import config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netwarp.figures.style import Spec, Theme

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.1.0.json"
PNG_SCALE = 2  # sharp on dense screens and at a README's width


@dataclass(frozen=True)
class Chart:
    """A figure, drawn."""

    name: str
    """Name of its files, without ending."""
    title: str
    alt: str
    """What it shows, in words, for readers who do not see it."""
    spec: Spec
    """Vega-Lite, with its data."""
    picture: Spec | None = None
    """The same for pictures, where it differs: without what only shows under a pointer."""

    def restyled(self, laid_over: Mapping[str, Any]) -> Chart:
        """Lay a Vega-Lite configuration over the chart's own, part by part."""
        spec, picture = (
            each and each | {"config": _merged(each["config"], laid_over)}
            for each in (self.spec, self.picture)
        )
        return replace(self, spec=spec or self.spec, picture=picture)

    @property
    def still(self) -> Spec:
        """Vega-Lite for pictures."""
        return self.picture or self.spec

    def svg(self) -> str:
        """Draw as SVG."""
        return vega.svg(self.still)

    def png(self) -> bytes:
        """Draw as PNG."""
        return vega.png(self.still, PNG_SCALE)

    def pdf(self) -> bytes:
        """Draw as PDF, with text that can be selected."""
        return vega.pdf(self.still)


def _merged(base: Mapping[str, Any], laid_over: Mapping[str, Any]) -> Spec:
    merged = dict(base)
    for key, value in laid_over.items():
        inner = merged.get(key)
        if isinstance(inner, dict) and isinstance(value, dict):
            merged[key] = _merged(inner, value)
        else:
            merged[key] = value
    return merged


def finished(chart: Spec, title: str, subtitle: str | list[str], alt: str, theme: Theme) -> Spec:
    """Finish a chart: with schema, title, description and configuration."""
    titled = {"title": {"text": title, "subtitle": subtitle}} if theme.has_title else {}
    head = {"$schema": SCHEMA, "config": config(theme), "description": alt}
    return head | titled | chart
