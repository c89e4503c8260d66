"""Jobs × backend × executor → run directory."""

from netwarp.execution.executor import Interrupted, execute, kept_outcomes
from netwarp.execution.observer import Observer, Unobserved
from netwarp.execution.outcome import Outcome, read_outcome, run_job

__all__ = [
    "Interrupted",
    "Observer",
    "Outcome",
    "Unobserved",
    "execute",
    "kept_outcomes",
    "read_outcome",
    "run_job",
]
