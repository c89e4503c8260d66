"""Study → cells and seeds → jobs."""

from netwarp.plan.plan import PlannedRun, filter_cells, plan_study

__all__ = [
    "PlannedRun",
    "filter_cells",
    "plan_study",
]
