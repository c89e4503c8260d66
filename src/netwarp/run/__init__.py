"""Jobs × backend × executor → run directory."""

from netwarp.run.run import Interrupted, execute

__all__ = [
    "Interrupted",
    "execute",
]
