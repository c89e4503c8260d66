"""The kind of figure that shows the distribution of runs."""

from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout
from netwarp.figures.marks import distribution
from netwarp.figures.rows import step_rows
from netwarp.figures.style import Spec
from netwarp.results import Results
from netwarp.study.figures import Figure


class Cdf(MetricKind):
    """The empirical distribution function of the runs' values."""

    name = "cdf"
    caption = "Empirical distribution"
    along_x = None

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return a distribution function with a step for each run."""
        return distribution(plan, step_rows(plan), plan.shown.axis_title, "Share of runs")

    def title(self, figure: Figure, results: Results) -> str:
        """Return the title of a figure for which the study sets none."""
        return f"Distribution of {self.shown_text(figure, results).lower()}"


KIND = Cdf()
