"""Draws the figures of a study as charts."""

from netwarp.figures.figures import default_figures, draw_all, write_chart

__all__ = [
    "default_figures",
    "draw_all",
    "write_chart",
]
