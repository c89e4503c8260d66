"""Run directory ↔ tables, and who was ahead of whom in them."""

from netwarp.results.results import (
    RESULTS_FILE,
    CellResult,
    Factors,
    Results,
    RunResult,
    from_frame,
    from_plan,
    read_results,
    to_frame,
    write_results,
)

__all__ = [
    "RESULTS_FILE",
    "CellResult",
    "Factors",
    "Results",
    "RunResult",
    "from_frame",
    "from_plan",
    "read_results",
    "to_frame",
    "write_results",
]
