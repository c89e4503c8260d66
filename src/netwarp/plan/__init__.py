"""Plans a study: expands it into cells and replicates, derives their seeds, and orders the jobs."""

from netwarp.plan.plan import PlannedRun, filter_cells, plan_study

__all__ = [
    "PlannedRun",
    "filter_cells",
    "plan_study",
]
