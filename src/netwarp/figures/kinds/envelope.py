"""The kind of figure that shows performance envelopes: areas of the throughputs and queueing delays
that a flow reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.fields import KeyValueError
from netwarp.figures.chart import Chart
from netwarp.figures.encodings import colour, condition_tips, faded, field, highlight, panels
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout
from netwarp.figures.rows import Row, base_row
from netwarp.figures.style import Spec, Theme
from netwarp.measure.envelope import envelope
from netwarp.metrics.competing import CONFORMANCE_RATIO
from netwarp.metrics.envelope import envelope_points
from netwarp.results import Results
from netwarp.study.figures import Figure

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept


class EnvelopeFigure(MetricKind):
    """The performance envelopes of a workload beside others: the hull of points of its throughput
    and its queueing delay, each over ten round-trip times of the first replicate. `y` is the
    workload's `conformance_ratio`.
    """

    name = "envelope"
    caption = "Hulls of throughput and queueing delay over ten round trips each, first replicate"
    along_x = None

    def refuse_metric(self, metric: str, key: str) -> None:
        """Refuse a metric that is not the conformance of a workload."""
        workload, _, own = metric.rpartition(".")
        if not workload or own != CONFORMANCE_RATIO.name:
            remedy = f"write NAME.{CONFORMANCE_RATIO.name}, with the name of a workload"
            raise KeyValueError(key, metric, "an envelope is of a workload's conformance", remedy)

    def draw(
        self, figure: Figure, results: Results, kept: Kept | None, name: str, theme: Theme
    ) -> Chart | None:
        """Draw the envelopes; None if no run has one, or no records are kept."""
        plan = self.plan(figure, results, theme)
        rows = hull_rows(plan, kept) if kept is not None else []
        return self.titled(figure, plan, self._of(plan, rows), name) if rows else None

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return an empty chart: envelopes are drawn from records, not from results."""
        return self._of(plan, [])

    def _of(self, plan: Layout, rows: list[Row]) -> Spec:
        mark = {"type": "line", "strokeWidth": plan.theme.line_width, "strokeJoin": "round"}
        hulls = {
            "mark": mark,
            "encoding": {
                "x": field("delay", title="Queueing delay (ms)", scale={"zero": True}),
                "y": field("rate", title="Throughput (Mbit/s)", scale={"zero": True}),
                "order": field("corner"),
                "tooltip": condition_tips(plan),
            }
            | colour(plan, legend=True)
            | faded(plan),
        } | highlight(plan, legend=True)
        return panels(plan, [hulls], rows, own_axes=True)

    def title(self, figure: Figure, results: Results) -> str:
        """Return the title of a figure for which the study sets none."""
        return "Performance envelopes"

    def better_text(self, metric: str) -> str:
        """Return "": no envelope is better than another."""
        return ""


def hull_rows(plan: Layout, kept: Kept) -> list[Row]:
    """Return a row for each corner of the envelope of each cell's first replicate. The first corner
    is repeated at the end.
    """
    workload = plan.metric.rpartition(".")[0]
    rows: list[Row] = []
    for cell in plan.results.cells:
        run = next((each for each in cell.runs if each.outcome == "ok"), None)
        job = kept.job(run.run) if run is not None else None
        if run is None or job is None:
            continue
        found = envelope(envelope_points(job, kept.records(run.run), workload))
        corners = (*found.hull, found.hull[0]) if found is not None else ()
        rows += [
            base_row(plan, cell)
            | {"delay": each.delay_ms, "rate": each.rate_mbit_s, "corner": place}
            for place, each in enumerate(corners)
        ]
    return rows


KIND = EnvelopeFigure()
