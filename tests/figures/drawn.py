"""Figures of recorded runs, drawn for tests."""

from typing import Any

from netwarp.figures.chart import Chart
from netwarp.figures.kinds.base import kind_of
from netwarp.figures.style import SCREEN, Theme
from netwarp.results import Results
from netwarp.study.figures import Figure


def figure(kind: str, **keys: Any) -> Figure:
    x = {"cdf": None, "scatter": "retransmitted_packets"}.get(kind, "path.loss")
    series = "path.rtt" if kind == "ratio-heatmap" else "transport"
    given = {"kind": kind, "x": x, "y": "completion_time_s", "series": series}
    return Figure.model_validate(given | keys)


def everything(spec: Any) -> list[dict[str, Any]]:
    """All objects in a specification."""
    if isinstance(spec, dict):
        return [spec] + [found for value in spec.values() for found in everything(value)]
    if isinstance(spec, list):
        return [found for value in spec for found in everything(value)]
    return []


def draw(asked: Figure, results: Results, name: str, theme: Theme = SCREEN) -> Chart:
    """Draw a figure of what is known without records."""
    chart = kind_of(asked).draw(asked, results, None, name, theme)
    assert chart is not None
    return chart
