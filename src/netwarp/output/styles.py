"""Styles of texts in a terminal."""

from netwarp.estimate.comparison import Comparison
from netwarp.verdict_wording import favourable


def verdict_style(comparison: Comparison, metric: str) -> str:
    """Return the style of a verdict: green for better, yellow for worse, cyan for a difference of
    which neither side is better, and dim where nothing was decided.
    """
    if not comparison.verdict.decided:
        return "dim"
    return {True: "green", False: "yellow", None: "cyan"}[favourable(comparison, metric)]
