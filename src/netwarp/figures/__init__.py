"""Estimates → charts."""

from netwarp.figures.figures import default_figures, draw, draw_all, write_chart

__all__ = [
    "default_figures",
    "draw",
    "draw_all",
    "write_chart",
]
