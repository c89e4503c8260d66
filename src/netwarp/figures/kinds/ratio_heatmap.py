"""The kind of figure that shows ratios to the first contender over two factors as colours."""

import math

from netwarp.figures.encodings import condition_tips, field
from netwarp.figures.kinds.ratio import RatioKind
from netwarp.figures.layout import Layout
from netwarp.figures.marks import numbered_tiles
from netwarp.figures.rows import Row, ratio_rows
from netwarp.figures.style import DIVERGING, INK, Spec
from netwarp.study.figures import Figure
from netwarp.wording import factor_name, sentence_case


class RatioHeatmap(RatioKind):
    """The ratio to the first transport as colours over two factors, in brackets if undecided; if
    `series` is the transport, each transport has a row.
    """

    name = "ratio-heatmap"
    caption = "Ratios, in brackets where not significant (Holm)"
    needs_series = True

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return a field for each cell, in one colour if its contender is better than the first, in
        another if it is worse.
        """
        are_rows = plan.series == plan.results.contender_factor
        rows = [
            row | {"panel": sentence_case(row["others"]) if are_rows else _panel(row)}
            for row in ratio_rows(plan)
        ]
        widest = max([1.1, *(max(row["ratio"], 1 / row["ratio"]) for row in rows)])
        scale = {
            "type": "log", "domain": [1 / widest, 1, widest], "range": list(DIVERGING),
            "interpolate": "lab",
        }  # fmt: skip
        tips = [*condition_tips(plan), field("text", "nominal", title="verdict")]
        strong = f"abs(log(datum.ratio)) > {0.55 * math.log(widest)!r}"
        look = {"color": {"condition": {"test": strong, "value": "white"}, "value": INK}}
        marked = [row | {"number": row["number"] if row["decided"] else f"({row['number']})"}
                  for row in rows]  # fmt: skip
        fill = field("ratio", scale=scale, legend=None)
        return numbered_tiles(plan, marked, fill, tips, look)

    def factors_text(self, figure: Figure) -> str:
        """Return the names of both factors."""
        return f"{super().factors_text(figure)} and {factor_name(figure.series or '')}"


def _panel(row: Row) -> str:
    return ", ".join(filter(None, [row["contender"], row["others"]]))


KIND = RatioHeatmap()
