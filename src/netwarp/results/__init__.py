"""Results of a study: runs grouped into cells, comparisons, and tables as files."""

from netwarp.results.results import (
    CellResult,
    Factors,
    Question,
    Results,
    RunResult,
    from_plan,
    without_levels,
)

__all__ = [
    "CellResult",
    "Factors",
    "Question",
    "Results",
    "RunResult",
    "from_plan",
    "without_levels",
]
