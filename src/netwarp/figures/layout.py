"""The layout of a chart: the factors of x axis, series and panels, and the cells' x positions."""

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.errors import ResultError
from netwarp.estimate.levels import Scale, ordered, scale_of
from netwarp.figures.style import SCREEN, TRANSPORT_STYLES, SeriesStyle, Theme, series_styles
from netwarp.results import CellResult, Results
from netwarp.wording import (
    Quantity,
    condition_text,
    factor_title,
    factor_unit,
    level_text,
    quantity,
    sentence_case,
)

DECADES_FOR_LOG = 2
MOST_COLUMNS = 3
MOST_ORDINAL = 8
"""Maximum number of levels that are drawn at even distances. At their values, levels such as 0, 1
and 5 % would be close together at one end."""
DODGE = 0.09
"""Offset between series at the same level, as a share of the distance between levels, so that
intervals do not overlap. It applies only if levels are names; at numeric levels, every point is
drawn at its number."""


@dataclass(frozen=True)
class Layout:
    """The layout of a chart: the factor of the x axis, the factor of the series, and the panels,
    which all other factors make.
    """

    results: Results
    metric: str
    x: str | None
    series: str | None
    shown: Quantity
    x_log: bool | None = None
    """Whether x is logarithmic; if None, few levels are at even distances, and others are
    logarithmic over more than two decades.
    """
    y_log: bool | None = None
    """Whether y is logarithmic; if None, it is if the values span more than two decades."""
    theme: Theme = SCREEN

    @property
    def x_labels(self) -> list[str]:
        """Labels of the levels along x, sorted by value."""
        return ordered(self.results.factors[self.x]) if self.x else []

    @property
    def x_texts(self) -> list[str]:
        """Texts of the levels along x, without the unit, which is in the axis's title."""
        scale = self.x_scale
        if scale is not None:
            return [f"{scale.numbers[label]:.6g}" for label in self.x_labels]
        return [level_text(self.x or "", label) for label in self.x_labels]

    @property
    def x_scale(self) -> Scale | None:
        """The numbers in the levels along x; None if the levels are names."""
        return scale_of(self.x_labels) if self.x else None

    @property
    def x_title(self) -> str:
        """Title of the x axis, with the unit."""
        if self.x is None:
            return ""
        unit = (self.x_scale.unit or factor_unit(self.x)) if self.x_scale else ""
        return f"{factor_title(self.x)} ({unit})" if unit else factor_title(self.x)

    @property
    def x_is_ordinal(self) -> bool:
        """Whether levels are at even distances along x."""
        few = len(self.x_labels) <= MOST_ORDINAL and self.x_log is None
        return self.x_scale is None or few or len(self.x_labels) < 2

    @property
    def x_wants_log(self) -> bool:
        """Whether the x axis is logarithmic: as `x_log` says, or if that is None, by the range of
        the levels.
        """
        values = list(self.x_scale.numbers.values()) if self.x_scale else []
        positive = bool(values) and min(values) > 0
        return positive and (wants_log(values) if self.x_log is None else self.x_log)

    @property
    def x_is_scale(self) -> bool:
        """Whether the levels along x are quantities; only then does a line between them have a
        meaning.
        """
        return self.x_scale is not None

    @property
    def x_domain(self) -> list[float]:
        """Both ends of the x axis, which includes cells without a value."""
        if self.x_is_ordinal:
            return [-0.35, len(self.x_labels) - 0.65]
        places = [self.place(cell) for cell in self.results.cells]
        return [min(places), max(places)]

    @property
    def x_without_value(self) -> list[str]:
        """Levels along x at which no cell has the metric."""
        if self.x is None:
            return []
        cells = self.results.cells
        with_value = {c.factors[self.x] for c in cells if c.estimate(self.metric) is not None}
        return [label for label in self.x_labels if label not in with_value]

    @property
    def series_labels(self) -> list[str]:
        """Labels of the levels that are series."""
        return list(self.results.factors[self.series]) if self.series else []

    @property
    def series_texts(self) -> list[str]:
        """Texts of the series in legends and labels."""
        return [level_text(self.series or "", label) for label in self.series_labels]

    @property
    def series_title(self) -> str:
        """Name of the series' factor, for an axis."""
        return factor_title(self.series) if self.series else ""

    @property
    def series_styles(self) -> list[SeriesStyle]:
        """Colour, shape and dash of each series."""
        if self.series is None:
            return series_styles(None, [""], self.only_transport)
        return series_styles(self.series, self.series_labels, self.only_transport)

    @property
    def only_transport(self) -> str | None:
        """The transport of all cells, if they have one in common; else None."""
        kinds = self.results.factors.get("transport", ())
        return kinds[0] if len(kinds) == 1 and kinds[0] in TRANSPORT_STYLES else None

    @property
    def has_series(self) -> bool:
        """Whether there are several series, from a factor that is not on the x axis."""
        return self.series is not None and self.series != self.x

    @property
    def panels(self) -> list[str]:
        """Titles of the panels in order; one empty title if there is a single panel."""
        ranks = {
            f: {label: i for i, label in enumerate(ordered(self.results.factors[f]))}
            for f in self.panel_factors
        }
        cells = sorted(
            self.results.cells, key=lambda cell: [ranks[f][cell.factors[f]] for f in ranks]
        )
        return list(dict.fromkeys(self.panel(cell) for cell in cells))

    @property
    def panel_factors(self) -> list[str]:
        """Factors that vary and are neither x nor series."""
        return [
            factor
            for factor, levels in self.results.factors.items()
            if len(levels) > 1 and factor not in (self.x, self.series)
        ]

    def panel(self, cell: CellResult) -> str:
        """Return the title of a cell's panel."""
        return sentence_case(condition_text({f: cell.factors[f] for f in self.panel_factors}))

    @property
    def columns(self) -> int:
        """Number of panels side by side: levels of the last panel factor, up to `MOST_COLUMNS`."""
        if len(self.panel_factors) > 1:
            return min(MOST_COLUMNS, len(self.results.factors[self.panel_factors[-1]]))
        return min(MOST_COLUMNS, len(self.panels))

    def place(self, cell: CellResult) -> float:
        """Return the x position of a cell: its level's position, plus an offset for its series if
        levels are names.
        """
        if self.x is None:
            raise ValueError("this chart has no factor along x")
        label = cell.factors[self.x]
        if self.x_scale is not None and not self.x_is_ordinal:
            return self.x_scale.numbers[label]
        return self.x_labels.index(label) + self._series_offset(cell)

    def _series_offset(self, cell: CellResult) -> float:
        """Return the offset of a cell's series from the position of its level."""
        if not self.has_series or self.x_is_scale:
            return 0.0
        rank = self.series_labels.index(cell.factors[self.series or ""])
        widest = 0.6 / len(self.series_labels)
        return min(DODGE, widest) * (rank - (len(self.series_labels) - 1) / 2)

    @property
    def overlaps(self) -> bool:
        """Whether points of different series can be at the same place along x."""
        return self.has_series and self.x_is_scale


def layout(
    results: Results,
    metric: str,
    x: str | None,
    series: str | None,
    *,
    x_log: bool | None = None,
    y_log: bool | None = None,
    theme: Theme = SCREEN,
) -> Layout:
    """Return the layout of a metric's means over factors, in the unit that fits the largest
    mean.

    Raises:
        ResultError: the cells have no such factor, because the plan of the run directory was
            changed.
    """
    for factor in (x, series):
        if factor is not None and factor not in results.factors:
            raise ResultError(
                f"a figure is drawn over {factor}, of which a cell of plan.jsonl has no level: it"
                " is not the plan that was written with the study"
            )
    means = [e.mean for cell in results.cells if (e := cell.estimate(metric)) is not None]
    shown = quantity(metric, max(means, default=0.0))
    return Layout(results, metric, x, series, shown, x_log, y_log, theme)


def wants_log(values: Sequence[float]) -> bool:
    """Return whether all values are positive and span more than two decades."""
    return bool(values) and min(values) > 0 and max(values) > 10**DECADES_FOR_LOG * min(values)
