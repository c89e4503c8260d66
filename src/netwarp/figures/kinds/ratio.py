"""The kind of figure that shows ratios to the first contender over a factor."""

import math

from netwarp.figures.encodings import condition_tips, field, level_axis, name_labels, panels
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout
from netwarp.figures.marks import (
    SEEN_THROUGH,
    label_share,
    line_and_points,
    names_at_ends,
    names_lines,
    outline,
    spread,
)
from netwarp.figures.rows import Row, label_rows, ratio_rows
from netwarp.figures.style import GREY, Spec
from netwarp.results import Results
from netwarp.study.figures import Figure
from netwarp.wording import level_text

STEPS = (
    (10, 100, 1000), (2, 5, 10, 20, 50), (1.5, 2, 3, 5), (1.2, 1.5, 2), (1.1, 1.2, 1.5),
    (1.05, 1.1, 1.2), (1.02, 1.05, 1.1), (1.01, 1.02, 1.05), (1.002, 1.005, 1.01),
)  # fmt: skip
"""Ratios above 1 at which the axis may have grid lines, in coarse and fine steps; below 1 they are
at the reciprocals."""
LEAST_TICKS = 4
LEAST_SIDE = 0.08
"""Minimum share of a ratio axis that the part above or below 1 must have to get its own tick."""


class RatioKind(MetricKind):
    """A kind of figure that shows the ratios of contenders (the compared levels) to the first one
    instead of the metric itself.
    """

    unit_text = "ratio"

    def shown_text(self, figure: Figure, results: Results) -> str:
        """Return the name of the metric, and of the contender to which others are compared."""
        shown = super().shown_text(figure, results)
        contender = results.contender_factor
        if contender is None:
            return shown
        return f"{shown}, ratio to {level_text(contender, results.first)},"

    def better_values(self, *, less: bool) -> str:
        """Return the words for the side of 1 on which a contender is better than the first."""
        return f"{'below' if less else 'above'} 1"


class Ratio(RatioKind):
    """The ratio to the first transport over a factor with its 95 % interval, filled if decided."""

    name = "ratio"
    caption = "Ratios with 95 % confidence intervals, filled where significant (Holm)"

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return each contender's ratio to the first, and a rule at 1, where there is no
        difference.
        """
        rows = ratio_rows(plan)
        values = [row[name] for row in rows for name in ("ratio", "low", "high")] or [1.0]
        low, high = min(0.97, 0.98 * min(values)), max(1.03, 1.02 * max(values))
        y = field(
            "ratio", title=f"Ratio to {_first(plan)}",
            scale={"type": "log", "domain": [low, high], "nice": False},
            axis={"format": ".4~g", "values": ratio_ticks(low, high), "grid": True},
        )  # fmt: skip
        tips = [*condition_tips(plan), field("text", "nominal", title="verdict")]
        legend = not names_at_ends(plan)
        *lines, points = line_and_points(plan, y, tips, legend=legend)
        _fill_decided(plan, points)
        layers = [_rule_at_1(plan, y), spread(plan, y, legend=legend), *lines, points]
        labels: list[Row] = []
        if rows and names_lines(plan, legend=legend):
            labels = label_rows(plan, rows, "ratio", apart=label_share(plan), log=True)
            layers.append(name_labels(plan, y))
        height = round(0.8 * plan.theme.height)
        return panels(plan, layers, [*rows, *labels], height, labelled=bool(labels))


def _rule_at_1(plan: Layout, y: Spec) -> Spec:
    return {
        "mark": {"type": "rule", "color": GREY, "strokeWidth": 0.6 * plan.theme.line_width},
        "encoding": {
            # The rule ends at the last level, because the names of series are to the right of it.
            "x": _at(level_axis(plan), plan.x_domain[0]),
            "x2": {"datum": max(map(plan.place, plan.results.cells))},
            "y": _at(y, 1),
        },
    }


def _fill_decided(plan: Layout, points: Spec) -> None:
    """Fill the points whose comparison is decided; the others have only an outline."""
    if not plan.overlaps:
        outline(plan, points)
    filled = SEEN_THROUGH if plan.overlaps else 1
    points["encoding"]["fillOpacity"] = {
        "condition": {"test": "datum.decided", "value": filled}, "value": 0
    }  # fmt: skip


def _at(axis: Spec, value: float) -> Spec:
    """Return an encoding with a constant value instead of a field."""
    return {key: part for key, part in axis.items() if key != "field"} | {"datum": value}


def _first(plan: Layout) -> str:
    factor = plan.results.contender_factor or "transport"
    return level_text(factor, plan.results.first)


def ratio_ticks(low: float, high: float) -> list[float]:
    """Return grid lines at round ratios on both sides of 1, up to the largest ratio."""
    inside: list[float] = []
    for steps in STEPS:
        ticks = [1.0, *steps, *(_reciprocal(step) for step in steps)]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= LEAST_TICKS:
            break
    else:
        return [1.0, low, high]
    whole = math.log(high / low)
    if min(inside) == 1 and math.log(1 / low) > LEAST_SIDE * whole:
        inside.append(next(_reciprocal(s) for s in _steps() if low <= _reciprocal(s)))
    if max(inside) == 1 and math.log(high) > LEAST_SIDE * whole:
        inside.append(next(step for step in _steps() if step <= high))
    return sorted(inside)


def _steps() -> list[float]:
    """Return the ratios above 1 at which grid lines may be, the largest first."""
    return sorted({step for steps in STEPS for step in steps}, reverse=True)


def _reciprocal(step: float) -> float:
    return float(f"{1 / step:.3g}")


KIND = Ratio()
