"""Jobs × backend × executor → run directory."""

from netwarp.execution.executor import Interrupted, execute
from netwarp.execution.observer import Observer, Unobserved

__all__ = [
    "Interrupted",
    "Observer",
    "Unobserved",
    "execute",
]
