"""Run directory ↔ tables, and who was ahead of whom in them."""

from netwarp.results.results import (
    CellResult,
    Factors,
    Results,
    RunResult,
    from_plan,
)

__all__ = [
    "CellResult",
    "Factors",
    "Results",
    "RunResult",
    "from_plan",
]
