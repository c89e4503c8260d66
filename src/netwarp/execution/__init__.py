"""Jobs × backend × executor → run directory."""

from netwarp.execution.executor import (
    Executor,
    Interrupted,
    execute,
    kept_outcomes,
    refuse_jobs,
)
from netwarp.execution.local import LocalExecutor
from netwarp.execution.observer import Observer, Unobserved
from netwarp.execution.outcome import Outcome, read_outcome, run_job

__all__ = [
    "Executor",
    "Interrupted",
    "LocalExecutor",
    "Observer",
    "Outcome",
    "Unobserved",
    "execute",
    "kept_outcomes",
    "read_outcome",
    "refuse_jobs",
    "run_job",
]
